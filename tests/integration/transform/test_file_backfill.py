"""History from files between real clusters: each record once, in order, up to the stream."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.flows.command import run_command
from support.flows.copier_flows import Flow
from support.flows.spark_driver import REPOSITORY, wait_for
from support.flows.state_reader import StateReader
from support.network.s3_files import BUCKET, S3Files
from support.records import kafka_records

from orchestration.backfill import file_backfill
from orchestration.backfill.backfill import Backfill
from orchestration.backfill.file_backfill import FileBackfill
from orchestration.backfill.file_plan import file_lines
from orchestration.services.state_directory import StateDirectory
from replication.adapters.admin.kafka_admin import KafkaAdmin
from replication.adapters.local.kafka_jars import cache
from replication.config.backfill_file import Budget
from replication.config.load import load_config
from replication.errors import ReplicationError
from replication.model import PartitionPlan
from replication.state import PRODUCERS_TOPIC, Anchor, anchors_topic
from replication.state.backfill_names import BackfillNames
from spark_jobs.export.record_reader import ExportedRecord, json_line
from spark_jobs.history import file_backfill as job
from spark_jobs.history.file_records import records_at

pytestmark = pytest.mark.integration
SDK = "software.amazon.awssdk"
S3_PACKAGES = {  # as in docs/backfill.md
    "jars.packages": (
        f"org.apache.hadoop:hadoop-aws:3.5.0,{SDK}:s3:2.35.4,{SDK}:s3-transfer-manager:2.35.4,"
        f"{SDK}:sts:2.35.4"
    ),
    "jars.excludes": f"{SDK}:bundle",
}
LIVE, BEGUN = 500, 300  # records of a partition, and where the stream began


@pytest.fixture
def flow(source_cluster, target_cluster, topic_name):
    """A stream that began to copy a topic of two partitions at offset 300."""
    made = Flow(source_cluster, target_cluster, {topic_name(): 2})
    _forget_copies(made.here)
    for cluster in (made.here, made.to):
        kafka_records.create_topic(cluster, topic(made), 2)
    return made


def _forget_copies(bootstrap: str) -> None:
    """Delete what other tests' flows into the source have left: its topics may hold copies then."""
    if PRODUCERS_TOPIC in KafkaAdmin({"bootstrap.servers": bootstrap}).topic_names():
        kafka_records.delete_topics(bootstrap, PRODUCERS_TOPIC)


def topic(flow) -> str:
    return next(iter(flow.topics))


def config_of(flow, folder):
    file = folder / "flow.properties"
    file.write_text(
        f"clusters = {flow.alias}, B\n{flow.alias}.bootstrap.servers = {flow.here}\n"
        f"B.bootstrap.servers = {flow.to}\n{flow.name}.enabled = true\n"
        f"{flow.name}.topics = {topic(flow)}\nreplication.factor = 1\n"
        "replication.policy.class = org.apache.kafka.connect.mirror.IdentityReplicationPolicy\n"
        "heartbeats.replication.enabled = false\n"
    )
    return load_config(file).config


def streamed(flow) -> list:
    """Produce, and copy from where the stream began; return the source's records."""
    records = [
        (
            n % 2,
            b"k%d" % n,
            None if n % 7 == 0 else b"v%d" % n,
            [("h", b"\xff"), ("i", None)],
            1000 + n,
        )
        for n in range(2 * LIVE)
    ]
    kafka_records.produce(flow.here, topic(flow), records)
    plans = tuple(PartitionPlan(each, each, start=BEGUN) for each in flow.partitions)
    with flow.copying(flow.spec(partitions=plans)):
        flow.wait_copied()
    return kafka_records.consume_all(flow.here, topic(flow))


def as_files(flow, records, folder, bounds) -> None:
    """Write Parquet files of records with offsets in each of ``bounds``."""
    folder.mkdir()
    for number, (first, end) in enumerate(bounds):
        rows = [
            {"topic": topic(flow), "partition": each.partition, "offset": each.offset,
             "timestamp": each.timestamp, "key": each.key, "value": each.value,
             "headers": [{"name": name, "value": value} for name, value in each.headers]}
            for each in reversed(records)
            if first <= each.offset < end
        ]  # fmt: skip
        pq.write_table(pa.Table.from_pylist(rows), folder / f"part-{number}.parquet")


def appended(flow, folder, path, spark, monkeypatch, *, dry_run=False):
    """Run the backfill in this process; return what was said of the plan, and the result."""
    config, output = config_of(flow, folder), []

    def run(_, request, reported, __):
        monkeypatch.setattr(job, "report", lambda what: reported(json.dumps(what)))
        job._run(spark, config, request)

    monkeypatch.setattr(file_backfill, "run_job", run)
    backfill = Backfill(
        config.flows[0], config, StateDirectory(folder / "home"), Budget(1, 1 << 29)
    )
    found = FileBackfill(backfill, str(path)).run(
        re.compile(".*"), lambda parts: output.extend(file_lines(parts, "A->B")), lambda _: None,
        dry_run=dry_run,
    )  # fmt: skip
    return output, found


def test_history_stands_once_and_in_order_behind_the_stream(flow, tmp_path, spark, monkeypatch):
    """Files overlap, are not in order, and have records of the stream."""
    records = streamed(flow)
    before = kafka_records.consume_all(flow.to, topic(flow))
    as_files(flow, records, tmp_path / "files", [(100, 250), (0, 150), (200, 400)])
    say = (tmp_path / "files", spark, monkeypatch)
    lines, found = appended(flow, tmp_path, *say, dry_run=True)
    assert found is None
    assert f"{topic(flow)}-0 -> {topic(flow)}-0: 300 records, offsets 0 to 399" in lines[0]
    left_out = "100 from offset 300 on are left out: the flow copies them"
    assert f"{left_out}; 100 are there more than once" in lines[0]
    assert kafka_records.consume_all(flow.to, topic(flow)) == before

    _, found = appended(flow, tmp_path, *say)
    assert found.records == 2 * BEGUN
    copy = kafka_records.consume_all(flow.to, topic(flow), "read_committed")
    for number in range(2):
        ours = [each.content for each in records if each.partition == number]
        theirs = [each.content for each in copy if each.partition == number]
        assert theirs == [*ours[BEGUN:], *ours[:BEGUN]]

    lines, found = appended(flow, tmp_path, *say)
    assert found.records == 0
    assert all("all are appended" in each for each in lines)
    assert kafka_records.consume_all(flow.to, topic(flow), "read_committed") == copy
    compared = run_command("compare", tmp_path / "flow.properties")
    assert compared.code == 0, compared


def test_lines_of_json_are_appended_too_and_what_no_file_has_is_named(
    flow, tmp_path, spark, monkeypatch
):
    records = streamed(flow)
    (tmp_path / "json").mkdir()
    lines = [
        json_line(
            ExportedRecord(
                topic(flow), e.partition, e.offset, e.timestamp, e.key, e.value, e.headers
            )
        )
        for e in records
        if e.offset < 200 and e.partition == 0
    ]
    (tmp_path / "json" / "part.txt").write_text("\n".join(lines) + "\n")
    output, found = appended(flow, tmp_path, tmp_path / "json", spark, monkeypatch)
    assert found.records == 200
    assert "no file has offsets 200 to 299; if the source has them: isthmus backfill" in output[0]
    copy = kafka_records.consume_all(flow.to, topic(flow), "read_committed")
    ours = [each.content for each in records if each.partition == 0]
    assert [each.content for each in copy if each.partition == 0] == [*ours[BEGUN:], *ours[:200]]

    (tmp_path / "json" / "bad.txt").write_text('{"partition": 0}\n')
    with pytest.raises(
        ReplicationError, match=r"bad\.txt: a line is not a record: offset is not a whole"
    ):
        appended(flow, tmp_path, tmp_path / "json", spark, monkeypatch)
    with pytest.raises(ReplicationError, match="does not exist"):
        appended(flow, tmp_path, tmp_path / "home", spark, monkeypatch)


@pytest.mark.parametrize("scheme", ["s3a", "foo"])
def test_a_place_whose_file_system_is_missing_is_one_line_that_says_what_to_set(spark, scheme):
    path = f"{scheme}://archive/orders"
    with pytest.raises(ReplicationError) as refused:
        records_at(spark, path, None)
    assert str(refused.value) == (
        f"reading {path}: Spark has no file system for {scheme}:// here: name its package in "
        "spark.conf.spark.jars.packages (docs/backfill.md; S3 is s3a://)"
    )


def test_files_in_s3_are_appended_and_what_s3_refuses_is_one_line(flow, tmp_path):
    """The command, with packages that Spark fetches; the store is a server of our own."""
    records = streamed(flow)
    as_files(flow, records, tmp_path / "orders", [(0, 150), (150, 300)])
    file = config_of(flow, tmp_path).path
    flows = ("--flow", f"{flow.alias}:B")
    with S3Files(tmp_path) as store:
        settings = {**S3_PACKAGES, **store.settings, "jars.ivy": cache() / "ivy-spark"}
        lines = [f"spark.conf.spark.{name} = {value}\n" for name, value in settings.items()]
        Path(file).write_text(Path(file).read_text() + "".join(lines))
        done = run_command("backfill", file, *flows, "--from-files", f"s3a://{BUCKET}/orders")
        assert done.code == 0, done
        refused = run_command("backfill", file, *flows, "--from-files", "s3a://other/orders")
    assert ("GET", "orders/part-1.parquet") in store.asked
    copy = kafka_records.consume_all(flow.to, topic(flow), "read_committed")
    for number in range(2):
        ours = [each.content for each in records if each.partition == number]
        theirs = [each.content for each in copy if each.partition == number]
        assert theirs == [*ours[BEGUN:], *ours[:BEGUN]]
    assert refused.code == 1
    assert "reading s3a://other/orders: (Service: S3, Status Code: 403" in refused.lines[-1]


def test_what_was_killed_goes_on_where_it_was(flow, tmp_path, spark, monkeypatch):
    """The command's job is killed, not its JVM and workers: they may go on to write."""
    count, config = 60_000, config_of(flow, tmp_path)
    rows = {"partition": [0] * count, "offset": [*range(count)], "timestamp": [1] * count,
            "value": [b"%d" % n for n in range(count)]}  # fmt: skip
    (tmp_path / "files").mkdir()
    pq.write_table(pa.Table.from_pydict(rows), tmp_path / "files" / "a.parquet")
    request = {
        "config": str(config.path), "flow": flow.name, "path": str(tmp_path / "files"),
        "topic": topic(flow), "parts": [[topic(flow), 0, topic(flow), count]],
        "bytes_per_second": 40_000, "dry_run": False,  # a commit each 4 s
    }  # fmt: skip
    (tmp_path / "request.json").write_text(json.dumps(request))
    killed = subprocess.Popen(
        [sys.executable, "-m", "spark_jobs.history.file_backfill", str(tmp_path / "request.json")],
        cwd=REPOSITORY, stdout=subprocess.DEVNULL, start_new_session=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},  # what it leaves goes with the test
    )  # fmt: skip
    names = BackfillNames.of_files(flow.alias, "B")

    anchors = StateReader(flow.store, anchors_topic(names.source_alias))

    def position() -> int:
        found = anchors.read().values()
        return sum(each.records for each in found if isinstance(each, Anchor))

    try:
        wait_for(position)
        os.kill(killed.pid, signal.SIGKILL)
        killed.wait()
        killed_at = time.monotonic()
        assert 0 < position() < count
        monkeypatch.setattr(job, "report", lambda _: None)
        job._run(spark, config, {**request, "bytes_per_second": 0})
        # What is left of the first one tries to write, at the latest when its pause is over.
        time.sleep(max(1.0, killed_at + 5 - time.monotonic()))
    finally:
        anchors.close()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(killed.pid, signal.SIGKILL)
    copy = kafka_records.consume_all(flow.to, topic(flow), "read_committed")
    assert [each.value for each in copy] == rows["value"]
