"""The keys of the metrics endpoint: what fits together, and what other machines would see."""

from __future__ import annotations

import pytest
from support.settings.config_files import TWO, about, found, loaded

from replication.errors import ConfigError

PORT = TWO + "metrics.port = 9404\n"
LOGIN = "metrics.user = prometheus\nmetrics.password = pw-of-metrics\n"
FILES = "metrics.ssl.certificate.location = chain.pem\nmetrics.ssl.key.location = key.pem\n"


def test_relative_files_are_those_beside_the_config(tmp_path):
    for name in ("chain.pem", "key.pem", "ca.pem"):
        (tmp_path / name).touch()
    text = PORT + LOGIN + FILES + "metrics.ssl.ca.location = ca.pem\n"
    metrics = loaded(tmp_path, text).config.metrics
    assert (metrics.user, metrics.password) == ("prometheus", "pw-of-metrics")
    assert metrics.certificate == str(tmp_path / "chain.pem")
    assert (metrics.key, metrics.client_ca) == (str(tmp_path / "key.pem"), str(tmp_path / "ca.pem"))
    assert "pw-of-metrics" not in repr(metrics)


def test_a_file_that_is_missing_is_mentioned(tmp_path):
    findings = found(tmp_path, PORT + FILES)
    (output,) = about(findings, "metrics.ssl.key.location")
    missing = tmp_path / "key.pem"
    assert output == (
        f"warning: the file {missing} does not exist; no metrics will be served → "
        "provide a PEM file"
    )


def test_the_password_may_stand_in_another_file_and_is_displayed_nowhere(tmp_path):
    (tmp_path / "secrets.properties").write_text("metrics = pw-of-metrics\n")
    text = PORT + (
        "metrics.user = prometheus\nconfig.providers = file\nmetrics.password = "
        f"${{file:{tmp_path / 'secrets.properties'}:metrics}}\nconfig.providers.file.class = "
        "org.apache.kafka.common.config.provider.FileConfigProvider\n"
    )
    result = loaded(tmp_path, text)
    assert result.config.metrics.password == "pw-of-metrics"  # noqa: S105 -- a test's own
    assert "pw-of-metrics" not in repr(result)
    shown = {each.name: each.value for each in result.origins[""]}
    assert shown["metrics.password"] == "********"


@pytest.mark.parametrize(
    ("more", "key", "message"),
    [
        pytest.param("metrics.user = p\n", "metrics.user",
                     "needs metrics.password → set metrics.password, or remove metrics.user",
                     id="a user without a password"),
        pytest.param("metrics.password = p\n", "metrics.password",
                     "needs metrics.user → set metrics.user, or remove metrics.password",
                     id="a password without a user"),
        pytest.param("metrics.user = p\nmetrics.password =\n", "metrics.password",
                     "is empty → set it, or remove metrics.user and metrics.password",
                     id="an empty password"),
        pytest.param("metrics.user = a:b\nmetrics.password = p\n", "metrics.user",
                     "has a colon, which ends a user's name in HTTP → choose a name without it",
                     id="a colon"),
        pytest.param("metrics.ssl.key.location = k\n", "metrics.ssl.key.location",
                     "needs metrics.ssl.certificate.location → set "
                     "metrics.ssl.certificate.location, or remove metrics.ssl.key.location",
                     id="a key alone"),
        pytest.param("metrics.ssl.ca.location = k\n", "metrics.ssl.ca.location",
                     "needs metrics.ssl.certificate.location → set "
                     "metrics.ssl.certificate.location, or remove metrics.ssl.ca.location",
                     id="authorities alone"),
    ],
)  # fmt: skip
def test_keys_that_would_protect_nothing_are_refused(tmp_path, more, key, message):
    assert f"error: {message}" in about(found(tmp_path, PORT + more), key)
    with pytest.raises(ConfigError):
        loaded(tmp_path, PORT + more)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost"])
def test_nothing_is_said_where_only_this_machine_reads(tmp_path, host):
    text = PORT + LOGIN + f"metrics.host = {host}\n"
    assert about(found(tmp_path, text), "metrics.host") == []


NO_LOGIN = (
    "info: shows names of topics and clusters to every machine that reaches the port → "
    "metrics.user and metrics.password, or metrics.ssl.ca.location"
)
CLEAR_TEXT = (
    "warning: sends metrics.password over the network in clear text → serve with TLS: "
    "metrics.ssl.certificate.location"
)


@pytest.mark.parametrize(
    ("more", "findings"),
    [
        pytest.param("", [NO_LOGIN], id="no login"),
        pytest.param(LOGIN, [CLEAR_TEXT], id="a login without TLS"),
        pytest.param(LOGIN + FILES, [], id="a login with TLS"),
        pytest.param(FILES + "metrics.ssl.ca.location = ca.pem\n", [], id="certificates"),
    ],
)
def test_what_other_machines_see_is_mentioned(tmp_path, more, findings):
    text = PORT + "metrics.host = 0.0.0.0\n" + more
    assert about(found(tmp_path, text), "metrics.host") == findings


PUSH = TWO + "metrics.otlp.endpoint = https://otel.example:4318/v1/metrics\n"


def test_a_push_has_its_headers_and_they_are_displayed_nowhere(tmp_path):
    (tmp_path / "ca.pem").touch()
    more = "metrics.otlp.headers = authorization=Bearer hush,x=1\nmetrics.otlp.ssl.ca.location = "
    result = loaded(tmp_path, PUSH + more + "ca.pem\nmetrics.otlp.interval.seconds = 15\n")
    otlp = result.config.metrics.otlp
    assert (otlp.endpoint, otlp.interval.seconds) == ("https://otel.example:4318/v1/metrics", 15)
    assert (otlp.headers, otlp.ca) == ("authorization=Bearer hush,x=1", str(tmp_path / "ca.pem"))
    assert "hush" not in repr(result)
    shown = {each.name: each.value for each in result.origins[""]}
    assert shown["metrics.otlp.headers"] == "********"


@pytest.mark.parametrize(
    ("more", "key", "message"),
    [
        pytest.param("metrics.otlp.endpoint = otel:4317\n", "metrics.otlp.endpoint",
                     "error: is not an HTTP URL → http://host:4318/v1/metrics, or with https",
                     id="no URL"),
        pytest.param("metrics.otlp.endpoint = https://me:pw@otel/v1/metrics\n",
                     "metrics.otlp.endpoint", "error: has a login, which everybody sees → remove "
                     "it and set metrics.otlp.headers", id="a login"),
        pytest.param("metrics.otlp.headers = a=b\n", "metrics.otlp.headers",
                     "error: needs metrics.otlp.endpoint → set metrics.otlp.endpoint, or remove "
                     "metrics.otlp.headers", id="headers alone"),
        pytest.param("metrics.otlp.endpoint = http://127.0.0.1:4318/\nmetrics.otlp.headers = =b\n",
                     "metrics.otlp.headers", "error: has a header without a name → name=value, "
                     "with commas between them", id="a header without a name"),
        pytest.param("metrics.otlp.endpoint = http://otel/\nmetrics.otlp.headers = a=b\n",
                     "metrics.otlp.endpoint", "warning: sends metrics.otlp.headers over the "
                     "network in clear text → choose https://", id="clear text"),
    ],
)  # fmt: skip
def test_a_push_that_cannot_work_or_shows_its_headers_is_mentioned(tmp_path, more, key, message):
    assert about(found(tmp_path, TWO + more), key) == [message]


def test_headers_stay_on_this_machine_in_clear_text(tmp_path):
    text = "metrics.otlp.endpoint = http://[::1]:4318/\nmetrics.otlp.headers = a=b\n"
    assert about(found(tmp_path, TWO + text), "metrics.otlp.endpoint") == []
