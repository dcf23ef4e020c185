"""Which settings of a file reach the units."""

from __future__ import annotations

import pytest

from replication.config.load import load_config
from replication.provenance.routes import Routes
from spark_jobs.planning.unit_template import template

FILE = """
clusters = A, B
A.bootstrap.servers = a:1
B.bootstrap.servers = b:1
A->B.enabled = true
"""


@pytest.mark.parametrize("scope", ["A.", "A->B.", "A->B.source.", ""])
def test_bl_060_bl_066_each_of_mirrormakers_names_sets_where_to_start_and_the_isolation(
    tmp_path, scope
):
    more = f"{scope}consumer.auto.offset.reset = latest\n"
    more += f"{scope}consumer.isolation.level = read_uncommitted\n"
    file = tmp_path / "f.properties"
    file.write_text(FILE + more)
    config = load_config(file).config
    unit = template(config.flow("A->B"), 1, Routes.of(config.flows, config.clusters))
    assert (unit.copying.start, unit.copying.isolation) == ("latest", "read_uncommitted")


def test_bl_115_a_flow_is_spread_over_as_many_units_as_tasks_max_says(tmp_path):
    file = tmp_path / "f.properties"
    file.write_text(FILE + "tasks.max = 4\nA->B.tasks.max = 12\n")
    assert load_config(file).config.flow("A->B").copying.units == 12
