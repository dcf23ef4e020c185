"""Alerts to real HTTP servers: what arrives, and what is said where it does not."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.network.broken_servers import a_server, says
from support.network.webhook import Hook, a_hook
from support.settings.config_files import TWO
from typer.testing import CliRunner

from orchestration.alerts import outbox
from orchestration.alerts.alert import Alert
from orchestration.alerts.channels import AlertChannel, channels, post
from orchestration.cli.main import app
from replication.errors import EnvironmentProblem
from replication.settings.file_settings import Alerts

if TYPE_CHECKING:
    from collections.abc import Iterator

ALERT = Alert("check_failed", "A->B", "A->B is late\nreason: slow", 7, flows=("A->B",))
SECOND = Alert("check_passed", "A->B", "A->B: resolved", 8)


@pytest.fixture
def hook() -> Iterator[Hook]:
    with a_hook() as found:
        yield found


def test_an_alert_is_posted_as_json(hook):
    post(ALERT, hook.url)
    (got,) = hook.got
    assert (got["kind"], got["subject"], got["text"]) == ("check_failed", "A->B", ALERT.text)
    assert (got["at_ms"], got["source"], got["flows"]) == (7, "isthmus", ["A->B"])


def test_a_post_that_is_refused_raises_without_naming_the_secret_path(hook):
    hook.answer = 503
    with pytest.raises(EnvironmentProblem) as caught:
        post(ALERT, hook.url)
    assert (
        str(caught.value) == "posting an alert to webhook 127.0.0.1: the server answered HTTP 503"
    )


def test_a_post_to_a_closed_port_raises():
    with pytest.raises(EnvironmentProblem, match="refused"):
        post(ALERT, "http://127.0.0.1:1/secret-path")


@pytest.mark.parametrize(
    ("url", "flaw"),
    [
        ("file:///etc/hush", "has the scheme 'file', which is not supported: use http or https"),
        ("https:///hush", "is not complete"),
        ("https://example.org/a hush", "is not complete"),
        ("https://example.org:hush/", "is not a URL"),
        ("https://[hush/", "is not a URL"),
    ],
)
def test_a_webhook_that_nothing_can_be_posted_to_has_a_flaw_that_shows_no_secret(url, flaw):
    (channel,) = channels(Alerts(webhook_url=url))
    problem = channel.problem(ALERT)
    assert problem.startswith(f"alert.webhook.url {flaw}")
    assert "hush" not in problem


def test_a_server_that_speaks_no_http_is_the_problem_of_its_channel_alone(hook):
    with a_server(says(b"SSH-2.0-OpenSSH_9.6\r\n")) as port:
        both = channels(Alerts(webhook_url=f"http://127.0.0.1:{port}/", urls=(hook.apprise,)))
        waiting = ()
        for tick in range(3):
            alerts = [ALERT] if tick == 0 else []
            waiting, problems = outbox.deliver(waiting, alerts, both, tick * outbox.LONGEST_MS)
            assert "what answered speaks no HTTP (BadStatusLine)" in problems[0]
        assert [each["title"] for each in hook.got] == ["Isthmus: A->B is late"]
        assert [each.channel for each in waiting] == ["webhook 127.0.0.1"]


def test_a_channel_that_ends_with_any_exception_keeps_no_other_from_its_alert():
    def send(_):
        raise ValueError("https://example.org/hush")

    got = []
    both = (AlertChannel("broken", send), AlertChannel("good", got.append))
    waiting, problems = outbox.deliver((), [ALERT], both, 1)
    assert (got, [each.channel for each in waiting]) == ([ALERT], ["broken"])
    assert problems == ("posting an alert to broken: it ended with ValueError",)


def test_an_alert_waits_for_an_url_of_no_use_and_is_posted_once_it_is_mended(hook, caplog):
    with a_hook() as other:
        urls = ("nosuch://hush", other.apprise)
        waiting, problems = outbox.deliver((), [ALERT], channels(Alerts(urls=urls)), 1)
        flaw = "begins with nosuch:// and is none that Apprise knows, or it is not complete"
        assert problems == (f"alert.urls: URL 1 of 2 {flaw}",)
        assert "hush" not in caplog.text
        mended = channels(Alerts(urls=(hook.apprise, other.apprise)))
        waiting, problems = outbox.deliver(waiting, [SECOND], mended, 1 + outbox.FIRST_MS)
        assert (waiting, problems) == ((), ())
        assert [each["type"] for each in hook.got] == ["failure", "success"]
        assert [each["type"] for each in other.got] == ["failure", "success"]


def test_two_urls_that_differ_only_in_what_is_secret_are_two_channels(hook):
    urls = (hook.apprise, hook.apprise.replace("hush", "other"))
    both = channels(Alerts(urls=urls))
    assert both[0].name != both[1].name
    outbox.deliver((), [ALERT], both, 1)
    assert len(hook.got) == 2


def test_apprise_posts_title_text_and_kind_and_no_name_shows_a_secret(hook):
    (channel,) = channels(Alerts(urls=(hook.apprise,)))
    channel.send(ALERT)
    (got,) = hook.got
    assert (got["title"], got["message"]) == ("Isthmus: A->B is late", "reason: slow")
    assert got["type"] == "failure"
    assert "hush" not in channel.name
    hook.answer = 500
    with pytest.raises(EnvironmentProblem, match="500") as caught:
        channel.send(ALERT)
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["slack://xoxb-1234-1234-abcdefgh/#ops", "pagerduty://" + "k" * 32 + "@" + "i" * 32,
            "mailtos://user:hush@example.com?to=ops@example.com",
            "workflows://example.com:443/" + "a" * 32 + "/" + "b" * 32]
)  # fmt: skip
def test_the_services_that_the_page_names_are_known(url):
    (channel,) = channels(Alerts(urls=(url,)))
    assert not channel.flaw, f"{url} is not known"
    assert "hush" not in channel.name


def test_a_channel_that_fails_gets_its_alerts_later_in_order_and_delays_no_other(hook):
    with a_hook() as other:
        both = channels(Alerts(webhook_url=hook.url, urls=(other.apprise,)))
        hook.answer = 500
        waiting, problems = outbox.deliver((), [ALERT], both, 1_000)
        assert problems == ("posting an alert to webhook 127.0.0.1: the server answered HTTP 500",)
        assert hook.tries == 2
        waiting = outbox.parse(json.loads(json.dumps(outbox.dump(waiting))))
        waiting, _ = outbox.deliver(waiting, [SECOND], both, 2_000)
        assert hook.tries == 2, "it is not due yet"
        hook.answer = 200
        waiting, problems = outbox.deliver(waiting, [], both, 1_000 + outbox.FIRST_MS)
        assert (waiting, problems) == ((), ())
        assert [each["at_ms"] for each in hook.got] == [7, 8]
        assert [each["type"] for each in other.got] == ["failure", "success"]


def test_alerts_that_wait_for_an_url_of_no_use_cost_another_channel_none_of_its_own(hook):
    found = channels(Alerts(webhook_url=hook.url, urls=("jsn://hush",)))
    many = [replace(ALERT, at_ms=number) for number in range(outbox.MOST + 3)]
    waiting, _ = outbox.deliver((), many, found, 1_000)
    assert len(waiting) == outbox.MOST
    hook.answer = 500
    waiting, _ = outbox.deliver(waiting, [SECOND], found, 2_000)
    hook.answer, before = 200, len(hook.got)
    outbox.deliver(waiting, [], found, 400_000)
    assert [each["at_ms"] for each in hook.got[before:]] == [SECOND.at_ms]


def test_a_clock_that_is_set_back_does_not_put_the_next_try_off(hook):
    found = channels(Alerts(webhook_url=hook.url))
    hook.answer = 500
    waiting, _ = outbox.deliver((), [ALERT], found, 7_200_000)
    hook.answer = 200
    assert outbox.deliver(waiting, [], found, 1_000) == ((), ())
    assert len(hook.got) == 1


def test_an_alert_that_nobody_took_for_a_day_is_dropped(hook):
    hook.answer = 500
    found = channels(Alerts(webhook_url=hook.url))
    waiting, _ = outbox.deliver((), [ALERT], found, outbox.KEEP_MS + 8)
    assert waiting == ()


def test_isthmus_alert_test_says_of_each_channel_whether_it_arrived(hook, tmp_path):
    file = tmp_path / "f.properties"
    file.write_text(f"{TWO}alert.webhook.url = {hook.url}\nalert.urls = json://127.0.0.1:1/x\n")
    result = CliRunner().invoke(app, ["alert", "test", str(file)])
    assert result.exit_code == 1
    assert "webhook 127.0.0.1: arrived" in result.output
    assert "JSON json://127.0.0.1:1/x: FAILED" in result.output
    assert hook.got[0]["kind"] == "test"
    file.write_text(f"{TWO}alert.urls = nosuch://hush, {hook.apprise}\n")
    result = CliRunner().invoke(app, ["alert", "test", str(file)])
    assert result.exit_code == 2
    assert "alert.urls: URL 1 of 2: FAILED: alert.urls: URL 1 of 2 begins with" in result.output
    assert ": arrived" in result.output
    assert "hush" not in result.output
    file.write_text(f"{TWO}alert.urls = {hook.apprise}\n")
    assert CliRunner().invoke(app, ["alert", "test", str(file)]).exit_code == 0
    file.write_text(TWO)
    result = CliRunner().invoke(app, ["alert", "test", str(file)])
    assert "log alone" in result.output
