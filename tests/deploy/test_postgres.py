"""Dagster's history in Debian's Postgres, by the instance file that Isthmus writes.

Needs the package postgresql, so ``make test-deploy`` runs it, and ``make test`` does not.
"""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

import dagster as dg
import psycopg2
import pytest

from orchestration.services.instance import POSTGRES_VARIABLE, postgres_url, write_instance
from orchestration.services.state_directory import StateDirectory
from replication.adapters.local.local_network import free_ports

pytestmark = [pytest.mark.integration, pytest.mark.debian]


@dg.op
def says(context):
    context.log.info("something")


@dg.job(executor_def=dg.in_process_executor)
def first():
    says()


def programs() -> Path:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    assert found, "install Debian's package postgresql"
    return found[-1].parent


def as_postgres(*words: object) -> None:
    """Run one of its programs; it refuses to run as root."""
    user = {"user": "postgres"} if os.geteuid() == 0 else {}
    subprocess.run([str(each) for each in words], check=True, stdout=subprocess.DEVNULL, **user)


@pytest.fixture
def url():
    """Start a server of its own on a free port; yield its address."""
    directory, port = Path(tempfile.mkdtemp(prefix="isthmus-postgres-")), free_ports(1)[0]
    if os.geteuid() == 0:
        os.chown(directory, pwd.getpwnam("postgres").pw_uid, -1)
    tools, data = programs(), directory / "data"
    as_postgres(tools / "initdb", "-D", data, "-A", "trust", "-U", "dagster", "--no-sync")
    options = f"-p {port} -c listen_addresses=127.0.0.1 -k {directory} -F"
    control = (tools / "pg_ctl", "-D", data, "-s", "-w", "-l", directory / "log")
    try:
        as_postgres(*control, "-o", options, "start")
        as_postgres(tools / "createdb", "-h", "127.0.0.1", "-p", port, "-U", "dagster", "dagster")
        yield f"postgresql://dagster@127.0.0.1:{port}/dagster"
    finally:
        as_postgres(*control, "-m", "immediate", "stop")
        shutil.rmtree(directory)
    with socket.socket() as gone:
        assert gone.connect_ex(("127.0.0.1", port)) != 0


def test_runs_and_their_events_are_in_postgres_and_in_no_file(tmp_path, url, monkeypatch):
    where = StateDirectory(tmp_path)
    monkeypatch.setenv(POSTGRES_VARIABLE, url)
    write_instance(where, 4000)
    monkeypatch.setenv(POSTGRES_VARIABLE, postgres_url())  # as its services get it
    with dg.DagsterInstance.from_config(str(where.dagster)) as instance:
        done = first.execute_in_process(instance=instance)
        assert [each.run_id for each in instance.get_runs()] == [done.run_id]
    with psycopg2.connect(url) as connection, connection.cursor() as rows:
        rows.execute("select run_id, status from runs")
        assert rows.fetchall() == [(done.run_id, "SUCCESS")]
        rows.execute("select count(*) from event_logs where event like '%%something%%'")
        assert rows.fetchone() == (1,)
    connection.close()
    assert list(tmp_path.rglob("*.db")) == []
    with dg.DagsterInstance.from_config(str(where.dagster)) as again:
        assert [each.run_id for each in again.get_runs()] == [done.run_id]
