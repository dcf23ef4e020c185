"""The files of deploy/ pass their formats' own checks, and name what exists."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path
from shutil import which

import pytest
import typer.main
import yaml
from click.testing import CliRunner

from orchestration.cli.main import app
from orchestration.services.instance import POSTGRES_VARIABLE
from orchestration.services.state_directory import HOME_VARIABLE
from replication.config.file.providers import resolve_all
from replication.config.load import load_config

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
MANIFESTS = sorted((DEPLOY / "kubernetes").glob("*.yaml"))
EXECUTORS = sorted((DEPLOY / "kubernetes-executors").glob("*.yaml"))
NO_MANIFESTS = {"kustomization", "stateful-set-patch"}
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
    "manifest",
    [each for each in (*MANIFESTS, *EXECUTORS) if each.stem not in NO_MANIFESTS],
    ids=lambda p: p.stem,
)
def test_a_manifest_keeps_to_kubernetes_schema(manifest):
    import kubernetes_validate  # noqa: PLC0415 - it imports jsonschema

    kubernetes_validate.validate(yaml.safe_load(manifest.read_text()), "1.37", strict=True)


def test_the_kustomization_names_every_manifest():
    listed = read("kubernetes/kustomization.yaml")["resources"]
    assert sorted([*listed, "kustomization.yaml"]) == [each.name for each in MANIFESTS]


def test_the_overlay_names_every_manifest_and_patches_what_is_there():
    overlay = read("kubernetes-executors/kustomization.yaml")
    (generated,) = overlay["configMapGenerator"]
    (base,) = read("kubernetes/kustomization.yaml")["configMapGenerator"]
    named = {*overlay["resources"], *generated["files"], *(e["path"] for e in overlay["patches"])}
    named -= {"../kubernetes"}
    there = {each.name for each in (DEPLOY / "kubernetes-executors").iterdir()}
    assert named == there - {"kustomization.yaml"}
    assert (generated["name"], generated["behavior"]) == (base["name"], "replace")
    patch, patched = (
        read(f"{place}.yaml")
        for place in ("kubernetes-executors/stateful-set-patch", "kubernetes/stateful-set")
    )
    assert (patch["kind"], patch["metadata"]["name"]) == (
        patched["kind"], patched["metadata"]["name"],
    )  # fmt: skip
    added = patch["spec"]["template"]["spec"]
    assert {*added} <= {*pod()}


def test_an_executor_may_do_what_the_driver_pod_may_and_finds_the_same_secrets():
    overlay = "kubernetes-executors"
    spec, (container,) = (found := read(f"{overlay}/executor.yaml")["spec"]), found["containers"]
    assert spec["securityContext"].items() <= pod()["securityContext"].items()
    assert container["securityContext"] == pod()["containers"][0]["securityContext"]
    secrets = [
        next(each for each in one["volumeMounts"] if each["name"] == "secrets")
        for one in (container, pod()["containers"][0])
    ]
    assert secrets[0] == secrets[1]
    module = container["command"][-1]
    assert find_spec(module) is not None


def test_executors_reach_the_driver_where_the_file_says_that_it_listens():
    config = load_config(DEPLOY / "kubernetes-executors" / "mm2.properties").config
    conf = config.spark.conf
    service = read("kubernetes-executors/driver-service.yaml")
    namespace = read("kubernetes-executors/kustomization.yaml")["namespace"]
    assert conf["spark.driver.host"] == f"{service['metadata']['name']}.{namespace}.svc"
    assert service["spec"]["selector"].items() <= read("kubernetes/stateful-set.yaml")["spec"][
        "template"]["metadata"]["labels"].items()  # fmt: skip
    ports = {int(conf[f"spark.driver.{each}"]) for each in ("port", "blockManager.port")}
    assert {each["port"] for each in service["spec"]["ports"]} == ports
    (rule,) = read("kubernetes-executors/driver-network-policy.yaml")["spec"]["ingress"]
    assert {each["port"] for each in rule["ports"]} == ports
    mounts = {each["name"]: each["mountPath"] for each in pod()["containers"][0]["volumeMounts"]}
    template = conf["spark.kubernetes.executor.podTemplateFile"]
    assert template == f"{mounts['config']}/executor.yaml"
    assert conf["spark.kubernetes.container.image"] == pod()["containers"][0]["image"]
    (name,) = [e["name"] for e in read("kubernetes-executors/executor.yaml")["spec"]["containers"]]
    assert conf["spark.kubernetes.executor.podTemplateContainerName"] == name


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


def test_each_variable_is_one_that_isthmus_reads():
    texts = [each.read_text() for each in DEPLOY.rglob("*") if each.is_file()]
    found = {each for text in texts for each in re.findall(r"\bISTHMUS_[A-Z_]+", text)}
    assert found == {HOME_VARIABLE, POSTGRES_VARIABLE}


def test_state_is_kept_where_the_image_makes_a_directory_for_its_user_and_a_volume_is_mounted():
    text = (DEPLOY / "Containerfile").read_text()
    (made,) = re.findall(r"install -d -o isthmus -g isthmus -m 0700 (\S+)", text)
    homes = [
        re.search(r"ISTHMUS_HOME=(\S+)", text)[1],
        re.search(r"^Environment=ISTHMUS_HOME=(\S+)$", UNIT.read_text(), re.MULTILINE)[1],
        *(e["value"] for e in pod()["containers"][0]["env"] if e["name"] == HOME_VARIABLE),
    ]
    assert len(homes) == 3
    assert all(Path(each).is_relative_to(made) for each in homes)
    mounts = {each["name"]: each["mountPath"] for each in pod()["containers"][0]["volumeMounts"]}
    assert mounts["state"] == made
    assert f"state:{made}" in read("compose/compose.yaml")["services"]["isthmus"]["volumes"]
    assert f"VOLUME {made}" in text
    (directory,) = re.findall(r"^StateDirectory=(\S+)$", UNIT.read_text(), re.MULTILINE)
    assert f"/var/lib/{directory}" == made


def test_the_image_has_every_package_and_the_command_that_it_starts():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    found = project["tool"]["setuptools"]["packages"]["find"]["include"]
    text = (DEPLOY / "Containerfile").read_text()
    copied = re.findall(r"^COPY (\w+) \1$", text, re.MULTILINE)
    assert sorted(copied) == sorted(each.rstrip("*") for each in found)
    (entry,) = re.findall(r"^ENTRYPOINT (.*)$", text, re.MULTILINE)
    assert json.loads(entry)[-1] in project["project"]["scripts"]
    (files,) = re.findall(r"^COPY (.*) \./$", text, re.MULTILINE)
    assert all((ROOT / each).exists() for each in files.split())


def test_health_is_asked_where_dagster_answers_and_at_the_port_that_it_is_given():
    server = Path(find_spec("dagster_webserver").origin).with_name("webserver.py")
    routes = re.findall(r'Route\("(\S+)"', server.read_text())
    container = pod()["containers"][0]
    ports = {each["name"]: each["containerPort"] for each in container["ports"]}
    asked = [container[each]["httpGet"] for each in ("startupProbe", "livenessProbe")]
    assert {each["path"] for each in asked} == {"/server_info"} <= set(routes)
    assert {str(ports[each["port"]]) for each in asked} == {container["args"][-1]}
    compose = read("compose/compose.yaml")["services"]["isthmus"]["healthcheck"]["test"][-1]
    assert f"127.0.0.1:{container_commands()['container'][-1]}/server_info" in compose


@pytest.mark.skipif(not which("systemd-analyze"), reason="this machine has no systemd")
def test_systemd_finds_nothing_wrong_with_the_unit(tmp_path):
    unit = tmp_path / UNIT.name
    unit.write_text(UNIT.read_text().replace("/opt/isthmus/bin/isthmus", sys.executable))
    done = subprocess.run(
        ["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False
    )
    own = [each for each in done.stderr.splitlines() if UNIT.name in each]
    assert (done.returncode, own) == (0, [])
