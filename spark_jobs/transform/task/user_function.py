"""A Python function of the operator's own over Arrow record batches: loaded, called, checked.

It gets a record batch of Arrow with the columns of ``record_columns.RECORDS``, and returns one with
columns of the same names; those that it leaves out keep nothing: ``value`` must be there, ``key``,
``headers`` and ``timestamp`` are none without. ``topic`` may name another topic of
``route.topics``, ``partition`` a partition of it (null: by the key).
"""

from __future__ import annotations

import importlib
import importlib.util
import signal
import sys
from collections import defaultdict
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from replication.errors import ConfigError
from replication.transforms.transformed_record import BY_KEY, PoisonRecord
from spark_jobs.transform.columns.encoded_batches import rests_of
from spark_jobs.transform.columns.encoded_records import PARTS
from spark_jobs.transform.columns.record_columns import RECORDS, nameless, times_of
from spark_jobs.transform.task.target_rows import TargetRows, misplaced, put

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from replication.settings.transform_settings import SettingText, TopicTransform
    from spark_jobs.transform.columns.decoded_records import DecodedRecords
    from spark_jobs.transform.task.range_outcome import RangeOutcome

CHUNK = 5_000  # records that a function gets at a time
_LOADING_S = 60.0  # what a module does when it is imported may take longer than a batch
_LEAST_S = 1.0  # for a part of a batch that took too long as a whole


class _TooSlow(BaseException):
    """Not an Exception: a function that catches those would go on."""


@dataclass(frozen=True, slots=True)
class UserFunction:
    """The function of a transform."""

    call: Callable[[pa.RecordBatch], Any]
    written: SettingText
    timeout_s: float

    def take(self, outcome: RangeOutcome, records: DecodedRecords) -> None:
        """Take the results of records in order, and each record on which the function fails.

        What fails on several records, or hangs, is tried on each half of them: Kafka's records are
        transformed one by one in meaning, only together for speed.
        """
        for begin in range(0, len(records), CHUNK):
            some = np.arange(begin, min(begin + CHUNK, len(records)))
            self._take(outcome, records.at(some), self.timeout_s)

    def _take(self, outcome: RangeOutcome, records: DecodedRecords, limit_s: float) -> None:
        if outcome.halted is not None:
            return
        try:
            rows = self._rows(outcome, records, limit_s)
        except _Failed as failure:
            if len(records) == 1:
                outcome.poison(PoisonRecord(records.singles()[0], str(failure)))
                return
            less = max(limit_s / 2, min(_LEAST_S, limit_s))
            for half in np.array_split(np.arange(len(records)), 2):
                self._take(outcome, records.at(half), less)
        else:
            put(outcome, rows)

    def _rows(self, outcome: RangeOutcome, records: DecodedRecords, limit_s: float) -> TargetRows:
        batch = records.seen(outcome.work.source)
        try:
            with _limited(limit_s):
                result = self.call(batch)
        except _TooSlow:
            raise _Failed(f"{self.written.text} took longer than {limit_s:g} s") from None
        except Exception as error:  # noqa: BLE001 - it is the operator's code
            raise _Failed(f"{self.written.text} raised {type(error).__name__}: {error}") from None
        rows = _target_rows(outcome, self.checked(result))
        for problem in misplaced(rows.topics, rows.numbers, outcome.slot.partitions).values():
            raise _Failed(problem)
        return rows

    def checked(self, result: Any) -> pa.RecordBatch:
        """Return the result with all columns, in their types. Raises ``_Failed``."""
        if isinstance(result, pa.Table):
            result = result.combine_chunks().to_batches()
            result = result[0] if result else None
        if not isinstance(result, pa.RecordBatch):
            kind = type(result).__name__
            raise _Failed(f"{self.written.text} returned a {kind}, not a pyarrow.RecordBatch")
        names = set(result.schema.names)
        if "value" not in names or names - set(RECORDS.names):
            known = ", ".join(RECORDS.names)
            raise _Failed(f"{self.written.text} returned the columns {sorted(names)}, not {known}")
        columns = []
        for each in RECORDS:
            if each.name not in names:
                columns.append(pa.nulls(result.num_rows, each.type))
                continue
            try:
                columns.append(result.column(each.name).cast(each.type))
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
                kind = result.schema.field(each.name).type
                raise _Failed(
                    f"{self.written.text} returned {each.name} as {kind}, not as {each.type}"
                ) from None
        found = pa.RecordBatch.from_arrays(columns, schema=RECORDS)
        if nameless(found.column("headers")):
            raise _Failed(f"{self.written.text} returned a header without a name")
        return found


def _target_rows(outcome: RangeOutcome, batch: pa.RecordBatch) -> TargetRows:
    default, own = outcome.work.target.topic, outcome.work.source.topic
    named = batch.column("topic").dictionary_encode()
    codes = pc.fill_null(named.indices, -1).to_numpy(zero_copy_only=False)
    topics: dict[str, list[int]] = defaultdict(list)
    for code, topic in enumerate((*named.dictionary.to_pylist(), None), 0):
        at = -1 if topic is None else code
        topics[default if topic in (None, own) else topic].append(at)
    chosen = {topic: np.flatnonzero(np.isin(codes, each)) for topic, each in topics.items()}
    numbers = pc.fill_null(batch.column("partition"), BY_KEY).to_numpy(zero_copy_only=False)
    keys, values, headers = (batch.column(each) for each in PARTS)
    times = times_of(batch.column("timestamp"))
    return TargetRows(
        {topic: each for topic, each in chosen.items() if len(each)},
        numbers.astype(np.int64),
        times,
        rests_of(keys, values, headers),
        keys,
        pc.fill_null(batch.column("offset"), -1).to_numpy(zero_copy_only=False),
    )


class _Failed(Exception):
    """The function failed on the records that it was given."""


def load_function(transform: TopicTransform) -> UserFunction:
    """Load the function and try it on no records. Raises ConfigError: ``file:line`` and why."""
    written = transform.function
    if written is None:
        raise ValueError("the transform has no function")
    place, colon, name = written.text.rpartition(":")
    if not colon:
        raise ConfigError(f"{written.where}: {written.text} names no function → file.py:name")
    try:
        with _limited(_LOADING_S):
            module = _module(place, Path(transform.folder))
            call = getattr(module, name)
    except (_TooSlow, Exception) as error:  # noqa: BLE001 - it is the operator's code
        raise ConfigError(
            f"{written.where}: loading {written.text}: {type(error).__name__}: {error}"
        ) from None
    function = UserFunction(call, written, transform.timeout.total_seconds())
    try:
        with _limited(max(function.timeout_s, _LOADING_S)):
            function.checked(call(pa.RecordBatch.from_pylist([], schema=RECORDS)))
    except (_TooSlow, Exception) as error:  # noqa: BLE001 - as above
        reason = str(error) if isinstance(error, _Failed) else f"{type(error).__name__}: {error}"
        raise ConfigError(f"{written.where}: called without records: {reason}") from None
    return function


def _module(place: str, folder: Path) -> Any:
    if not place.endswith(".py"):
        if str(folder) not in sys.path:
            sys.path.insert(0, str(folder))
        return importlib.import_module(place)
    path = Path(place) if Path(place).is_absolute() else folder / place
    spec = importlib.util.spec_from_file_location(f"isthmus_transform_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(str(path))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@contextmanager
def _limited(limit_s: float) -> Iterator[None]:
    """Interrupt what takes longer; in a process' main thread alone, as a signal needs it."""

    def ring(*_: object) -> None:
        raise _TooSlow

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, limit_s, 0.5)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
