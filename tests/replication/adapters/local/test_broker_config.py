"""How a local broker's JVM is started."""

import pytest

from replication.adapters.local.broker_config import jvm_options, new_cluster_id


@pytest.mark.parametrize(
    ("quick", "written", "used"),
    [
        pytest.param(True, True, True, id="a broker for trying things out"),
        pytest.param(True, False, False, id="before there is an archive"),
        pytest.param(False, True, False, id="a broker that is measured"),
    ],
)
def test_the_archive_of_classes_is_used_where_a_start_is_to_be_quick(
    tmp_path, quick, written, used
):
    archive = tmp_path / "kafka.jsa"
    if written:
        archive.touch()
    options = jvm_options("256m", quick=quick, archive=archive)
    assert (f"-XX:SharedArchiveFile={archive}" in options) == used
    assert ("-XX:ArchiveRelocationMode=0" in options) == used


def test_no_cluster_id_looks_like_an_option():
    assert not any(new_cluster_id().startswith("-") for _ in range(500))
