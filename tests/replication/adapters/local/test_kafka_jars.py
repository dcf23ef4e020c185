"""Fetching Kafka's jars with the installed Java, or reporting what is missing."""

from __future__ import annotations

import threading

import pytest

from replication.adapters.local.java import java, parse_version
from replication.adapters.local.kafka_jars import kafka_jars
from replication.errors import EnvironmentProblem

ADVICE = (
    "install a Java runtime of version 17 or newer (on Debian or Ubuntu: "
    "apt-get install openjdk-17-jre-headless) and put it on PATH or set JAVA_HOME"
)


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine with an empty cache, and a Java whose answers a test scripts."""
    (tmp_path / "java" / "bin").mkdir(parents=True)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "java"))
    java.cache_clear()
    yield tmp_path
    java.cache_clear()


def install_java(machine, version="17.0.1", fetch="exit 1"):
    """Install a Java that runs ``fetch``, with $DIR the place for jars, instead of fetching."""
    script = machine / "java" / "bin" / "java"
    script.write_text(
        f'#!/bin/sh\n[ "$1" = -version ] && {{ echo \'openjdk version "{version}"\' >&2; exit; }}\n'
        f'for last; do :; done\nDIR="${{last%/*}}"\necho call >>{machine}/calls\n{fetch}\n'
    )
    script.chmod(0o755)


def calls(machine):
    return len((machine / "calls").read_text().splitlines())


@pytest.mark.parametrize(
    ("text", "version"),
    [
        pytest.param('openjdk version "17.0.15" 2025-04-15', 17, id="17"),
        pytest.param('openjdk version "21" 2023-09-19', 21, id="a first release"),
        pytest.param('java version "1.8.0_202"', 8, id="8"),
        pytest.param("Segmentation fault", None, id="something else"),
    ],
)
def test_the_version_of_java_is_read_from_what_it_says(text, version):
    assert parse_version(text) == version


def test_a_machine_without_java_is_reported_what_to_install(machine):
    with pytest.raises(EnvironmentProblem) as caught:
        java()
    assert str(caught.value) == f"no Java found in JAVA_HOME={machine}/java: {ADVICE}"


def test_too_old_a_java_is_reported_what_to_install(machine):
    install_java(machine, "11.0.2")
    with pytest.raises(EnvironmentProblem) as caught:
        java()
    assert str(caught.value) == f"{machine}/java/bin/java is Java 11: {ADVICE}"


def test_jars_are_fetched_once(machine):
    install_java(machine, fetch='mkdir -p "$DIR" && echo jar >"$DIR/kafka.jar"')
    place = kafka_jars("1.2.3", extra=["connect-mirror"])
    assert kafka_jars("1.2.3", extra=["connect-mirror"]) == place
    assert place == machine / "cache" / "isthmus" / "kafka-1.2.3+connect-mirror"
    assert [each.name for each in place.iterdir()] == ["kafka.jar"]
    assert calls(machine) == 1


def test_two_that_want_jars_at_once_fetch_them_once(machine):
    install_java(machine, fetch='sleep 0.3; mkdir -p "$DIR"')
    threads = [threading.Thread(target=kafka_jars, args=("1.2.3",)) for _ in range(2)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert calls(machine) == 1


def test_a_hiccup_is_tried_again(machine, monkeypatch):
    monkeypatch.setattr("time.sleep", lambda _: None)
    install_java(machine, fetch=f'[ "$(wc -l <{machine}/calls)" -ge 2 ] && mkdir -p "$DIR"')
    assert kafka_jars("1.2.3").is_dir()
    assert calls(machine) == 2


def test_what_cannot_be_fetched_is_reported_and_leaves_nothing_behind(machine, monkeypatch):
    monkeypatch.setattr("time.sleep", lambda _: None)
    install_java(machine, fetch='echo " :: org.apache.kafka#kafka_2.13;0.0.1: not found"; exit 1')
    with pytest.raises(EnvironmentProblem) as caught:
        kafka_jars("0.0.1")
    assert str(caught.value) == (
        "fetching Kafka 0.0.1 (broker): org.apache.kafka#kafka_2.13;0.0.1: not found; check the "
        "version and the network, or name your mirror's ivysettings.xml in ISTHMUS_IVY_SETTINGS"
    )
    assert [each.name for each in (machine / "cache" / "isthmus").iterdir()] == ["fetch.lock"]


def test_a_cache_that_cannot_be_written_is_named(machine, monkeypatch):
    (machine / "file").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(machine / "file"))
    with pytest.raises(EnvironmentProblem) as caught:
        kafka_jars("1.2.3")
    assert str(caught.value) == (
        f"storing Kafka's jars in {machine}/file/isthmus/kafka-1.2.3: Not a directory; "
        "free space there or set XDG_CACHE_HOME to another directory"
    )
