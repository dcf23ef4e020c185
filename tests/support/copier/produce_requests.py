"""A target that keeps Produce requests open until a test answers them."""

from __future__ import annotations

from replication.client.network import Ack
from replication.copier.foreign_writers import AppendGaps
from replication.copier.partition.recovery_queue import RecoveryQueue
from replication.copier.produce.sender import Sender
from replication.errors import ClusterUnavailable
from support.copier.append_leases import held


class NotedQueue(RecoveryQueue):
    """Notes each time that a partition needs recovery."""

    def __init__(self, noted: list) -> None:
        super().__init__()
        self.noted = noted

    def add(self, partition) -> None:
        self.noted.append(partition)
        super().add(partition)


class Wire:
    """Takes Produce requests and answers them when the test says so."""

    def __init__(self, *partitions, proven: bool = True) -> None:
        self.open: list = []  # (node, batches, answer)
        self.to_recover: list = []
        self.pauses: dict[int, float] = {}  # how long each broker throttles us
        self.sender = Sender(self, NotedQueue(self.to_recover), AppendGaps(), lease=held())
        for partition in partitions:
            partition.queue.writer.proven = proven
            self.sender.lead[partition] = 0
            self.sender.offer(partition)
        self.sender.pump()

    def pause_s(self, node: int, line: str = "produce") -> float:
        return self.pauses.get(node, 0.0)

    def produce(self, node, batches, answer, transactional_id="") -> None:
        self.open.append((node, [(t, p, bytes(b)) for t, p, b in batches], answer))

    def answer(self, *codes: int, base: int = 0) -> list:
        """Answer the oldest request; the last code is that of all further batches."""
        _, batches, answer = self.open.pop(0)
        codes_of_batches = [*codes, *[codes[-1]] * len(batches)]
        answer(
            [
                Ack(t, p, code, base, "")
                for (t, p, _), code in zip(batches, codes_of_batches, strict=False)
            ],
            None,
        )
        return batches

    def fail(self) -> list:
        _, batches, answer = self.open.pop(0)
        answer(None, ClusterUnavailable("cut"))
        return batches

    def resume(self, partition) -> None:
        partition.retry_at = None
        self.sender.offer(partition)
        self.sender.pump()

    def batches(self) -> list[bytes]:
        return [batch for _, listed, _ in self.open for _, _, batch in listed]
