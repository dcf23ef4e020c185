"""State topics in memory that keep every record, as their logs do."""

from __future__ import annotations

from collections import defaultdict


class LogStore:
    """The state topics of a target, each as a log."""

    def __init__(self) -> None:
        self.logs = defaultdict(list)

    def ensure_topics(self, source):
        pass

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
        self._log = log

    def catch_up(self):
        return list(self._log)

    def close(self):
        pass
