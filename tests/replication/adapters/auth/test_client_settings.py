"""Settings follow the files that they come from, and a client follows its settings."""

import shutil

import pytest
from support.security.certificate_stores import PASSWORD, identity, write_jks, write_pkcs12

from replication.adapters.auth import client_settings as module
from replication.adapters.auth.client_config import to_kafka_python, to_librdkafka
from replication.adapters.auth.client_settings import RenewedClient, explained, read_now
from replication.errors import ClusterRejected, ConfigError

PROVIDERS = "org.apache.kafka.common.config.provider"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
PASSWORD_KEYS = {to_librdkafka: "sasl.password", to_kafka_python: "sasl_plain_password"}
ME, OTHER = identity("localhost"), identity("elsewhere")


@pytest.fixture(autouse=True)
def _look_always(monkeypatch):
    monkeypatch.setattr(module, "_LOOK_EVERY_S", 0.0)


def login(placeholder, **more):
    return {
        "bootstrap.servers": "h1:9092",
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.jaas.config": f'{SCRAM} required username="me" password="{placeholder}";',
        "config.providers": "file,dir",
        "config.providers.file.class": f"{PROVIDERS}.FileConfigProvider",
        "config.providers.dir.class": f"{PROVIDERS}.DirectoryConfigProvider",
        **more,
    }


def tls(path, write=write_jks, **more):
    if write is write_jks:
        write(path, ME, trust=True)
    return {
        "bootstrap.servers": "h1:9092",
        "security.protocol": "SSL",
        "ssl.truststore.location": str(path),
        "ssl.truststore.password": PASSWORD,
        **more,
    }


@pytest.mark.parametrize("convert", PASSWORD_KEYS)
def test_settings_are_the_same_object_until_a_source_changes(tmp_path, convert):
    settings = convert(tls(tmp_path / "t.jks"))
    before = read_now(settings)
    assert read_now(settings) is before
    assert settings == before


@pytest.mark.parametrize("convert", PASSWORD_KEYS)
@pytest.mark.parametrize("kind", ["file", "dir"])
def test_bl_228_a_password_that_was_changed_is_read_again(tmp_path, convert, kind):
    secret = tmp_path / "pw"
    start = {"file": "pw=", "dir": ""}[kind]
    place = {"file": f"${{file:{secret}:pw}}", "dir": f"${{dir:{tmp_path}:pw}}"}[kind]
    secret.write_text(f"{start}old")
    settings = convert(login(place))
    assert read_now(settings)[PASSWORD_KEYS[convert]] == "old"
    secret.write_text(f"{start}new")
    assert read_now(settings)[PASSWORD_KEYS[convert]] == "new"


def test_the_sources_are_looked_at_once_a_second(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_LOOK_EVERY_S", 1.0)
    now = [100.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    secret = tmp_path / "pw"
    secret.write_text("old")
    settings = to_librdkafka(login(f"${{dir:{tmp_path}:pw}}"))
    read_now(settings)
    secret.write_text("new")
    now[0] += 0.9
    assert read_now(settings)["sasl.password"] == "old"
    now[0] += 0.2
    assert read_now(settings)["sasl.password"] == "new"


def test_addresses_that_were_changed_are_read_again(tmp_path):
    servers = tmp_path / "servers"
    servers.write_text("h1:9092")
    settings = to_kafka_python(login("x", **{"bootstrap.servers": f"${{dir:{tmp_path}:servers}}"}))
    servers.write_text("h2:9092, h3:9092")
    assert read_now(settings)["bootstrap_servers"] == ["h2:9092", "h3:9092"]


def test_a_trust_store_that_was_replaced_is_read_again(tmp_path):
    path = tmp_path / "t.jks"
    given = tls(path)
    rd, py = to_librdkafka(given), to_kafka_python(given)
    context = read_now(py)["ssl_context"]
    assert read_now(rd)["ssl.ca.pem"] == ME.authority_pem
    write_jks(path, OTHER, trust=True)
    assert read_now(rd)["ssl.ca.pem"] == OTHER.authority_pem
    assert read_now(py)["ssl_context"] is not context


def test_a_store_behind_a_link_that_leads_elsewhere_is_read_again(tmp_path):
    """As Kubernetes replaces a mounted secret."""
    for name, who in (("1", ME), ("2", OTHER)):
        (tmp_path / name).mkdir()
        write_jks(tmp_path / name / "t.jks", who, trust=True)
    data = tmp_path / "data"
    data.symlink_to("1")
    given = tls(data / "t.jks", write=None)
    settings = to_librdkafka(given)
    (tmp_path / "new").symlink_to("2")
    (tmp_path / "new").replace(data)
    assert read_now(settings)["ssl.ca.pem"] == OTHER.authority_pem


def test_the_systems_authorities_that_were_renewed_are_read_again(tmp_path, monkeypatch):
    bundle = tmp_path / "ca.crt"
    bundle.write_text(ME.authority_pem)
    monkeypatch.setattr(module, "_system_authorities", lambda: [str(bundle)])
    settings = to_kafka_python({"bootstrap.servers": "h:1", "security.protocol": "SSL"})
    context = read_now(settings)["ssl_context"]
    bundle.write_text(ME.authority_pem + OTHER.authority_pem)
    assert read_now(settings)["ssl_context"] is not context


def test_a_store_that_is_half_written_leaves_the_former_settings_and_says_so(tmp_path):
    path = tmp_path / "t.jks"
    settings = to_librdkafka(tls(path))
    whole = path.read_bytes()
    path.write_bytes(whole[:100])
    assert read_now(settings)["ssl.ca.pem"] == ME.authority_pem
    with pytest.raises(ClusterRejected) as error, explained(settings):
        raise ClusterRejected("logging in at h1:9092: no")
    reported = "the former settings stay in use, the present ones cannot be read: "
    assert str(error.value).startswith(f"logging in at h1:9092: no; {reported}{path} ")
    path.write_bytes(whole)
    assert read_now(settings)["ssl.ca.pem"] == ME.authority_pem
    with pytest.raises(ClusterRejected, match=r"^no$"), explained(settings):
        raise ClusterRejected("no")


def test_a_secret_that_is_gone_for_a_moment_leaves_the_former_one(tmp_path):
    secret = tmp_path / "pw"
    secret.write_text("old")
    settings = to_librdkafka(login(f"${{dir:{tmp_path}:pw}}"))
    secret.unlink()
    assert read_now(settings)["sasl.password"] == "old"
    assert settings.problem.endswith(f"no readable file pw in {tmp_path}")
    assert "old" not in settings.problem


def test_a_key_and_a_certificate_of_different_pairs_are_not_taken_over(tmp_path):
    """Two files cannot be replaced at once: between them the key is new and the chain is not."""
    for name in ("key", "chain"):
        (tmp_path / name).write_text(ME.key_pem() if name == "key" else ME.chain_pem)
    given = login("x") | {
        "security.protocol": "SSL",
        "ssl.keystore.key": f"${{dir:{tmp_path}:key}}",
        "ssl.keystore.certificate.chain": f"${{dir:{tmp_path}:chain}}",
    }
    settings = to_librdkafka(given)
    (tmp_path / "key").write_text(OTHER.key_pem())
    assert read_now(settings)["ssl.key.pem"] == ME.key_pem()
    assert "do not belong together" in settings.problem
    (tmp_path / "chain").write_text(OTHER.chain_pem)
    assert read_now(settings)["ssl.key.pem"] == OTHER.key_pem()
    assert settings.problem == ""


def test_what_cannot_be_read_at_first_is_an_error(tmp_path):
    with pytest.raises(ConfigError, match="no readable file"):
        to_librdkafka(login(f"${{dir:{tmp_path}:pw}}"))


def test_settings_do_not_show_their_secrets():
    assert "hush" not in repr(to_librdkafka(login("hush")))


def test_bl_228_no_key_is_unpacked_into_a_file(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    store = tmp_path / "k.p12"
    given = tls(tmp_path / "t.jks") | {
        "ssl.keystore.location": str(write_pkcs12(store, ME)),
        "ssl.keystore.password": PASSWORD,
    }
    before = sorted(tmp_path.rglob("*"))
    for convert in PASSWORD_KEYS:
        assert read_now(convert(given))
    assert sorted(tmp_path.rglob("*")) == before
    shutil.rmtree(tmp_path)


class Client:
    def __init__(self, settings):
        self.settings, self.ended = dict(settings), 0

    def end(self):
        self.ended += 1


def test_a_client_is_made_again_when_its_settings_have_changed(tmp_path):
    secret = tmp_path / "pw"
    secret.write_text("old")
    clients = RenewedClient(to_librdkafka(login(f"${{dir:{tmp_path}:pw}}")), Client, Client.end)
    first = clients.get()
    assert clients.get() is first
    secret.write_text("new")
    second = clients.get()
    assert (first.ended, second.ended) == (1, 0)
    assert second.settings["sasl.password"] == "new"
    assert clients.get() is second
    clients.close()
    assert second.ended == 1


def test_a_client_of_fixed_settings_is_made_once():
    clients = RenewedClient({"bootstrap.servers": "h:1"}, Client)
    assert clients.get() is clients.get()


def test_a_client_that_cannot_be_made_leaves_the_former_one_for_others(tmp_path):
    made = []

    def make(settings):
        if settings["sasl.password"] == "bad":
            raise ValueError
        made.append(Client(settings))
        return made[-1]

    secret = tmp_path / "pw"
    secret.write_text("old")
    clients = RenewedClient(to_librdkafka(login(f"${{dir:{tmp_path}:pw}}")), make, Client.end)
    clients.get()
    secret.write_text("bad")
    with pytest.raises(ValueError, match=r"^$"):
        clients.get()
    assert made[0].ended == 0
    secret.write_text("good")
    assert clients.get().settings["sasl.password"] == "good"
    assert made[0].ended == 1
