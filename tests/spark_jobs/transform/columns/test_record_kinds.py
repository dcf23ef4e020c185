"""Records of one kind: SQL is given the first of them, and its result counts for all."""

from __future__ import annotations

from contextlib import closing

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from support.records.decoded_records import records_of

from spark_jobs.transform.columns.record_columns import END, FAILED, MEMORY, REASON_BIT, ROW
from spark_jobs.transform.columns.record_kinds import kinds_of, repeated_kinds
from spark_jobs.transform.task.shared_records import SharedRecords
from spark_jobs.transform.task.sql_stream import SqlStream
from spark_jobs.transform.task.sql_tasks import given_to_sql

content = st.sampled_from((None, b"", b"a", b"bc"))
headers = st.lists(st.tuples(st.sampled_from(("n", "origin")), content), max_size=2)
records = st.lists(st.tuples(st.integers(-1, 3), content, content, headers), max_size=30)
names = st.sampled_from(((), ("headers",), ("key",), ("headers", "key")))
_NUMBER = (1 << REASON_BIT) - 1


def contents(found, columns):
    listed = {name: found.columns([name])[name].to_pylist() for name in columns}
    return [tuple(repr(listed[name][n]) for name in columns) for n in range(len(found))]


@given(records, names)
def test_records_are_of_one_kind_if_they_are_the_same_in_what_they_are_told_apart_by(listed, by):
    found = records_of(listed)
    every = np.arange(len(found))
    kinds = kinds_of(len(found), [found.encoded.part(each, every) for each in by])
    seen = contents(found, by)
    assert kinds.firsts.tolist() == [seen.index(each) for each in dict.fromkeys(seen)]
    assert kinds.firsts[kinds.of].tolist() == [seen.index(each) for each in seen]


def test_kinds_are_not_looked_for_where_the_first_records_hardly_repeat():
    listed = [(n, b"%d" % n, b"v", [("trace", b"%d" % (n // 2))]) for n in range(2000)]
    encoded = records_of(listed).encoded
    assert repeated_kinds(encoded, ["key"]) is None
    found = repeated_kinds(encoded, ["headers"])
    assert found is not None
    assert found.firsts.tolist() == list(range(0, 2000, 2))


def sql(numbers, seen, *, fails):
    """Stand for SQL: drop what has no key, fail on some, and route the rest by headers."""
    codes, routes = [], []
    for number, (key, listed) in zip(numbers, seen, strict=True):
        if key == "None":
            continue
        codes.append(number + (FAILED if fails and key == "b'a'" else 0))
        routes.append([listed] if "origin" in listed else None)
    columns = {ROW: pa.array(codes, pa.int64()), "routes": pa.array(routes, pa.list_(pa.string()))}
    return pa.RecordBatch.from_pydict(columns)


@given(st.lists(records.filter(bool), min_size=1, max_size=3), st.booleans(), st.integers(1, 9))
def test_all_records_get_the_result_of_the_first_one_of_their_kind(lists, fails, size):
    """What comes of kinds is what comes of each record by itself, in the same order."""
    found = []
    for by_kind in (True, False):
        shared, made = SharedRecords(), []
        for listed in lists:
            decoded = records_of(listed)
            every = np.arange(len(decoded))
            parts = [decoded.encoded.part(each, every) for each in ("headers", "key")]
            kinds = kinds_of(len(decoded), parts) if by_kind else None
            first = shared.add(0, decoded.encoded, kinds)
            places = every if kinds is None else kinds.firsts
            seen = contents(decoded.at(places), ("key", "headers"))
            made.append(sql((first + places).tolist(), seen, fails=fails))
        whole = pa.concat_batches(made)
        begin, end = (
            pa.RecordBatch.from_pylist([{ROW: each, "routes": None}], schema=whole.schema)
            for each in (MEMORY + shared.place, END + shared.count)
        )
        parts = [whole.slice(at, size) for at in range(0, whole.num_rows, size)]
        with closing(SqlStream()) as stream:
            taken = list(stream.chunks([begin, *parts, end]))
        assert stream.is_whole
        shared.close()
        found.append([(each.first, rows.to_pydict()) for each, rows in taken])
        assert [each.end for each, _ in taken] == np.cumsum([len(each) for each in lists]).tolist()
    assert found[0] == found[1]


def test_numbers_stay_those_of_the_records_with_the_reason_above_them():
    shared = SharedRecords()
    listed = [(n, b"k", b"v", [("n", b"%d" % (n % 2))]) for n in range(5)]
    encoded = records_of(listed).encoded
    shared.add(0, encoded)
    shared.add(0, encoded, repeated_kinds(encoded, ["headers"]))
    coded = pa.array([MEMORY + shared.place, 0, 5, 6 + FAILED, END + shared.count], pa.int64())
    with closing(SqlStream()) as stream:
        _, (_, rows) = list(stream.chunks([pa.RecordBatch.from_pydict({ROW: coded})]))
    shared.close()
    assert rows.column(0).to_pylist() == [5, 6 + FAILED, 7, 8 + FAILED, 9]


def test_sql_is_given_the_others_of_a_poison_record_s_kind():
    listed = records_of([(n, b"k", b"v", [("n", b"%d" % (n % 2))]) for n in range(5)], 10)
    kinds, places = given_to_sql(listed, ["headers"], {10: "why", 13: "why"})
    assert (kinds, places.tolist()) == (None, [1, 2, 4])
    kinds, places = given_to_sql(listed, ["headers"], {})
    assert kinds is not None
    assert places.tolist() == [0, 1]
    assert given_to_sql(listed, None, {})[1].tolist() == [0, 1, 2, 3, 4]
