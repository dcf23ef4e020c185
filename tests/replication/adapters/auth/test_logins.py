"""A refused login is tried again: later with the same settings, at once with other ones."""

import pytest

from replication.adapters.auth import logins as module
from replication.adapters.auth.logins import Logins
from replication.errors import ClusterRejected, ClusterUnavailable


class Broker:
    """Accepts one password, and notes when it was asked for a login."""

    def __init__(self, monkeypatch):
        self.accepted, self.now, self.asked = "old", 100.0, []
        monkeypatch.setattr(module.time, "monotonic", lambda: self.now)

    def log_in(self, settings):
        self.asked.append(self.now)
        if settings["password"] != self.accepted:
            raise ClusterRejected("authenticating at b:1: refused")
        return settings["password"]


@pytest.fixture
def broker(monkeypatch):
    return Broker(monkeypatch)


def test_a_first_login_that_is_refused_is_an_error_that_stays(broker):
    with pytest.raises(ClusterRejected, match="refused"):
        Logins().attempt({"password": "wrong"}, broker.log_in)


def test_after_a_login_that_worked_a_refusal_passes_and_is_tried_ever_more_seldom(broker):
    logins, settings = Logins(), {"password": "old"}
    assert logins.attempt(settings, broker.log_in) == "old"
    broker.accepted, broker.asked = "new", []
    for _ in range(400):
        with pytest.raises(ClusterUnavailable, match="authenticating at b:1: refused"):
            logins.attempt(settings, broker.log_in)
        broker.now += 0.125
    assert [each - 100 for each in broker.asked] == [0, 1, 3, 7, 15, 31, 47]
    broker.accepted = "old"
    broker.now += 16
    assert logins.attempt(settings, broker.log_in) == "old"


def test_other_settings_are_tried_at_once(broker):
    logins, settings = Logins(), {"password": "old"}
    logins.attempt(settings, broker.log_in)
    broker.accepted = "new"
    with pytest.raises(ClusterUnavailable):
        logins.attempt(settings, broker.log_in)
    assert logins.attempt({"password": "new"}, broker.log_in) == "new"
