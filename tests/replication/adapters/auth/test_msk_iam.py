"""Tokens for Amazon MSK. No test asks AWS: credentials are made up, STS is a server of our own.

That the signature is right is checked by a broker, in
``integration/copier/secured/test_copier_logins.py``.
"""

import base64
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs, parse_qsl, urlsplit

import pytest
from confluent_kafka.admin import AdminClient

from replication.adapters.admin.kafka_errors import ReportedErrors, quiet
from replication.adapters.auth.client_config import to_kafka_python, to_librdkafka
from replication.adapters.auth.msk_iam import IamLogin
from replication.adapters.auth.oauth import TokenCallback, TokenProvider
from replication.config.file import sasl
from replication.config.load import load_config
from replication.errors import ClusterUnavailable, ConfigError, LoginRejected

MSK = "b-1.orders.a1b2.c3.kafka.us-east-2.amazonaws.com:9098"
SERVERLESS = "boot-x1.c2.kafka-serverless.ap-south-1.amazonaws.com:9098"
ROLE = "arn:aws:iam::123456789012:role/mirror"
IAM = "software.amazon.msk.auth.iam."
OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"


@pytest.fixture(autouse=True)
def aws(monkeypatch, tmp_path):
    """Credentials in the environment, profiles in a file, and nothing of this machine's own."""
    file = tmp_path / "config"
    file.write_text(
        "[profile east]\nregion = eu-north-1\naws_access_key_id = AKIDEAST\n"
        "aws_secret_access_key = s\n[profile empty]\nregion = eu-north-1\n"
    )
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(file))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDOFENV")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hush-of-env")


def login(servers=MSK, **options) -> IamLogin:
    return IamLogin.of(options, servers)


def opened(token: str):
    """Return the host and the parameters of the request that a token is."""
    url = urlsplit(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode())
    return url.netloc, dict(parse_qsl(url.query))


def java(mechanism="AWS_MSK_IAM", module=f"{IAM}IAMLoginModule", options="", **more):
    return {
        "bootstrap.servers": MSK,
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": f"{module} required {options};",
        **more,
    }


AS_MM2_DOES = [
    java(**{"sasl.client.callback.handler.class": f"{IAM}IAMClientCallbackHandler"}),
    java(
        "OAUTHBEARER",
        OAUTH,
        **{
            "sasl.login.callback.handler.class": f"{IAM}IAMOAuthBearerLoginCallbackHandler",
            "sasl.client.callback.handler.class": f"{IAM}IAMOAuthBearerLoginCallbackHandler",
        },
    ),
]


@pytest.mark.parametrize("given", AS_MM2_DOES, ids=["AWS_MSK_IAM", "OAUTHBEARER"])
def test_both_libraries_send_a_signed_request_for_the_clusters_region(given):
    rd, py = to_librdkafka(given), to_kafka_python(given)
    assert (rd["sasl.mechanism"], py["sasl_mechanism"]) == ("OAUTHBEARER", "OAUTHBEARER")
    handed, ends_at = rd["oauth_cb"](None)
    for token in (handed, py["sasl_oauth_token_provider"].token()):
        host, query = opened(token)
        assert host == "kafka.us-east-2.amazonaws.com"
        assert query["Action"] == "kafka-cluster:Connect"
        key, _, region, service, _ = query["X-Amz-Credential"].split("/")
        assert (key, region, service) == ("AKIDOFENV", "us-east-2", "kafka-cluster")
        assert (query["X-Amz-Expires"], query["X-Amz-SignedHeaders"]) == ("900", "host")
        assert "X-Amz-Security-Token" not in query
        assert "hush" not in repr(query)
    assert ends_at == pytest.approx(time.time() + 900, abs=5)


def findings(folder, given):
    file = folder / "mm2.properties"
    lines = [f"A.{key} = {value}" for key, value in given.items()]
    begin = ["clusters = A, B", "A->B.enabled = true", "B.bootstrap.servers = b:1"]
    file.write_text("\n".join([*begin, *lines]))
    return load_config(file).findings


@pytest.mark.parametrize("given", AS_MM2_DOES, ids=["AWS_MSK_IAM", "OAUTHBEARER"])
def test_a_file_of_mm2_says_that_and_is_accepted(given, tmp_path):
    assert [each for each in findings(tmp_path, given) if "sasl" in str(each)] == []


def test_a_package_that_is_missing_is_one_clear_line(tmp_path, monkeypatch):
    monkeypatch.setattr(sasl, "find_spec", lambda _: None)
    for convert in (to_librdkafka, to_kafka_python):
        with pytest.raises(ConfigError, match=r"AWS_MSK_IAM needs a package.*'isthmus\[msk\]'$"):
            convert(AS_MM2_DOES[0])
    [found] = [each for each in findings(tmp_path, AS_MM2_DOES[1]) if "[msk]" in str(each)]
    assert "mm2.properties:6" in str(found)


@pytest.mark.parametrize(
    ("options", "servers", "region"),
    [
        ({}, f"{MSK},{MSK}", "us-east-2"),
        ({}, SERVERLESS, "ap-south-1"),
        ({"awsProfileName": "east"}, "kafka.example:9098", "eu-north-1"),
        ({"awsProfileName": "east"}, MSK, "us-east-2"),
        ({}, "kafka.example:9098", "sa-east-1"),
    ],
)
def test_the_region_is_that_of_the_host_name_else_the_profiles_else_the_environments(
    monkeypatch, options, servers, region
):
    monkeypatch.setenv("AWS_REGION", "sa-east-1")
    host, query = opened(login(servers, **options).fetch()[0])
    assert host == f"kafka.{region}.amazonaws.com"
    assert query["X-Amz-Credential"].split("/")[2] == region


@pytest.mark.parametrize(
    ("options", "servers", "why"),
    [
        ({}, "kafka.example:9098", "AWS region is unknown"),
        ({"awsProfileName": "west"}, MSK, r"profile \(west\) could not be found"),
        ({"awsProfileName": "empty"}, MSK, "no AWS credentials are found"),
    ],
)
def test_what_cannot_sign_says_what_to_set(monkeypatch, options, servers, why):
    if "empty" in options.values():
        monkeypatch.delenv("AWS_ACCESS_KEY_ID")
        monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    with pytest.raises(ConfigError, match=why):
        login(servers, **options).fetch()


def test_a_named_profile_signs():
    _, query = opened(login(awsProfileName="east").fetch()[0])
    assert query["X-Amz-Credential"].startswith("AKIDEAST/")


@pytest.fixture
def sts(monkeypatch):
    """Yield a token service: what it was asked, and its status."""

    class Sts(BaseHTTPRequestHandler):
        asked: list[tuple[dict[str, str], str]] = []  # noqa: RUF012 -- of one test
        status = 200

        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            self.asked.append(
                ({k: v[0] for k, v in parse_qs(body).items()}, self.headers["Authorization"])
            )
            credentials = (
                "<AccessKeyId>ASIDOFROLE</AccessKeyId><SecretAccessKey>r</SecretAccessKey>"
                "<SessionToken>session-of-role</SessionToken>"
                "<Expiration>2099-01-01T00:00:00Z</Expiration>"
            )
            answer = (
                "<AssumeRoleResponse><AssumeRoleResult><Credentials>"
                f"{credentials}</Credentials></AssumeRoleResult></AssumeRoleResponse>"
                if self.status == 200
                else "<ErrorResponse><Error><Code>AccessDenied</Code>"
                "<Message>not allowed to assume it</Message></Error></ErrorResponse>"
            ).encode()
            self.send_response(self.status)
            self.send_header("Content-Type", "text/xml")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Sts) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", f"http://127.0.0.1:{server.server_port}")
        yield Sts
        server.shutdown()
        thread.join()


def test_a_role_is_assumed_with_the_options_of_the_line(sts):
    token, _ = login(
        awsRoleArn=ROLE,
        awsRoleSessionName="copies",
        awsRoleExternalId="x-1",
        awsStsRegion="eu-west-3",
        awsProfileName="east",
    ).fetch()
    _, query = opened(token)
    assert query["X-Amz-Credential"].startswith("ASIDOFROLE/")
    assert query["X-Amz-Security-Token"] == "session-of-role"
    [(asked, authorization)] = sts.asked
    assert (asked["RoleArn"], asked["RoleSessionName"]) == (ROLE, "copies")
    assert asked["ExternalId"] == "x-1"
    assert "Credential=AKIDEAST/" in authorization
    assert "/eu-west-3/sts/" in authorization


def test_a_role_may_be_assumed_with_keys_of_its_own(sts):
    options = {"awsRoleAccessKeyId": "AKIDOFLINE", "awsRoleSecretAccessKey": "l"}
    login(awsRoleArn=ROLE, **options).fetch()
    [(asked, authorization)] = sts.asked
    assert asked["RoleSessionName"] == "isthmus"
    assert "Credential=AKIDOFLINE/" in authorization
    assert "hush" not in repr(login(awsRoleArn=ROLE, awsRoleSecretAccessKey="hush"))


def test_a_role_that_is_denied_is_a_wrong_setting_and_a_service_that_is_away_is_not(sts):
    sts.status = 403
    with pytest.raises(ConfigError, match=r"IAM: .*AccessDenied.*not allowed to assume it"):
        login(awsRoleArn=ROLE).fetch()
    sts.status = 503
    with pytest.raises(ClusterUnavailable, match="IAM: "):
        login(awsRoleArn=ROLE).fetch()


def test_a_service_that_cannot_be_reached_may_be_reached_later(monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", "http://127.0.0.1:1")
    with pytest.raises(ClusterUnavailable, match="IAM: Could not connect"):
        login(awsRoleArn=ROLE).fetch()


class Source:
    """Hands out numbered tokens that live for ``life_s``; raises ``error`` where there is one."""

    def __init__(self, life_s: float = 900.0) -> None:
        self.life_s, self.count, self.error = life_s, 0, None

    def fetch(self):
        if self.error is not None:
            raise self.error
        self.count += 1
        return f"t{self.count}", self.life_s


def test_librdkafka_gets_another_token_before_the_former_ends(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr("time.time", lambda: now[0])
    callback = TokenCallback(TokenProvider(Source()))
    assert callback(None) == ("t1", 1900.0)
    now[0] += 0.8 * 900  # when librdkafka asks
    assert callback(None) == ("t2", now[0] + 900)


def test_librdkafka_asks_again_soon_where_there_is_no_token_and_nothing_is_raised_there(
    monkeypatch,
):
    now = [1000.0]
    monkeypatch.setattr("time.time", lambda: now[0])
    callback = TokenCallback(TokenProvider(source := Source()))
    assert callback(None)[0] == "t1"
    now[0] += 1000
    for error in (ClusterUnavailable("away"), ConfigError("denied")):
        source.error = error
        assert callback(None) == ("t1", now[0] + 10)


def test_a_client_is_not_made_where_there_is_no_token():
    source = Source()
    settings = {"bootstrap.servers": "h:1", "oauth_cb": TokenCallback(TokenProvider(source))}
    source.error = ConfigError("denied")
    with pytest.raises(LoginRejected, match="authenticating at h:1: denied"):
        quiet(settings, ReportedErrors())
    source.error = ClusterUnavailable("away")
    with pytest.raises(ClusterUnavailable, match="authenticating at h:1: away"):
        quiet(settings, ReportedErrors())


def test_librdkafka_is_content_with_the_callback():
    settings = {**to_librdkafka(java(**{"bootstrap.servers": "127.0.0.1:1"})), "log_level": 0}
    settings["oauth_cb"] = TokenCallback(TokenProvider(Source()))
    AdminClient(settings)  # it waits for the first token, 10 s at most, and raises without one
