"""What is installed: each package with its hashes, and listed in the bill of materials."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PIN = re.compile(r"^([\w.-]+)(?:\[[^]]*\])?==([^ ;\\]+)(.*(?:\n    .*)*)", re.MULTILINE)


def pins(lock: Path) -> list[tuple[str, str, str]]:
    """Return name, version and the rest of each pin."""
    found = PIN.findall(lock.read_text())
    assert found
    return found


@pytest.mark.parametrize("lock", ["requirements.lock", "deploy/requirements.lock"])
def test_each_pin_has_hashes(lock):
    assert [name for name, _, rest in pins(ROOT / lock) if "--hash=sha256:" not in rest] == []


@pytest.mark.parametrize("lock", ["requirements.lock", "deploy/requirements.lock"])
def test_nothing_that_is_installed_needs_a_compiler(lock):
    """The image has none. One file means one for every machine: a wheel, or else the sources."""
    alone = [name for name, _, rest in pins(ROOT / lock) if rest.count("--hash=") == 1]
    assert alone == ["certifi", "pyspark"], "both are Python alone"
    for recipe in ("Makefile", "deploy/Containerfile"):
        assert "--require-hashes --no-deps -r requirements.lock" in (ROOT / recipe).read_text()


def test_the_bill_of_materials_lists_each_pin_with_its_hashes(tmp_path):
    made = tmp_path / "sbom.json"
    recipe = (ROOT / "Makefile").read_text().partition("\nsbom:")[2].partition("\n\n")[0]
    some = tmp_path / "requirements.lock"  # all of them take a quarter of a minute
    first = pins(ROOT / some.name)[:12]
    some.write_text("".join(f"{name}=={version}{rest}\n" for name, version, rest in first))
    words = recipe.split("-m ")[1].replace("\\", "").split()
    words = [{"dist/sbom.json": str(made), some.name: str(some)}.get(e, e) for e in words]
    subprocess.run([sys.executable, "-W", "ignore", "-m", *words], cwd=ROOT, check=True)
    content = json.loads(made.read_text())
    assert content["bomFormat"] == "CycloneDX"
    assert len(content["components"]) == len(first)
    listed = {(each["name"], each["version"]): each for each in content["components"]}
    for name, version, rest in pins(some):
        written = json.dumps(listed[name, version]["externalReferences"])
        assert all(digest in written for digest in re.findall(r"sha256:(\w+)", rest))
