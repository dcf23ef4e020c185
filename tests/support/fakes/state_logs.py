"""State topics in memory that keep every record, as their logs do."""

from __future__ import annotations

from collections import defaultdict

from replication.errors import ClusterUnavailable


class LogStore:
    """The state topics of a target, each as a log; ``refuses``: read, write, or both."""

    def __init__(self) -> None:
        self.logs = defaultdict(list)
        self.refuses = set()

    def require(self, doing):
        if doing in self.refuses:
            raise ClusterUnavailable(f"{doing}: B is silent")

    def ensure_topics(self, source):
        pass

    def exists(self, topic):
        return True

    def read(self, topic):
        self.require("read")
        return {each.key(): each for each in self.logs[topic]}

    def write(self, topic, *records):
        self.require("write")
        self.logs[topic].extend(records)

    def post(self, topic, record):
        if "write" not in self.refuses:
            self.logs[topic].append(record)

    def tail(self, topic):
        return _Tail(self, self.logs[topic])


class _Tail:
    def __init__(self, store, log) -> None:
        self._store, self._log, self._at = store, log, 0

    def catch_up(self):
        self._store.require("read")
        new, self._at = self._log[self._at :], len(self._log)
        return new

    def close(self):
        pass
