"""The files of deploy/ pass their formats' own checks, and name what exists."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main
import yaml
from click.testing import CliRunner

from orchestration.cli.main import app
from replication.config.file.providers import resolve_all
from replication.config.load import load_config

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
MANIFESTS = sorted((DEPLOY / "kubernetes").glob("*.yaml"))
UNIT = DEPLOY / "systemd" / "isthmus.service"


def read(path: str) -> dict:
    return yaml.safe_load((DEPLOY / path).read_text())


def pod() -> dict:
    return read("kubernetes/stateful-set.yaml")["spec"]["template"]["spec"]


def container_commands() -> dict[str, list[str]]:
    """Return the arguments of ``isthmus`` wherever one of the files starts it."""
    text = (DEPLOY / "Containerfile").read_text()
    (start,) = re.findall(r"^ExecStart=(.*)$", UNIT.read_text(), re.MULTILINE)
    return {
        "container": json.loads(re.search(r"^CMD (.*)$", text, re.MULTILINE)[1]),
        "systemd": shlex.split(start)[1:],
        "kubernetes": pod()["containers"][0]["args"],
    }


def test_the_container_file_passes_hadolint():
    tool = Path(sys.executable).with_name("hadolint")
    done = subprocess.run(
        [tool, DEPLOY / "Containerfile"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "")


@pytest.fixture
def _without_iris(monkeypatch):
    """Spare jsonschema a grammar of IRIs, which takes a second and which no schema here needs."""
    monkeypatch.setitem(sys.modules, "rfc3987_syntax", None)


@pytest.mark.usefixtures("_without_iris")
def test_the_compose_file_keeps_to_its_schema():
    from check_jsonschema.cli import main  # noqa: PLC0415 - it imports jsonschema

    file = DEPLOY / "compose" / "compose.yaml"
    done = CliRunner().invoke(main, ["--builtin-schema", "vendor.compose-spec", str(file)])
    assert done.exit_code == 0, done.output


@pytest.mark.usefixtures("_without_iris")
@pytest.mark.parametrize(
    "manifest", [each for each in MANIFESTS if each.stem != "kustomization"], ids=lambda p: p.stem
)
def test_a_manifest_keeps_to_kubernetes_schema(manifest):
    import kubernetes_validate  # noqa: PLC0415 - it imports jsonschema

    kubernetes_validate.validate(yaml.safe_load(manifest.read_text()), "1.37", strict=True)


def test_the_kustomization_names_every_manifest():
    listed = read("kubernetes/kustomization.yaml")["resources"]
    assert sorted([*listed, "kustomization.yaml"]) == [each.name for each in MANIFESTS]


@pytest.mark.parametrize(("place", "words"), container_commands().items())
def test_the_command_that_is_started_exists(place, words):
    group = typer.main.get_command(app)
    verb, *arguments = words
    context = typer.Context(group, info_name="isthmus")
    _, command, rest = group.resolve_command(context, [verb, *arguments])
    parsed = command.make_context(verb, rest, parent=context)
    assert str(parsed.params["file"]).endswith("mm2.properties"), place


def test_the_sample_of_kubernetes_is_a_good_file_also_with_its_commented_lines(tmp_path):
    text = (DEPLOY / "kubernetes" / "mm2.properties").read_text()
    for name, value in {"east-password": "one", "east-truststore-password": "two"}.items():
        (tmp_path / name).write_text(value)
    secured = re.sub(r"^#(?=\S)", "", text, flags=re.MULTILINE)
    (tmp_path / "east.truststore.p12").touch()
    file = tmp_path / "mm2.properties"
    file.write_text(secured.replace("/etc/isthmus/secrets", str(tmp_path)))
    assert secured.count("\n") == text.count("\n")
    config = load_config(file).config
    assert config.warnings == ()
    east = resolve_all(config.clusters["east"].client)
    assert 'password="one"' in east["sasl.jaas.config"]
    assert east["ssl.truststore.password"] == "two"
    assert config.metrics.port in {
        each["containerPort"] for each in pod()["containers"][0]["ports"]
    }


def test_mounted_files_stand_where_the_arguments_look_for_them():
    mounts = {each["name"]: each["mountPath"] for each in pod()["containers"][0]["volumeMounts"]}
    assert container_commands()["kubernetes"][1] == f"{mounts['config']}/mm2.properties"
    compose = read("compose/compose.yaml")["services"]["isthmus"]["volumes"]
    assert f"./mm2.properties:{container_commands()['container'][1]}:ro" in compose


def test_all_of_them_run_without_rights_and_as_one_pod():
    assert pod()["securityContext"]["runAsNonRoot"] is True
    assert read("kubernetes/stateful-set.yaml")["spec"]["replicas"] == 1
    text = (DEPLOY / "Containerfile").read_text()
    (user,) = re.findall(r"^USER (\d+)$", text, re.MULTILINE)
    assert int(user) == pod()["securityContext"]["runAsUser"]
    assert "NoNewPrivileges=true" in UNIT.read_text()
