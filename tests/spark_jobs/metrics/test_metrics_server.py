"""Who is served metrics: with TLS, with a login, and what those without one see."""

from __future__ import annotations

import socket
import ssl
import urllib.error
import urllib.request
from base64 import b64encode

import pytest
from structlog.testing import capture_logs
from support.security.certificate_stores import identity

from replication.errors import EnvironmentProblem
from replication.settings.metrics_settings import MetricsSettings
from spark_jobs.metrics.metrics_server import start_server

SERVER = identity()
CLIENT = identity("prometheus", "authority of clients")


def app(_environ, start_response):
    start_response("200 OK", [("Content-Length", "5")])
    return [b"known"]


def served(**settings) -> int:
    return start_server(MetricsSettings(**settings), 0, app)


def answer(address: str, *, headers=None, context=None) -> bytes:
    request = urllib.request.Request(address, headers=headers or {})  # noqa: S310 -- our own server
    with urllib.request.urlopen(request, timeout=10, context=context) as found:  # noqa: S310 -- as above
        return found.read()


def basic(user: str, password: str, scheme: str = "Basic") -> dict[str, str]:
    return {"Authorization": f"{scheme} {b64encode(f'{user}:{password}'.encode()).decode()}"}


@pytest.fixture
def files(tmp_path):
    def write(name: str, text: str) -> str:
        (tmp_path / name).write_text(text)
        return str(tmp_path / name)

    return write


@pytest.fixture
def certificate(files):
    return {
        "certificate": files("chain.pem", SERVER.chain_pem),
        "key": files("key.pem", SERVER.key_pem()),
    }


def trusting(who=SERVER) -> ssl.SSLContext:
    return ssl.create_default_context(cadata=who.authority_pem)


def test_only_this_machine_is_listened_to_unless_the_file_says_otherwise():
    port = served()
    assert answer(f"http://127.0.0.1:{port}") == b"known"
    with pytest.raises(OSError, match="refused"):
        socket.create_connection((own_address(), port), 5)


@pytest.mark.parametrize(("host", "shown"), [("::1", "[::1]"), ("localhost", "localhost")])
def test_a_host_may_have_an_address_of_either_family(host, shown):
    assert answer(f"http://{shown}:{served(host=host)}") == b"known"


def own_address() -> str:
    """Return an address of this machine that is not loopback's; no packet is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            pytest.skip("this machine has no other address")
        return probe.getsockname()[0]


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({}, id="none"),
        pytest.param(basic("prometheus", "guess"), id="another password"),
        pytest.param(basic("root", "päss:word"), id="another user"),
        pytest.param(basic("prometheus", "päss:word", "Bearer"), id="another scheme"),
        pytest.param({"Authorization": "Basic"}, id="nothing given"),
        pytest.param({"Authorization": "Basic \xff\xfe"}, id="no base64"),
    ],
)
def test_nothing_is_shown_without_the_login(headers):
    port = served(user="prometheus", password="päss:word")  # noqa: S106 -- a test's own
    with pytest.raises(urllib.error.HTTPError) as error:
        answer(f"http://127.0.0.1:{port}/metrics", headers=headers)
    assert error.value.code == 401
    assert error.value.headers["WWW-Authenticate"] == 'Basic realm="isthmus", charset="UTF-8"'
    assert error.value.read() == b""


def test_metrics_are_shown_after_the_login():
    port = served(user="prometheus", password="päss:word")  # noqa: S106 -- a test's own
    address = f"http://127.0.0.1:{port}/metrics"
    assert answer(address, headers=basic("prometheus", "päss:word")) == b"known"
    assert answer(address, headers=basic("prometheus", "päss:word", "basic")) == b"known"


def test_metrics_are_served_with_the_certificate_of_the_file(certificate):
    port = served(**certificate)
    assert answer(f"https://localhost:{port}", context=trusting()) == b"known"
    with pytest.raises(OSError, match=r"reset|closed|RemoteDisconnected"):
        answer(f"http://localhost:{port}")


def test_a_client_that_makes_no_handshake_keeps_nobody_waiting(certificate):
    port = served(**certificate)
    with socket.create_connection(("127.0.0.1", port)):
        assert answer(f"https://localhost:{port}", context=trusting()) == b"known"


def test_a_renewed_certificate_is_served_without_a_restart(certificate, files):
    port = served(**certificate)
    renewed = identity(authority="another authority")
    files("chain.pem", renewed.chain_pem)
    files("key.pem", renewed.key_pem())
    assert answer(f"https://localhost:{port}", context=trusting(renewed)) == b"known"
    with pytest.raises(urllib.error.URLError, match="certificate verify failed"):
        answer(f"https://localhost:{port}", context=trusting())


def test_a_certificate_that_became_unusable_is_logged_and_ends_no_server(certificate, files):
    port = served(**certificate)
    files("key.pem", "")
    with capture_logs() as logs, pytest.raises(OSError, match=r"."):
        answer(f"https://localhost:{port}", context=trusting())
    assert [each["event"] for each in logs] == ["metrics endpoint cannot serve"]
    files("key.pem", SERVER.key_pem())
    assert answer(f"https://localhost:{port}", context=trusting()) == b"known"


def test_clients_need_a_certificate_where_the_file_names_their_authority(certificate, files):
    port = served(**certificate, client_ca=files("ca.pem", CLIENT.authority_pem))
    with pytest.raises(OSError, match=r"certificate required|reset|closed|EOF"):
        answer(f"https://localhost:{port}", context=trusting())
    context = trusting()
    context.load_cert_chain(files("c.pem", CLIENT.chain_pem), files("k.pem", CLIENT.key_pem()))
    assert answer(f"https://localhost:{port}", context=context) == b"known"


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        pytest.param("", "it is not there in PEM", id="no key"),
        pytest.param(SERVER.key_pem("secret"), "the key needs a password: remove it from the file",
                     id="with a password"),
        pytest.param(CLIENT.key_pem(), "KEY_VALUES_MISMATCH", id="another key"),
    ],
)  # fmt: skip
def test_a_key_that_does_not_serve_is_a_reason_not_to_listen(certificate, files, key, reason):
    file = files("key.pem", key)
    with pytest.raises(EnvironmentProblem) as error:
        served(**certificate)
    assert str(error.value) == (
        f"no usable certificate with its key in {certificate['certificate']} and {file}: "
        f"{reason}; correct metrics.ssl.*"
    )
