"""The work of a batch on its way to its tasks: a local property of Spark's job.

In the tasks' functions it would make another plan of each batch, which Spark analyses, optimizes
and serializes again: 0.4 s of CPU time.
"""

from __future__ import annotations

import base64
import pickle
from dataclasses import replace
from typing import TYPE_CHECKING

from spark_jobs.transform.task.work import TaskClusters

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spark_jobs.transform.task.work import SlotWork

PROPERTY = "isthmus.transform.work"
_NOWHERE = TaskClusters("", "", {}, {})


def property_of(work: Sequence[SlotWork]) -> str:
    """Return the work of all slots, without how clusters are reached.

    Spark's event log has the properties of jobs, and would have the passwords.
    """
    bare = [replace(each, clusters=_NOWHERE) for each in work]
    return base64.b64encode(pickle.dumps(bare)).decode()


def slot_work(clusters: TaskClusters, number: int) -> SlotWork:
    """Return the work of a slot, in a task of the job that has it."""
    from pyspark import TaskContext  # noqa: PLC0415 - in a task alone

    context = TaskContext.get()
    text = None if context is None else context.getLocalProperty(PROPERTY)
    if text is None:
        raise RuntimeError(f"the job has no property {PROPERTY}")
    return work_in(text, clusters, number)


def work_in(text: str, clusters: TaskClusters, number: int) -> SlotWork:
    """Return the work of a slot that ``property_of`` has written; it is of our own driver."""
    slots: Sequence[SlotWork] = pickle.loads(base64.b64decode(text))  # noqa: S301 - as above
    return replace(slots[number], clusters=clusters)
