"""A refused login is tried again: later with the same settings, at once with other ones."""

import threading
from concurrent.futures import ThreadPoolExecutor

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


class Read(dict):
    """Settings whose login is shared."""

    def __init__(self, login, password):
        super().__init__(password=password)
        self.login = login


def test_clients_that_log_in_in_the_same_way_share_the_pauses_which_grow_to_a_minute(broker):
    clients = [(Logins(), Read("shared-1", "wrong")) for _ in range(5)]
    for _ in range(600):
        for logins, settings in clients:
            with pytest.raises(ClusterRejected, match="authenticating at b:1: refused"):
                logins.attempt(settings, broker.log_in)
        broker.now += 0.5
    assert [each - 100 for each in broker.asked] == [0, 1, 3, 7, 15, 31, 63, 123, 183, 243]


def test_where_one_broker_refuses_and_another_does_not_the_pauses_grow_too(broker):
    login = module.login_of(Read("shared-2", "old"))
    times = []
    while broker.now < 220:
        login.attempt(lambda: True)
        login.refuse(ClusterRejected("of another broker"))
        times.append(broker.now - 100)
        while not _may_try(login):
            broker.now += 0.5
    assert times == [0, 1, 3, 7, 15, 31, 47, 63, 79, 95, 111]


def _may_try(login):
    try:
        return login.attempt(lambda: True)
    except ClusterRejected:
        return False


def test_at_the_start_one_client_tries_and_the_others_wait_for_the_outcome():
    settings, begun, asked = Read("shared-3", "wrong"), threading.Event(), []

    def log_in(_):
        asked.append(1)
        begun.wait(5)
        raise ClusterRejected("refused")

    with ThreadPoolExecutor(8) as pool:
        found = [pool.submit(Logins().attempt, settings, log_in) for _ in range(8)]
        begun.set()
    assert {str(each.exception()) for each in found} == {"refused"}
    assert len(asked) == 1
