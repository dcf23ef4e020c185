"""Each public class of the product has a name of its own, so that a name means one thing."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("replication", "spark_jobs", "orchestration", "chaos", "bench", "mutation")


def classes() -> dict[str, list[str]]:
    """Return the files of each public class."""
    found = defaultdict(list)
    for file in sorted(each for folder in FOLDERS for each in (ROOT / folder).rglob("*.py")):
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(str(file.relative_to(ROOT)))
    return found


def test_no_two_public_classes_have_the_same_name():
    assert {name: files for name, files in classes().items() if len(files) > 1} == {}
