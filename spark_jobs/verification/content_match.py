"""Matches what a transform should have written with what it wrote, by content and by order.

Records of one target partition with the same content are matched one to one: those that are left
are lost, or written too often. Then the matched records of each source partition have to stand in
its order. Which of several source partitions a record came from is not known where all of them
made the same one; such records are counted, and left out of the order.

All of it is one shuffle by content and one by order, of which Spark keeps on disk what does not fit
into memory. Contents are compared by hashes of 64 bits each of key, value and headers, and time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812 - what everyone calls it

from spark_jobs.verification.result_rows import FAILED

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

SAME, LOST, REPEATED, EXTRA = "same", "lost", "repeated", "extra"
OUT_OF_ORDER, IN_FLIGHT, CANNOT = "out of order", "in flight", "cannot be transformed"
_EXPECTED = "struct<late: boolean, span: int, seq: bigint, offset: bigint>"
CONTENT = ("place", "time", "key", "value", "headers")


def matched(expected: DataFrame, written: DataFrame) -> DataFrame:
    """Return a row a record: ``kind``, the content's hashes, ``e`` (expected) and ``t`` (offset).

    ``e`` is a struct of ``late``, ``span``, ``seq`` and ``offset``; ``e`` or ``t`` is null where
    there is no counterpart.
    """
    record = F.struct("late", "span", "seq", "offset").alias("e")
    ours = _hashed(expected, record, F.lit(None).cast("long").alias("t"))
    theirs = _hashed(written, F.lit(None).cast(_EXPECTED).alias("e"), F.col("offset").alias("t"))
    sides = F.sort_array(F.collect_list("e")), F.sort_array(F.collect_list("t"))
    groups = (
        ours.unionByName(theirs).groupBy(*CONTENT).agg(sides[0].alias("es"), sides[1].alias("ts"))
    )
    owners = F.transform("es", lambda each: F.struct(each["late"], each["span"]))
    pairs = groups.select(
        *CONTENT,
        (F.size("es") > 0).alias("known"),
        (F.size(F.array_distinct(owners)) > 1).alias("alike"),
        F.explode(F.arrays_zip("es", "ts")).alias("pair"),
    ).select(*CONTENT, "known", "alike", F.col("pair.es").alias("e"), F.col("pair.ts").alias("t"))
    return _ordered(pairs)


def summary(found: DataFrame) -> DataFrame:
    """Return how many there are by kind, source and target partition, and the first offsets."""
    return found.groupBy("kind", F.col("e.span").alias("span"), "place").agg(
        F.count("*").alias("count"),
        F.min("t").alias("t"),
        F.min("e.offset").alias("offset"),
        F.min("e.seq").alias("seq"),
    )


def _hashed(rows: DataFrame, *sides: Column) -> DataFrame:
    hashes = (F.xxhash64(each).alias(each) for each in ("key", "value", "headers"))
    return rows.select("place", "time", *hashes, *sides)


def _ordered(pairs: DataFrame) -> DataFrame:
    """Add the kind of each pair. What a record stands in front of, it should stand behind of."""
    both = F.col("e").isNotNull() & F.col("t").isNotNull()
    certain = F.when(both & ~F.col("alike"), F.col("t"))
    order = Window.partitionBy("place", "e.span").orderBy("e.seq")
    before = F.last(certain, ignorenulls=True).over(
        order.rowsBetween(Window.unboundedPreceding, -1)
    )
    moved = certain.isNotNull() & (before > certain)
    kind = (
        F.when(F.col("place") == FAILED, CANNOT)
        .when(both & moved, OUT_OF_ORDER)
        .when(both, SAME)
        .when(F.col("t").isNotNull(), F.when(F.col("known"), REPEATED).otherwise(EXTRA))
        .when(F.col("e.late"), IN_FLIGHT)
        .otherwise(LOST)
    )
    return pairs.withColumn("kind", kind)
