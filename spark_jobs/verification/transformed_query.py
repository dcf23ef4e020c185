"""What a transform should have written beside what it wrote, as one query of Spark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F  # noqa: N812 - what everyone calls it

from replication.errors import ConfigError
from replication.verification.transformed import TransformedResult, TransformFinding
from spark_jobs.transform.columns.record_columns import rows_ddl
from spark_jobs.transform.sql_plan import sql_plan, sql_session
from spark_jobs.transform.task.batch_work import PROPERTY, property_of
from spark_jobs.transform.task.sql_tasks import read_slots
from spark_jobs.verification.content_match import (
    CANNOT,
    CONTENT,
    EXTRA,
    IN_FLIGHT,
    LOST,
    REPEATED,
    SAME,
    matched,
    summary,
)
from spark_jobs.verification.found_records import Unmatched, named
from spark_jobs.verification.repeatable import unrepeatable_sql
from spark_jobs.verification.result_rows import (
    ROWS_DDL,
    differing,
    expected_of_sql,
    expected_of_stage,
    written,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, Row, SparkSession

    from replication.settings.transform_settings import TopicTransform
    from replication.verification.transformed import TransformedSpans
    from spark_jobs.transform.task.work import SlotWork, TaskClusters
    from spark_jobs.verification.result_rows import SourcePart, TargetPart

_GOOD = {SAME, IN_FLIGHT, CANNOT}
_SHOWN = 10_000  # records that are looked at one by one
_ROWS = 500_000  # of a shuffle partition, about
SOURCE_GONE, TARGET_GONE = "deleted on the source", "deleted on the target"


@dataclass
class TransformedQuery:
    """The comparison of one transform. ``parts`` and ``slots`` belong together."""

    spark: SparkSession
    clusters: TaskClusters
    transform: TopicTransform
    spans: TransformedSpans
    parts: Sequence[SourcePart]
    slots: Sequence[SlotWork]
    listed: Sequence[TargetPart]

    def __post_init__(self) -> None:
        self.spark = sql_session(self.spark)
        rows = sum(each.end - each.begin for each in self.spans.read)
        rows += sum(each.end - each.begin for each in self.spans.written)
        self.spark.conf.set("spark.sql.shuffle.partitions", str(1 + rows // _ROWS))

    def result(self) -> TransformedResult:
        """Return what was found. Raises ConfigError where it cannot be verified, and Spark's."""
        self.spark.sparkContext.setLocalProperty(PROPERTY, property_of(self.slots))
        found = matched(self._timed(self._expected()), self._timed(self._written()))
        counts = summary(found).collect()
        if {each["kind"] for each in counts} <= _GOOD:
            return TransformedResult(tuple(map(_found, counts)))
        found = self._without_deleted(found, counts)
        wrong = found.where(~F.col("kind").isin(*_GOOD, SOURCE_GONE, TARGET_GONE))
        listed = [_unmatched(each) for each in wrong.limit(_SHOWN).collect()]
        counts = summary(found).collect()
        good = [each for each in counts if each["kind"] in {*_GOOD, SOURCE_GONE, TARGET_GONE}]
        others = [_found(each) for each in counts if each not in good]
        if len(listed) < _SHOWN:
            others = named(listed)
        return TransformedResult((*map(_found, good), *others))

    def _expected(self) -> DataFrame:
        places = {each.target: number for number, each in enumerate(self.spans.written)}
        numbers = self.spark.range(0, len(self.slots), 1, max(1, len(self.slots)))
        if not self.transform.is_sql:
            self._require_repeatable()
            work = expected_of_stage(self.clusters, self.parts, places)
            return numbers.mapInArrow(work, ROWS_DDL)
        plan = sql_plan(self.spark, self.transform)
        nothing = self.spark.createDataFrame([], rows_ddl(plan.inputs))
        if reason := unrepeatable_sql(self.spark, plan, nothing):
            raise ConfigError(reason)
        read = read_slots(self.clusters, plan.inputs)
        results = plan.results(numbers.mapInArrow(read, rows_ddl(plan.inputs)))
        return results.mapInArrow(expected_of_sql(self.clusters, self.parts, places), ROWS_DDL)

    def _require_repeatable(self) -> None:
        function = self.transform.function
        if function is None or not self.slots:
            return
        first = self.spark.range(0, 1, 1, 1).mapInArrow(differing(self.clusters), "differs boolean")
        if any(each["differs"] for each in first.collect()):
            raise ConfigError(
                f"{function.where}: {function.text} makes another thing of the same records when "
                "it is called again: its results cannot be made a second time"
            )

    def _written(self) -> DataFrame:
        numbers = self.spark.range(0, len(self.listed), 1, max(1, len(self.listed)))
        producers = frozenset(self.spans.producers)
        return numbers.mapInArrow(written(self.clusters, producers, self.listed), ROWS_DDL)

    def _timed(self, rows: DataFrame) -> DataFrame:
        """Leave out times where the target topic sets its own."""
        untimed = [
            number
            for number, each in enumerate(self.spans.written)
            if each.topic in self.spans.untimed
        ]
        if not untimed:
            return rows
        own = F.col("place").isin(untimed)
        return rows.withColumn("time", F.when(own, F.lit(0)).otherwise(F.col("time")))

    def _without_deleted(self, found: DataFrame, counts: Sequence[Row]) -> DataFrame:
        """Tell apart what has no counterpart because retention deleted that one.

        Results of a source partition are in its order in each target partition: what stands in
        front of the first one that is matched may be of a record that is gone, or be gone.
        """
        read, there = self.spans.read, self.spans.written
        first = {(e["span"], e["place"]): (e["t"], e["seq"]) for e in counts if e["kind"] == SAME}
        kind: Any = F.col("kind")
        for place, target in enumerate(there):
            here, routed = F.col("place") == place, target.topic in self.transform.route_topics
            ends = [
                first.get((span, place), (target.end, 0))[0]
                for span, each in enumerate(read)
                if each.trimmed and (routed or each.target_topic == target.topic)
            ]
            ends += [target.end] if routed and self.spans.unread else []
            if ends:
                gone = kind.isin(EXTRA, REPEATED) & here & (F.col("t") < max(ends))
                kind = F.when(gone, SOURCE_GONE).otherwise(kind)
            for span in range(len(read)) if target.trimmed else ():
                before = F.col("e.seq") < first.get((span, place), (0, 1 << 62))[1]
                gone = (kind == LOST) & here & (F.col("e.span") == span) & before
                kind = F.when(gone, TARGET_GONE).otherwise(kind)
        return found.withColumn("kind", kind)


def _found(row: Row) -> TransformFinding:
    place = None if row["place"] < 0 else row["place"]
    return TransformFinding(
        row["kind"], row["count"], row["span"], place, _offset(row["offset"]), row["t"]
    )


def _unmatched(row: Row) -> Unmatched:
    expected = row["e"]
    content = tuple(row[each] for each in CONTENT[1:])
    if expected is None:
        return Unmatched(row["kind"], row["place"], content, target=row["t"])
    offset = _offset(expected["offset"])
    return Unmatched(row["kind"], row["place"], content, expected["span"], offset, row["t"])


def _offset(known: int | None) -> int | None:
    """Return a source offset; None: a function did not say what its result is made of."""
    return None if known is None or known < 0 else known
