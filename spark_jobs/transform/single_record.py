"""What SQL makes of a single record, or why it fails on it: for reasons, and for previews."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark.errors import PySparkException

from replication.errors import ReplicationError
from replication.transforms.transformed_record import PoisonRecord
from spark_jobs.transform.columns.avro_documents import NotAvro, documents_of
from spark_jobs.transform.columns.sql_rows import avro_sides, rows_of
from spark_jobs.transform.sql_errors import is_about_data, sql_reason
from spark_jobs.transform.task.sql_results import take_results

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spark_jobs.transform.columns.decoded_records import DecodedRecords
    from spark_jobs.transform.sql_plan import SqlPlan
    from spark_jobs.transform.task.range_outcome import RangeOutcome


def transform_by_sql(
    spark: SparkSession, plan: SqlPlan, outcome: RangeOutcome, record: DecodedRecords
) -> None:
    """Transform one record of a range; a poison record has Spark's reason.

    Raises ReplicationError for what is not about the record.
    """
    documents, sides = documents_of(outcome.slot.clusters.registry), avro_sides(plan.transform)
    seen = record.seen(outcome.work.source, plan.inputs)
    try:
        for side in sides:
            documents.document(side, seen.column(side)[0].as_py())
        given = pa.Table.from_batches([rows_of(np.zeros(1, np.int64), seen, sides, documents)])
        rows = plan.results(spark.createDataFrame(given), raises=True).toArrow()
    except NotAvro as problem:
        outcome.poison(PoisonRecord(record.singles()[0], str(problem)))
        return
    except PySparkException as error:
        if not is_about_data(error):
            raise ReplicationError(f"Spark: {sql_reason(error)}") from None
        outcome.poison(PoisonRecord(record.singles()[0], sql_reason(error)))
        return
    take_results(outcome, record.encoded, _one_batch(rows))


def _one_batch(rows: pa.Table) -> pa.RecordBatch:
    found = rows.combine_chunks().to_batches()
    return found[0] if found else pa.RecordBatch.from_pylist([], schema=rows.schema)
