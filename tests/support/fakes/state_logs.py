"""State topics in memory that keep every record, as their logs do."""

from __future__ import annotations

from collections import defaultdict


class LogStore:
    """The state topics of a target, each as a log."""

    def __init__(self) -> None:
        self.logs = defaultdict(list)

    def ensure_topics(self, source):
        pass

    def exists(self, topic):
        return True

    def read(self, topic):
        return {each.key(): each for each in self.logs[topic]}

    def write(self, topic, *records):
        self.logs[topic].extend(records)

    def post(self, topic, record):
        self.logs[topic].append(record)

    def tail(self, topic):
        return _Tail(self.logs[topic])


class _Tail:
    def __init__(self, log) -> None:
        self._log, self._at = log, 0

    def catch_up(self):
        new, self._at = self._log[self._at :], len(self._log)
        return new

    def close(self):
        pass
