"""The Python function of a transformed topic; its tasks load this file by its path."""

import pyarrow as pa
import pyarrow.compute as pc


def mask(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Leave only the last four bytes of a value, and no tombstones."""
    kept = batch.filter(batch.column("value").is_valid())
    hidden = pa.array([b"****"] * len(kept), pa.binary())
    ends = pc.binary_slice(kept.column("value"), -4)
    value = pc.binary_join_element_wise(hidden, ends, b"")
    return kept.set_column(kept.schema.get_field_index("value"), "value", value)
