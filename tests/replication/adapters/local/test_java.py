"""Which Java is used, and the message if there is none."""

from __future__ import annotations

import pytest

from replication.adapters.local import java
from replication.errors import EnvironmentProblem

DIES_ONCE = """#!/bin/sh
if [ ! -e {mark} ]; then touch {mark}; kill -9 $$; fi
echo 'openjdk version "17.0.9" 2023-10-17' >&2
"""


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """Put a script in the place of ``java``."""

    def install(script: str) -> None:
        (tmp_path / "bin").mkdir()
        file = tmp_path / "bin" / "java"
        file.write_text(script)
        file.chmod(0o755)
        monkeypatch.setenv("JAVA_HOME", str(tmp_path))
        java.java.cache_clear()

    yield install
    java.java.cache_clear()


def test_a_java_that_is_killed_while_it_tells_its_version_is_asked_again(fake, tmp_path):
    fake(DIES_ONCE.format(mark=tmp_path / "mark"))
    assert java.java() == tmp_path / "bin" / "java"


def test_a_java_that_is_always_killed_is_one_message(fake):
    fake("#!/bin/sh\nkill -9 $$\n")
    with pytest.raises(EnvironmentProblem, match="it was killed 3 times"):
        java.java()
