"""Every setting that Kafka 4.3.1's own classes declare is known, with what is done about it."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.settings.config_files import TWO, about, examine, found, loaded, written
from support.settings.kafka_settings import CLIENTS, declared, names

from orchestration.cli.configuration.check import as_json
from replication.config.keys.client_keys import HONOURED, KNOWN, WITHOUT_EFFECT
from replication.config.keys.connection_keys import CONNECTION, CONNECTION_REFUSED, is_secret
from replication.config.load import load_config
from replication.errors import ConfigError

PAGE = Path(__file__).parents[4] / "docs" / "configuration.md"
NOT_KNOWN = ("unknown key", "is not a known setting", "is not a known cluster")
LEVELS = [
    pytest.param(prefix, owners, id=prefix or "top")
    for prefix, owners in {
        "": ("MirrorMakerConfig", "MirrorConnectorConfig", "MirrorSourceConfig",
             "MirrorCheckpointConfig", "MirrorHeartbeatConfig", *CLIENTS),
        "A->B.": ("MirrorConnectorConfig", "MirrorSourceConfig", "MirrorSourceTaskConfig",
                  "MirrorCheckpointConfig", "MirrorCheckpointTaskConfig",
                  "MirrorHeartbeatConfig"),
        "A.": ("MirrorClientConfig.inherited", "DistributedConfig"),
        "A->B.source.cluster.": ("MirrorClientConfig.inherited",),
        "A->B.target.cluster.": ("MirrorClientConfig.inherited",),
        **{f"{scope}{kind}.": (owner,)
           for kind, owner in zip(("consumer", "producer", "admin"), CLIENTS, strict=True)
           for scope in ("", "A.", "B.", "A->B.", "A->B.source.", "A->B.target.")},
        "A->B.producer.override.": ("ProducerConfig",),
    }.items()
]  # fmt: skip


@pytest.mark.parametrize(("prefix", "owners"), LEVELS)
def test_every_setting_of_kafka_is_known_at_its_level(tmp_path, prefix, owners):
    text = TWO + "".join(f"{prefix}{name} = x\n" for name in sorted(names(*owners)))
    strange = [
        str(each) for each in found(tmp_path, text)
        if any(words in each.message for words in NOT_KNOWN)
    ]  # fmt: skip
    assert strange == []


def test_what_a_cluster_inherits_is_what_mirrormaker_inherits():
    assert names("MirrorClientConfig.inherited") == CONNECTION


def test_every_setting_of_a_client_is_honoured_and_documented_or_says_why_it_is_not():
    page = PAGE.read_text("utf-8")
    for name in names(*CLIENTS):
        fates = [name in WITHOUT_EFFECT, name in CONNECTION_REFUSED,
                 name in (CONNECTION | HONOURED) - WITHOUT_EFFECT.keys()
                 - CONNECTION_REFUSED.keys()]  # fmt: skip
        assert fates.count(True) == 1, name
        if fates[2]:
            last = name.rpartition(".")[2]
            assert any(each in page for each in (f"`{name}`", f".{name}`", f"`.{last}`")), name
    assert set(WITHOUT_EFFECT) | set(CONNECTION_REFUSED) <= KNOWN
    assert all([*WITHOUT_EFFECT.values(), *CONNECTION_REFUSED.values()])


@pytest.mark.parametrize("each", declared(), ids=lambda each: each.name)
def test_what_kafka_holds_for_a_password_is_secret_and_nothing_else(each):
    assert is_secret(each.name) == (each.kind == "PASSWORD")


@pytest.mark.parametrize("prefix", ["", "A.", "A.consumer.", "A->B.producer.override.", "B.admin."])
def test_no_output_shows_a_secret_of_kafka(tmp_path, prefix):
    secrets = sorted({each.name for each in declared() if each.kind == "PASSWORD"})
    lines = "".join(f'{prefix}{name} = "hush-{at}" \n' for at, name in enumerate(secrets))
    path = written(tmp_path, TWO + lines)
    result, findings = examine(path, lenient=True)
    assert result is not None
    shown = [*map(str, findings), str(as_json(path, result, findings)), repr(result)]
    assert not any("hush" in each for each in shown)


def test_client_credentials_are_settings_of_their_own(tmp_path):
    text = TWO + (
        "A.security.protocol = SASL_SSL\nA.sasl.mechanism = OAUTHBEARER\n"
        "A.sasl.jaas.config = org.apache.kafka.common.security.oauthbearer."
        "OAuthBearerLoginModule required;\n"
        "A.sasl.oauthbearer.token.endpoint.url = https://idp/token\n"
        "A.sasl.oauthbearer.client.credentials.client.id = me\n"
        "A.sasl.oauthbearer.client.credentials.client.secret = hush\n"
        "A.sasl.oauthbearer.scope = kafka\n"
    )
    result = loaded(tmp_path, text)
    assert not [each for each in result.findings if "oauth" in each.key]
    client = result.config.flows[0].clients.source_consumer
    assert client["sasl.oauthbearer.client.credentials.client.secret"] == "hush"
    assert client["sasl.oauthbearer.client.credentials.client.id"] == "me"


@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        ("sasl.oauthbearer.assertion.private.key.file", "k.pem", "not with an assertion"),
        ("sasl.oauthbearer.jwt.retriever.class", "a.JwtBearerJwtRetriever", "Java classes"),
        ("sasl.login.callback.handler.class", "a.VaultCallbackHandler", "Java classes"),
        ("sasl.client.callback.handler.class", "a.VaultCallbackHandler", "Java classes"),
    ],
)
def test_another_way_to_log_in_is_refused(tmp_path, key, value, why):
    path = written(tmp_path, TWO + f"A.{key} = {value}\n")
    with pytest.raises(ConfigError, match=f"A.{key}: is not supported: .*{why}"):
        load_config(path)


def test_the_classes_that_do_what_isthmus_does_are_accepted(tmp_path):
    start = "org.apache.kafka.common.security.oauthbearer."
    key = "A.sasl.login.callback.handler.class"
    result = loaded(tmp_path, TWO + f"{key} = {start}OAuthBearerLoginCallbackHandler\n")
    assert about(result.findings, key) == []


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        pytest.param("A.sasl.oauthbearer.token.endpoint.url = https://me:hush@idp/token",
                     "https://********@idp/token", id="address with a password"),
        pytest.param("spark.conf.spark.jars.repositories = https://hush@a/x,https://me:hush@b/y",
                     "https://********@a/x,https://********@b/y", id="two addresses"),
        pytest.param("spark.conf.spark.hadoop.fs.s3a.access.key = hush", "********", id="S3"),
        pytest.param("spark.conf.spark.hadoop.fs.azure.account.key.me = hush", "********",
                     id="Azure"),
        pytest.param("spark.conf.spark.driver.extraJavaOptions = -Xmx1g -Dx.keyStorePassword=hush",
                     "-Xmx1g -Dx.keyStorePassword=********", id="option of Java"),
        pytest.param("alert.webhook.url = https://h/hush", "********", id="webhook"),
    ],
)  # fmt: skip
def test_no_output_shows_a_secret_within_a_value(tmp_path, line, shown):
    path = written(tmp_path, TWO + line + "\n")
    result, findings = examine(path)
    assert result is not None
    reported = str(as_json(path, result, findings))
    assert shown in reported
    assert not any(
        "hush" in each for each in (reported, *map(str, findings), repr(result.config.spark))
    )
