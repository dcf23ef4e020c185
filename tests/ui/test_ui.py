"""Dagster's UI in a browser, over real clusters and a real flow: what a person sees and clicks.

``make test-ui``; with ``SCREENSHOTS=docs/pictures`` it renews the pictures of the pages.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.records import kafka_records

from replication.adapters.local.local_network import free_ports

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Locator, Page

CHROMIUM = shutil.which("chromium")
pytestmark = [
    pytest.mark.ui,
    pytest.mark.integration,
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed"),
]
PATIENCE_S = 90
RATE = 200_000  # bytes a second: a burst makes the flow late for as long as the test needs
CONFIG = """
clusters = A, B
A.bootstrap.servers = {source}
B.bootstrap.servers = {target}
A->B.enabled = true
A->B.topics = .*
replication.factor = 1
isthmus.topics.replication.factor = 1
checkpoints.topic.replication.factor = 1
heartbeats.topic.replication.factor = 1
lag.sla.seconds = 5
copy.max.bytes.per.second = {rate}
owners = team:shop
"""


class Session:
    """``isthmus run`` of a flow with the topics ``.*``, and the page of a browser."""

    def __init__(self, source: str, folder: Path, process: subprocess.Popen, port: int) -> None:
        self.source, self.folder, self.process = source, folder, process
        self.address = f"http://127.0.0.1:{port}"
        self.page: Page | None = None

    def open(self, path: str) -> Page:
        self.page.goto(f"{self.address}{path}")
        return self.page

    def write(self, topic: str, count: int = 10, size: int = 100) -> None:
        """Create ``topic`` on the source if it is not there, and write to it."""
        with contextlib.suppress(Exception):
            kafka_records.create_topic(self.source, topic)
        kafka_records.produce(
            self.source, topic, [(0, str(n).encode(), os.urandom(size)) for n in range(count)]
        )

    def state(self) -> str:
        """Return the flow's state, as the command shows it."""
        command = [sys.executable, "-m", "orchestration.cli.main", "status"]
        done = subprocess.run(
            [*command, str(self.folder / "flows.properties"), "-o", "json"],
            capture_output=True,
            check=False,
            env={**os.environ, "ISTHMUS_HOME": str(self.folder / "home")},
        )
        return json.loads(done.stdout)["flows"][0]["state"]

    def picture(self, name: str) -> None:
        """Save the page as a picture for the documentation, if pictures are wanted."""
        if folder := os.environ.get("SCREENSHOTS"):
            self.page.wait_for_timeout(1500)  # animations end
            self.page.screenshot(path=Path(folder) / f"{name}.png")


@pytest.fixture(scope="module")
def session(source_cluster, target_cluster, tmp_path_factory) -> Iterator[Session]:
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - only where there is a browser

    folder, port = tmp_path_factory.mktemp("ui"), free_ports(1)[0]
    here, there = source_cluster.bootstrap_servers, target_cluster.bootstrap_servers
    file = folder / "flows.properties"
    file.write_text(CONFIG.format(source=here, target=there, rate=RATE))
    command = [sys.executable, "-m", "orchestration.cli.main", "run", str(file)]
    with (folder / "run.log").open("wb") as log:
        process = subprocess.Popen(
            [*command, "--port", str(port)],
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, "ISTHMUS_HOME": str(folder / "home")},
        )
    found = Session(here, folder, process, port)
    try:
        found.write("orders")
        found.write("stock")
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            found.page = browser.new_page(viewport={"width": 1200, "height": 700})
            found.page.set_default_timeout(PATIENCE_S * 1000)
            until(lambda: found.state() == "RUNNING", PATIENCE_S * 2)
            yield found
            browser.close()
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30)


def until(happens: Callable[[], object], limit_s: float = PATIENCE_S) -> None:
    since = time.monotonic()
    while not happens():
        assert time.monotonic() - since < limit_s, f"not within {limit_s} s"
        time.sleep(1)


def appears(session: Session, path: str, what: Callable[[Page], Locator]) -> Locator:
    """Open a page, again and again, until it shows something."""
    from playwright.sync_api import TimeoutError as Missing  # noqa: PLC0415 - as above

    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            found = what(session.open(path)).first
            found.wait_for(timeout=8000)
        except Missing:
            if time.monotonic() > deadline:
                raise
        else:
            return found


def test_the_graph_leads_from_the_source_through_flow_and_topics_to_the_target(session):
    page = session.open("/assets/replication/A_to_B/topics?view=lineage&lineageDepth=5")
    for name in ("A", "stream", "topics", "B"):
        page.get_by_text(name, exact=True).first.wait_for()
    session.picture("dagster-lineage")


def test_the_topics_of_a_pattern_are_there_and_so_is_one_that_was_created_a_moment_ago(session):
    partitions = "/assets/replication/A_to_B/topics?view=partitions"
    appears(session, partitions, lambda page: page.get_by_text("orders", exact=True))
    session.write("created.later")
    appears(session, partitions, lambda page: page.get_by_text("created.later", exact=True))

    def what_is_told_of_it(page: Page) -> Locator:
        page.get_by_text("created.later", exact=True).first.click()
        return page.get_by_text("A.created.later", exact=True)

    # The key is there a moment before that, and a page that was opened then does not follow.
    appears(session, partitions, what_is_told_of_it)
    session.picture("dagster-topics")


def test_a_lag_breach_turns_the_check_red_and_recovery_turns_it_green(session):
    check = "/assets/replication/A_to_B/stream?view=checks&checkDetail=lag_sla"
    appears(session, check, lambda page: page.get_by_text("Passed", exact=True))
    session.write("burst", 30, RATE)
    appears(session, check, lambda page: page.get_by_text("Failed", exact=True))
    session.picture("dagster-check")
    appears(session, check, lambda page: page.get_by_text("Passed", exact=True))


def test_a_flow_is_paused_and_resumed_with_the_mouse_alone(session):
    session.open("/")
    launch(session, "pause_flow", picture="dagster-launchpad")
    session.page.get_by_text("state RUNNING -> PAUSED").first.wait_for()
    assert session.state() == "PAUSED"
    launch(session, "resume_flow")
    session.page.get_by_text("state PAUSED -> RUNNING").first.wait_for()
    assert session.state() == "RUNNING"


def launch(session: Session, job: str, picture: str = "") -> None:
    """Click from any page to a job's launchpad, choose the flow, and launch a run."""
    page = session.page
    page.get_by_role("link", name="Jobs").first.click()
    page.get_by_role("link", name=job).first.click()
    page.get_by_role("tab", name="Launchpad").or_(page.get_by_text("Launchpad")).first.click()
    page.get_by_text("No errors").wait_for()
    choose(page, "A->B")
    if picture:
        session.picture(picture)
    page.get_by_role("button", name="Launch Run").click()
    page.get_by_text("Success", exact=True).first.wait_for()


def choose(page: Page, flow: str) -> None:
    """Choose a flow in the launchpad, whose list of partitions closes when it has loaded.

    Dagster asks for the partition's tags then; a run that is launched before has no partition.
    """
    until(lambda: chosen(page, flow))
    page.get_by_text(f"partition: {flow}").first.wait_for()


def chosen(page: Page, flow: str) -> bool:
    """Open the list of partitions and choose the flow; say whether it was there for that."""
    from playwright.sync_api import TimeoutError as Missing  # noqa: PLC0415 - as above

    page.get_by_placeholder("Partition").click()
    try:
        page.get_by_text(flow, exact=True).last.click(timeout=3000)
    except Missing:
        return False
    return True
