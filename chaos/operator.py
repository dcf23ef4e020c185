"""Answers questions of halted partitions with ``isthmus resolve``, as an operator would."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

from chaos.application import FLOW, SOURCE, send
from replication.model import PartitionState, TopicPartition
from replication.settings.state_policies import CHOICES

if TYPE_CHECKING:
    from collections.abc import Callable

    from chaos.monitor import Monitor
    from chaos.stage import ChaosStage
    from replication.state import Anchor

_TAKEN = "with records that Isthmus did not produce"  # in the reason of a flow
_LOOK_S = 2.0
_COMMAND_S = 60.0


class SimulatedOperator:
    """A thread that answers. ``say`` prints a line; states without an explanation are problems."""

    def __init__(
        self, stage: ChaosStage, monitor: Monitor, problems: list[str], say: Callable[[str], None]
    ) -> None:
        self.answered: dict[TopicPartition, str] = {}  # the last answer
        self._stage, self._monitor = stage, monitor
        self._problems, self._say = problems, say
        self._unexplained: set[tuple[str, int, str]] = set()
        self._agreed = False
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._ended.set()
        self._thread.join()

    def _follow(self) -> None:
        while not self._ended.wait(_LOOK_S):
            for anchor in list(self._monitor.anchors.values()):
                if anchor.state in CHOICES and not self._ended.is_set():
                    self._decide(anchor)
            if _TAKEN in self._monitor.status.reason:
                self._agree()

    def _decide(self, anchor: Anchor) -> None:
        where = f"{anchor.topic}-{anchor.partition} {PartitionState(anchor.state)}"
        choice = self._stage.done.answer(anchor.topic, anchor.state)
        if choice is not None:
            self._answer(anchor, choice, where)
            return
        event = (anchor.topic, anchor.partition, anchor.state)
        if event not in self._unexplained:
            self._unexplained.add(event)
            self._problems.append(f"{where}, which no fault explains: {anchor.reason}")
            self._say(self._problems[-1])

    def _agree(self) -> None:
        """Let the flow go on with topics that it left out since state was lost; once.

        Where some state of them is left, the copy goes on where its content ends or halts in
        POSITION_LOST. Where none is, all of it is copied again.
        """
        if self._agreed:
            return
        self._agreed, where = True, f"{FLOW} leaves topics out"
        reason = self._monitor.status.reason
        if not self._stage.done.state_lost:
            self._problems.append(f"{where}, which no fault explains: {reason}")
            self._say(self._problems[-1])
            return
        for topic, count in self._stage.partitions.items():
            if f"{SOURCE}.{topic}: " in reason:
                places = (TopicPartition(topic, number) for number in range(count))
                self.answered |= dict.fromkeys(places, "continue")
        with self._stage.locks["driver"]:
            self._stage.application.add_setting("on.target.exists", "continue")
            send(self._stage.application.driver(), signal.SIGKILL)
        self._say(f"{where}: answered with on.target.exists = continue ({_TAKEN})")

    def _answer(self, anchor: Anchor, choice: str, where: str) -> None:
        partition = ("--topic", anchor.topic, "--partition", str(anchor.partition))
        command = (sys.executable, "-m", "orchestration.cli.main", "resolve")
        config = str(self._stage.application.config)
        try:
            done = subprocess.run(
                [*command, config, choice, "--flow", FLOW, *partition],
                capture_output=True,
                text=True,
                timeout=_COMMAND_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            self._say(f"{where}: resolve {choice} did not end in {_COMMAND_S:.0f} s")
            return
        if done.returncode:  # a cluster may be out
            self._say(
                f"{where}: resolve {choice} ended with {done.returncode}: {_last(done.stderr)}"
            )
        elif f"{where}: {choice}" in done.stdout:
            self.answered[TopicPartition(anchor.topic, anchor.partition)] = choice
            self._say(f"{where}: answered with {choice} ({anchor.reason})")
            self._ended.wait(_LOOK_S * 2)  # until its unit has read it


def _last(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else "no reason"
