"""SEC: whatever the command says and leaves behind, no secret of any kind is in it.

Every kind is planted, by every way to name one; each command runs, most of them in vain.
"""

from __future__ import annotations

import base64
import gzip
import logging
import subprocess
import sys
from pathlib import Path

import dagster as dg
import pytest
from support.flows.command import runner
from support.network.broken_servers import a_closed_port, a_server, garbage
from support.network.fake_broker import FakeBroker
from support.records.record_batches import a_batch
from support.security.certificate_stores import identity, write_jks, write_pkcs12
from support.security.planted_secrets import MARK, in_arguments, in_bytes, in_files, in_topics

from replication.config import kept_lines, normalise
from replication.config.sections import section_reader
from replication.model import TopicPartition

SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required"
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
IAM = "software.amazon.msk.auth.iam.IAMLoginModule required"
OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"
FILE = f"""\
clusters = A, B, C, D, E, F
config.providers = file, dir, env
config.providers.file.class = org.apache.kafka.common.config.provider.FileConfigProvider
config.providers.dir.class = org.apache.kafka.common.config.provider.DirectoryConfigProvider
config.providers.env.class = org.apache.kafka.common.config.provider.EnvVarConfigProvider
A.bootstrap.servers = 127.0.0.1:CLOSED
A.security.protocol = SASL_SSL
A.sasl.mechanism = SCRAM-SHA-512
A.sasl.jaas.config = {SCRAM} username="me" password="hush-of-literal";
A.ssl.truststore.location = HOME/trust.jks
A.ssl.truststore.password = ${{dir:HOME/mounted:truststore}}
A.ssl.keystore.location = HOME/key.p12
A.ssl.keystore.password = hush-of-keystore
A.ssl.key.password = hush-of-key
B.bootstrap.servers = 127.0.0.1:FAKE
B.security.protocol = SASL_PLAINTEXT
B.sasl.mechanism = PLAIN
B.sasl.jaas.config = {PLAIN} username="me" password="${{env:PLANTED}}";
C.bootstrap.servers = 127.0.0.1:GARBAGE
C.security.protocol = SASL_PLAINTEXT
C.sasl.mechanism = OAUTHBEARER
C.sasl.oauthbearer.token.endpoint.url = http://me:hush-of-endpoint@127.0.0.1:CLOSED/?key=hush-of-query
C.sasl.jaas.config = {OAUTH} clientId="me" clientSecret="hush-of-client";
D.bootstrap.servers = 127.0.0.1:CLOSED
D.security.protocol = SSL
D.ssl.keystore.type = PEM
D.ssl.keystore.key = -----BEGIN PRIVATE KEY----- hush-of-pem -----END PRIVATE KEY-----
E.bootstrap.servers = 127.0.0.1:FAKE
F.bootstrap.servers = 127.0.0.1:GARBAGE
F.security.protocol = SASL_PLAINTEXT
F.sasl.mechanism = AWS_MSK_IAM
F.sasl.jaas.config = {IAM} awsStsRegion="eu-west-1";
A->B.enabled = true
A->B.transform.orders/value.format = avro
A->B.transform.orders/where = value:kept::boolean
A->B.schema.registry.url = http://me:hush-of-registry@127.0.0.1:CLOSED
A->B.schema.registry.basic.auth.user.info = me:hush-of-user-info
A->B.schema.registry.ssl.truststore.password = hush-of-registry-store
F->B.enabled = true
C->B.enabled = true
D->E.enabled = true
E->A.enabled = true
metrics.port = 0
metrics.user = prometheus
metrics.password = ${{file:HOME/secrets.properties:metrics}}
metrics.otlp.endpoint = http://127.0.0.1:1/v1/metrics
metrics.otlp.headers = authorization=Bearer hush-of-push
alert.webhook.url = http://me:hush-of-webhook@127.0.0.1:CLOSED/hush-of-path
spark.conf.spark.authenticate.secret = hush-of-spark
spark.conf.spark.hadoop.fs.s3a.secret.key = hush-of-storage
spark.conf.spark.ssl.keyPassword = hush-of-spark-key
"""
COMMANDS = (
    "check FILE",
    "check FILE -o json",
    "check FILE --clusters",
    "doctor FILE",
    "plan FILE",
    "plan FILE -o json",
    "apply FILE",
    "apply FILE -o json",
    "topology FILE --topics",
    "acls needed FILE",
    "status FILE -o json",
    "compare FILE",
    "heartbeats FILE",
    "pause FILE",
    "stop FILE",
    "resolve FILE",
    "losses FILE",
    "offsets diff FILE",
    "offsets export FILE",
    "takeover --from-mm2 FILE",
    "handback --to-mm2 FILE",
    "set FILE A.ssl.key.password hush-of-argument",
    "set FILE tasks.max -1",
)
BREAKS = {  # what makes the file invalid, beside or within a secret
    "a JAAS line without its end": ('"hush-of-literal";', '"hush-of-literal'),
    "an unknown module": ("ScramLoginModule", "HushLoginModule"),
    "a placeholder that leads nowhere": ("mounted:truststore", "mounted:nothing"),
    "a store that its password does not open": ("hush-of-keystore", "hush-of-another"),
    "a secret key that is unknown": ("D.ssl.keystore.key ", "D.ssl.keystore.kee.password "),
    "a setting without its line break": ("\nA.ssl.key.password", " A.ssl.key.password"),
}


@pytest.fixture(scope="module")
def ports():
    here = TopicPartition("orders", 0)
    with FakeBroker(here) as fake, a_server(garbage) as noise:
        fake.logs[here].append(a_batch(0, [b"v"]))
        yield {"CLOSED": a_closed_port(), "FAKE": fake.port, "GARBAGE": noise}


@pytest.fixture
def planted(tmp_path, ports, monkeypatch):
    home, left = tmp_path / "home", tmp_path / "left"
    (home / "mounted").mkdir(parents=True)
    (left / "tmp").mkdir(parents=True)
    (home / "mounted" / "truststore").write_text("hush-of-truststore")
    (home / "secrets.properties").write_text("metrics = hush-of-metrics\n")
    write_jks(home / "trust.jks", identity(), trust=True)
    write_pkcs12(home / "key.p12", identity())
    monkeypatch.setenv("PLANTED", "hush-of-environment")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "me")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hush-of-aws")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "hush-of-session")
    monkeypatch.setenv("ISTHMUS_HOME", str(left / "state"))
    monkeypatch.setenv("TMPDIR", str(left / "tmp"))
    text = FILE.replace("HOME", str(home))
    for name, port in ports.items():
        text = text.replace(name, str(port))
    (left / "tmp" / "empty").touch()
    (home / "mm2.properties").write_text(text)
    return home / "mm2.properties", left


@pytest.fixture
def isthmus(monkeypatch, capsys, caplog):
    caplog.set_level(logging.DEBUG)
    run = runner(monkeypatch, capsys)

    def output(line: str, file) -> bytes:
        ended = run(*(file if word == "FILE" else word for word in line.split()))
        text = ended.out + ended.err + caplog.text
        assert len(text) > 20, line
        assert ended.code or line.split(maxsplit=1)[0] in {"check", "topology", "acls"}, line
        return text.encode()

    return output


@pytest.mark.parametrize("line", COMMANDS, ids=range(len(COMMANDS)))
def test_no_command_shows_or_leaves_a_secret(isthmus, planted, line):
    file, left = planted
    output = isthmus(line, file)
    assert not in_bytes(output.replace(b"hush-of-argument", b"")), output.decode()
    assert in_files(left) == []
    assert in_arguments() == []


@pytest.mark.parametrize("line", ["check FILE -o json", "plan FILE"])
@pytest.mark.parametrize("broken", BREAKS)
def test_no_refusal_of_a_file_shows_a_secret_in_it(isthmus, planted, line, broken):
    file, left = planted
    before, after = BREAKS[broken]
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, after))
    output = isthmus(line, file)
    assert not in_bytes(output), output.decode()
    assert in_files(left) == []


def test_where_the_secrets_are_they_are_found(planted):
    file, _ = planted
    names = {each.rpartition("/")[2] for each in in_files(file.parent)}
    assert names == {"mm2.properties", "secrets.properties", "truststore"}


def test_a_product_that_masks_nothing_is_noticed(isthmus, planted, monkeypatch):
    for module in (section_reader, normalise, kept_lines):
        monkeypatch.setattr(module, "masked", lambda _, text: text)
    assert in_bytes(isthmus("check FILE -o json", planted[0]))


def test_a_secret_in_the_log_is_noticed(isthmus, planted, monkeypatch):
    monkeypatch.setattr(
        section_reader,
        "masked",
        lambda key, text: logging.getLogger("x").info(text) or f"{key}: hidden",
    )
    assert in_bytes(isthmus("check FILE", planted[0]))


def test_a_secret_among_the_arguments_of_a_process_is_noticed():
    program = [sys.executable, "-c", "import time; time.sleep(60)", "hush-of-nobody"]
    with subprocess.Popen(program) as process:
        try:
            assert program in in_arguments()
        finally:
            process.kill()


def test_a_secret_in_dagsters_metadata_run_config_or_events_is_noticed(tmp_path, local_instance):
    """Its storage is SQLite: the text stands there as it is."""

    @dg.asset
    def as_metadata() -> dg.MaterializeResult:
        return dg.MaterializeResult(metadata={"login": "hush-of-metadata"})

    @dg.asset(config_schema={"password": str})
    def as_run_config() -> None:
        pass

    @dg.asset
    def as_failure() -> None:
        raise ValueError("hush-of-failure")

    given = {"ops": {"as_run_config": {"config": {"password": "hush-of-config"}}}}
    assets = [as_metadata, as_run_config, as_failure]
    dg.materialize(assets, instance=local_instance, run_config=given, raise_on_error=False)
    left = b"".join(Path(each).read_bytes() for each in in_files(tmp_path))
    assert all(b"hush-of-" + each in left for each in (b"metadata", b"config", b"failure"))


def test_a_secret_in_any_part_of_a_record_is_noticed():
    parts = {"value": [MARK], "another": [b"x"]}
    partitions = [TopicPartition(each, 0) for each in parts]
    with FakeBroker(*partitions) as broker:
        for partition, (topic, values) in zip(partitions, parts.items(), strict=True):
            assert partition.topic == topic
            broker.logs[partition].append(a_batch(0, values))
        assert in_topics(broker.address, parts) == ["value"]


@pytest.mark.parametrize("before", range(4))
@pytest.mark.parametrize(
    "form",
    [
        bytes,
        base64.b64encode,
        lambda text: gzip.compress(text) if text.startswith(MARK) else text,
        lambda text: text.decode().encode("utf-16-le"),
        lambda text: text.hex().encode(),
        lambda text: text.replace(b"-", b"%2D"),
    ],
    ids=["plain", "base64", "gzip", "UTF-16", "hexadecimal", "percent"],
)
def test_a_secret_is_noticed_in_its_other_forms_too(form, before):
    assert in_bytes(form(b"x" * before + MARK + b"nobody" + b"y" * before))
    assert not in_bytes(form(b"x" * before + b"harmless text" + b"y" * before))
