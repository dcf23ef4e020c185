"""What a Kerberos login is made of. ``deploy/test_kerberos.py`` logs in, at a real KDC."""

import pytest

from replication.adapters.auth import kerberos
from replication.adapters.auth.account import account_of
from replication.adapters.auth.client_config import to_kafka_python, to_librdkafka, user_of
from replication.adapters.auth.kerberos import KerberosLogin
from replication.config.file import sasl
from replication.config.load import load_config
from replication.errors import ConfigError, LoginRejected

KEYTAB = "/etc/isthmus/mirror.keytab"
OPTIONS = f'useKeyTab=true storeKey=true keyTab="{KEYTAB}" principal="mirror/host@EXAMPLE.COM"'


def java(options=OPTIONS, **more):
    return {
        "bootstrap.servers": "h:9092",
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.jaas.config": f"com.sun.security.auth.module.Krb5LoginModule required {options};",
        **more,
    }


KERBEROS = {"sasl.mechanism": "GSSAPI", "sasl.kerberos.service.name": "kafka"}
NAMED = java(**KERBEROS)


@pytest.fixture
def installed(monkeypatch):
    """Both libraries have Kerberos, as far as anybody asks; nobody has a ticket yet."""
    monkeypatch.setattr(sasl, "find_spec", lambda _: True)
    monkeypatch.setattr(kerberos, "librdkafka_has_kerberos", lambda: True)
    monkeypatch.setattr(kerberos, "_OWNERS", {})
    monkeypatch.setenv("KRB5CCNAME", "DIR:/run/tickets")


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    "given",
    [
        NAMED,
        java(**{"sasl.kerberos.service.name": "kafka"}),
        java(f'{OPTIONS} serviceName="kafka"'),
    ],
    ids=["all keys", "Kafka's default mechanism", "service in the line"],
)
def test_a_key_table_reaches_both_libraries(given):
    assert to_kafka_python(given)["sasl_mechanism"] == "GSSAPI"
    login = KerberosLogin("kafka", "mirror/host@EXAMPLE.COM", KEYTAB)
    assert to_kafka_python(given)["sasl_kerberos_name"] == login
    assert to_librdkafka(given) == {
        "bootstrap.servers": "h:9092",
        "security.protocol": "sasl_plaintext",
        "sasl.mechanism": "GSSAPI",
        "sasl.kerberos.service.name": "kafka",
        "sasl.kerberos.principal": "mirror/host@EXAMPLE.COM",
        "sasl.kerberos.keytab": KEYTAB,
    }


@pytest.mark.usefixtures("installed")
def test_without_a_key_table_nobody_renews_the_tickets_of_the_cache():
    given = java('useTicketCache=true ticketCache="/tmp/of-cron"', **KERBEROS)
    assert to_kafka_python(given)["sasl_kerberos_name"].ticket_cache == "/tmp/of-cron"  # noqa: S108
    assert to_librdkafka(given)["sasl.kerberos.min.time.before.relogin"] == 0


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("given", "why"),
    [
        (java(**{"sasl.mechanism": "GSSAPI"}), "needs sasl.kerberos.service.name"),
        (java('keyTab="/k"', **{"sasl.kerberos.service.name": "kafka"}), "but no principal"),
    ],
)
@pytest.mark.parametrize("convert", [to_librdkafka, to_kafka_python])
def test_half_a_login_is_refused_with_what_is_missing(convert, given, why):
    with pytest.raises(ConfigError, match=why):
        convert(given)


@pytest.mark.usefixtures("installed")
def test_librdkafka_never_shows_one_principals_ticket_for_another_one():
    to_librdkafka(NAMED)
    to_librdkafka(java(OPTIONS.replace("EXAMPLE.COM", "EXAMPLE.ORG"), **KERBEROS))
    with pytest.raises(ConfigError, match=r"^mirror/host@EXAMPLE.COM and other@EXAMPLE.COM are of"):
        to_librdkafka(java(OPTIONS.replace("mirror/host", "other"), **KERBEROS))


@pytest.mark.usefixtures("installed")
def test_librdkafka_keeps_the_tickets_of_a_process_in_a_folder_of_its_own(monkeypatch):
    monkeypatch.delenv("KRB5CCNAME")
    kept = []
    monkeypatch.setattr(kerberos.atexit, "register", lambda *what, **_: kept.append(what[1]))
    to_librdkafka(NAMED)
    [folder] = kept
    assert kerberos.os.environ["KRB5CCNAME"] == f"DIR:{folder}"
    assert kerberos.os.stat(folder).st_mode & 0o077 == 0
    kerberos.os.rmdir(folder)
    monkeypatch.delenv("KRB5CCNAME")


def test_a_library_that_lacks_kerberos_is_one_clear_line(tmp_path, monkeypatch):
    monkeypatch.setattr(sasl, "find_spec", lambda _: None)
    for convert in (to_librdkafka, to_kafka_python):
        with pytest.raises(ConfigError, match=r"GSSAPI needs a package.*'isthmus\[kerberos\]'$"):
            convert(NAMED)
    file = tmp_path / "mm2.properties"
    lines = [f"A.{key} = {value}" for key, value in NAMED.items()]
    begin = ["clusters = A, B", "A->B.enabled = true", "B.bootstrap.servers = b:1"]
    file.write_text("\n".join([*begin, *lines]))
    [found] = [each for each in load_config(file).findings if "[kerberos]" in str(each)]
    assert "mm2.properties:7" in str(found)
    monkeypatch.setattr(sasl, "find_spec", lambda _: True)
    monkeypatch.setattr(kerberos, "librdkafka_has_kerberos", lambda: False)
    with pytest.raises(ConfigError, match="needs a confluent-kafka that is built with Kerberos"):
        to_librdkafka(NAMED)


@pytest.mark.usefixtures("installed")
def test_the_principal_is_the_user_of_messages_and_its_first_part_that_of_acls():
    assert user_of(NAMED) == "mirror"
    refused = account_of(NAMED).about(LoginRejected("no"))
    assert refused == "user mirror/host@EXAMPLE.COM"
