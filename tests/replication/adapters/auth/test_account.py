"""What an error about a login says: the user, and the line of the file that sets it."""

from __future__ import annotations

import pytest
from support.settings.config_files import written

from replication.adapters.auth.client_config import to_kafka_python
from replication.adapters.auth.client_settings import explained
from replication.config.load import load_config
from replication.errors import (
    ClusterRejected,
    ClusterUnavailable,
    LoginRejected,
    UntrustedConnection,
)

FILE = """\
clusters = A, B
A.bootstrap.servers = a:9092
A.security.protocol = SASL_SSL
A.sasl.mechanism = {mechanism}
A.sasl.jaas.config = {line}
A.sasl.oauthbearer.token.endpoint.url = http://tokens/
B.bootstrap.servers = b:9092
A->B.enabled = true
"""
SCRAM = ("SCRAM-SHA-512", 'x.ScramLoginModule required username="mirror" password="hush";')
OAUTH = ("OAUTHBEARER", 'x.OAuthBearerLoginModule required clientId="me" clientSecret="hush";')


def settings(folder, mechanism, line):
    """Return the file, and the settings of the source's client that it makes."""
    file = written(folder, FILE.format(mechanism=mechanism, line=line))
    clients = load_config(file).config.flow("A->B").clients
    return file, to_kafka_python(clients.source_consumer)


def reported(client, error) -> str:
    with pytest.raises(type(error)) as raised, explained(client):
        raise error
    return str(raised.value)


@pytest.mark.parametrize(("way", "user"), [(SCRAM, "mirror"), (OAUTH, "me")])
def test_use_27_a_refused_login_names_user_key_file_and_line(tmp_path, way, user):
    file, client = settings(tmp_path, *way)
    assert reported(client, LoginRejected("refused")) == (
        f"refused (user {user}, A.sasl.jaas.config in {file.name}:5)"
    )


def test_an_untrusted_certificate_names_the_line_that_says_whom_to_trust(tmp_path):
    file, client = settings(tmp_path, *SCRAM)
    assert reported(client, UntrustedConnection("expired")) == (
        f"expired (A.security.protocol in {file.name}:3)"
    )


@pytest.mark.parametrize("error", [ClusterUnavailable("away"), ClusterRejected("no right")])
def test_an_error_that_is_about_no_login_is_as_it_was(tmp_path, error):
    _, client = settings(tmp_path, *SCRAM)
    assert reported(client, error) == str(error)


def test_the_line_is_that_of_now_and_left_out_where_the_file_is_not(tmp_path):
    file, client = settings(tmp_path, *SCRAM)
    file.write_text("# one line more\n" + file.read_text())
    assert reported(client, LoginRejected("refused")).endswith(f"in {file.name}:6)")
    file.unlink()
    assert reported(client, LoginRejected("refused")).endswith(f"in {file.name})")


def test_lines_that_move_change_no_client(tmp_path):
    """Else an edit elsewhere in the file would restart flows."""
    text = FILE.format(mechanism=SCRAM[0], line=SCRAM[1])
    file = written(tmp_path, text)
    before = load_config(file).config
    file.write_text("# one line more\n" + text)
    assert load_config(file).config.flow("A->B").clients == before.flow("A->B").clients
