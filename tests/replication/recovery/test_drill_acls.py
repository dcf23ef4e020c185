"""Which ACLs drills require beside those of the flows."""

from __future__ import annotations

from replication.config.load import load_config
from replication.planning.required_acls import needed
from replication.recovery.drill_acls import needed_with_drills

FILE = """\
clusters = A, B
A.bootstrap.servers = a:9092
B.bootstrap.servers = b:9092
A->B.enabled = true
A->B.topics = orders
"""


def a_config(folder, more=""):
    file = folder / "mm2.properties"
    file.write_text(FILE + more)
    return load_config(file).config


def rights(config, **options):
    found = {}
    for each in needed_with_drills(config, **options):
        found.setdefault(f"{each.cluster}: {each.resource}", set()).update(each.operations)
    return found


def test_a_file_without_drills_needs_none_of_their_rights(tmp_path):
    config = a_config(tmp_path)
    assert needed_with_drills(config) == needed(config)


def test_a_drill_may_make_and_delete_what_is_its_own_on_both_clusters(tmp_path):
    config = a_config(tmp_path)
    found = rights(config, drills=True)
    flow = {f"{each.cluster}: {each.resource}" for each in needed(config)}
    assert set(found) > flow
    own = {"READ", "WRITE", "CREATE", "DELETE", "DESCRIBE_CONFIGS"}
    for cluster, alias in (("A", "A-to-B-drill-target"), ("B", "A-to-B-drill-source")):
        assert found[f"{cluster}: topic isthmus-drill.A-to-B.internal"] == own
        assert found[f"{cluster}: topic isthmus-status.{alias}.internal"] == own
        assert found[f"{cluster}: group __isthmus-drill.A-to-B"] >= {"READ", "DELETE"}
    assert "DELETE" not in {right for name in flow for right in found[name]}


def test_a_flow_with_a_schedule_for_drills_always_has_them(tmp_path):
    config = a_config(tmp_path, "A->B.drill.schedule = 0 3 * * sun\n")
    assert rights(config) == rights(config, drills=True)
    assert needed_with_drills(config) != needed(config)
