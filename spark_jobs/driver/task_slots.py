"""Spark's task slots: which flows have enough of them for all of their units.

A flow without enough slots waits before it starts: a unit that waits for one would wait for a whole
epoch, and so would its partitions.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from spark_jobs.driver.flow.flow_query import is_stopped, slots
from spark_jobs.transform.task.work import slots_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import SparkSession

    from replication.settings.config import Config
    from spark_jobs.driver.flow.flow_driver import FlowDriver

_LOOK_S = 2.0


class TaskSlots:
    """The slots of one application; ``config`` returns the settings in force."""

    def __init__(self, flows: Sequence[FlowDriver], config: Callable[[], Config]) -> None:
        self._flows = flows
        self._config = config
        self._look_at = 0.0

    def look(self, spark: SparkSession) -> bool:
        """Let flows wait that have too few slots, every two seconds; False: Spark has stopped."""
        waiting = [each for each in self._flows if each.cycle.query is None]
        if not waiting or time.monotonic() < self._look_at:
            return True
        self._look_at = time.monotonic() + _LOOK_S
        if is_stopped(spark):
            return False
        free = slots(spark) - self._taken()
        for each in waiting:
            needed = self._needed(each)
            if needed > free:
                each.cycle.lack_slots(self._shortage(needed, free))
            else:
                each.cycle.lack_slots("")
                free -= needed
        return True

    def suffice(self, spark: SparkSession) -> bool:
        """Return whether Spark has slots for all units that should run."""
        return slots(spark) >= self._taken()

    def _taken(self) -> int:
        return sum(self._needed(each) for each in self._flows if each.cycle.query is not None)

    def _needed(self, driver: FlowDriver) -> int:
        """Return the slots of a flow, those of units that it may come to have included."""
        return slots_of(self._config().flow(driver.flow.name))

    def _shortage(self, needed: int, free: int) -> str:
        master = self._config().spark.master
        return (
            f"Spark at {master} has {max(free, 0)} free slots, this flow's "
            f"units need {needed}: add workers or cores (spark.cores.max, spark.executor.cores), "
            "or set tasks.max lower"
        )
