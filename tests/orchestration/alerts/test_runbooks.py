"""Each alert links to a section that is there."""

import re
from pathlib import Path

from orchestration.alerts.runbooks import runbook, sections

PAGE = (Path(__file__).parents[3] / "docs" / "runbooks.md").read_text()


def test_every_section_that_alerts_link_to_is_on_the_page():
    headings = re.findall(r"^## (.+)$", PAGE, re.MULTILINE)
    anchors = {each.lower().replace(" ", "-") for each in headings}
    assert sections() == anchors


def test_the_first_name_that_has_a_runbook_decides():
    assert runbook("RUNNING", "lag_sla").section == "a-flow-is-behind"
    assert runbook("DEAD", "lag_sla").section == "a-driver-is-dead"
    assert runbook("RUNNING").section == "something-else"


def test_what_to_do_about_one_flow_names_it():
    wrong = runbook("WRONG_CLUSTER")
    assert wrong.to_do(("east->west",)).endswith("`isthmus resolve FILE accept --flow east:west`")
    assert wrong.to_do(("A->B", "C->B")) == wrong.action
