"""A file that is huge, endless, of another encoding or full of traps: one message, in time."""

from __future__ import annotations

import os
import re
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.config.file import input_file
from replication.config.file.input_file import read_input
from replication.config.file.properties import decode, parse_properties
from replication.config.file.providers import (
    Provider,
    UnresolvedPlaceholder,
    has_placeholder,
    resolve,
)
from replication.config.load import examine, load_config
from replication.errors import ConfigError
from replication.naming import java_regex
from replication.naming.java_regex import compile_rules

VALID = (
    "clusters = A, B\nA.bootstrap.servers = a:1\nB.bootstrap.servers = b:1\nA->B.enabled = true\n"
)
PROVIDERS = {
    "file": Provider("file", {}),
    "dir": Provider("directory", {}),
    "env": Provider("env", {}),
}
EXPLODES = "(a|a)*[bc]"
KAFKAS = re.compile(r"\$\{([^}:]*):(?:([^}]*):)?([^}:]*)\}")  # as Java's ConfigTransformer has it


@pytest.fixture
def in_time():
    began = time.monotonic()
    yield
    assert time.monotonic() - began < 60  # what it is to refuse would take years


@pytest.fixture
def file(tmp_path):
    return tmp_path / "mm2.properties"


def problems(file, content: bytes) -> list[str]:
    file.write_bytes(content)
    return [str(each) for each in examine(file)[1] if each.severity.name == "ERROR"]


@pytest.mark.usefixtures("in_time")
def test_a_file_of_50_mb_is_refused(file):
    with file.open("wb") as out:
        out.truncate(50 << 20)
    with pytest.raises(ConfigError) as raised:
        load_config(file)
    assert str(raised.value) == f"reading {file}: it has more than 4 MiB"


@pytest.mark.usefixtures("in_time")
@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/dev/zero", "it is a device or a socket, not a file"),
        ("/dev/urandom", "it is a device or a socket, not a file"),
        ("/proc", "Is a directory"),
        ("/none", "No such file or directory"),
        ("/a\0b", "the name is not valid: embedded null byte"),
        ("/" + "a" * 300, "File name too long"),
    ],
)
def test_what_is_no_file_is_refused_with_its_reason(path, reason):
    with pytest.raises(ConfigError) as raised:
        load_config(Path(path))
    assert str(raised.value) == f"reading {path}: {reason}"


@pytest.mark.usefixtures("in_time")
def test_a_pipe_is_read_to_its_end_and_one_without_a_writer_is_empty(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert read_input(pipe) == b""
    with os.fdopen(os.open(pipe, os.O_RDWR), "wb") as far:  # a writer is there, as in `<(...)`
        far.write(b"a")
        far.flush()
        threading.Timer(0.2, far.close).start()
        assert read_input(Path(f"/proc/self/fd/{far.fileno()}")) == b"a"


@pytest.mark.usefixtures("in_time")
def test_a_pipe_is_read_by_a_process_that_has_many_files_open(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    many = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]
    try:
        with os.fdopen(os.open(pipe, os.O_RDWR), "wb") as far:
            threading.Timer(0.2, far.close).start()
            assert read_input(Path(f"/proc/self/fd/{far.fileno()}")) == b""
    finally:
        for handle in many:
            os.close(handle)


@pytest.mark.usefixtures("in_time")
def test_a_pipe_whose_writer_does_not_end_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(input_file, "_PIPE_S", 0.2)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with os.fdopen(os.open(pipe, os.O_RDWR), "wb"), pytest.raises(OSError, match="did not end"):
        read_input(pipe)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (VALID.encode("utf-16"), ": is UTF-16 text → save it as UTF-8"),
        (VALID.encode() + b"x\0y = 1\n", ":5: has a byte of 0: this is not a text file"),
        (VALID.encode() + rb"x = \u12" + b"\n", r":5: \u must be followed by four hexadecimal"),
        (VALID.encode() + b"tasks.max = 1\ntasks.max = 2\n", None),
        (b"\xef\xbb\xbf" + VALID.encode(), None),
        (VALID.replace("\n", "\r\n").encode(), None),
    ],
    ids=["UTF-16", "NUL", "half an escape", "repeated key", "BOM", "CRLF"],
)
def test_other_encodings_are_named_with_their_line(file, content, problem):
    found = problems(file, content)
    assert len(found) <= 1 or problem is not None
    assert (found == []) if problem is None else any(f"{file}{problem}" in each for each in found)


TRAPS = {
    "beginnings of placeholders": "x = " + "${" * (1 << 20),
    "placeholders without an end": "x = " + "${a:" * (1 << 19),
    "continued lines": "x = " + "a\\\n" * (1 << 20),
    "backslashes": "x = " + "\\" * (1 << 21),
    "a long line": "x = " + "a" * (3 << 20),
    "a long key": "a" * (3 << 20) + " = 1",
    "empty lines": "\n" * (3 << 20),
}


@pytest.mark.usefixtures("in_time")
@pytest.mark.parametrize("trap", TRAPS)
def test_a_file_of_traps_is_read_in_time(trap):
    entries = parse_properties(decode(TRAPS[trap].encode()))
    assert len(entries) == (0 if trap == "empty lines" else 1)
    for each in entries:
        assert resolve(each.value, PROVIDERS) == each.value


@given(st.lists(st.sampled_from(["${", "}", ":", "a", "env", "file", "$", "{"]), max_size=12))
def test_placeholders_are_those_that_kafka_finds(parts):
    text = "".join(parts)
    expected = any(each[1] in PROVIDERS for each in KAFKAS.finditer(text))
    assert has_placeholder(text, PROVIDERS) is expected


@given(st.lists(st.sampled_from(["${env:X}", "${", "}", ":", "a", "${other:X}"]), max_size=12))
def test_what_is_no_placeholder_stays_as_it_is(parts):
    text = "".join(parts)
    expected = KAFKAS.sub(
        lambda each: "1" if each[1] == "env" and each[3] == "X" else each[0], text
    )
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("X", "1")
        try:
            found = resolve(text, {"env": PROVIDERS["env"]})
        except UnresolvedPlaceholder:
            return  # another variable
    assert found == expected


@pytest.mark.usefixtures("in_time")
@pytest.mark.parametrize(
    ("placeholder", "reason"),
    [
        (
            "${file:/dev/zero:k}",
            "no readable file /dev/zero (it is a device or a socket, not a file)",
        ),
        ("${file:/proc:k}", "no readable file /proc (Is a directory)"),
        ("${file:/a\0b:k}", "no readable file /a\0b (the name is not valid: embedded null byte)"),
        ("${dir:/dev:zero}", "no readable file zero in /dev"),
        ("${dir:/proc:..}", "no readable file .. in /proc"),
        ("${env:A\0B}", "the environment has no variable A\0B, or allowlist.pattern forbids it"),
    ],
)
def test_a_placeholder_that_leads_to_no_file_says_so(placeholder, reason):
    with pytest.raises(UnresolvedPlaceholder) as raised:
        resolve(placeholder, PROVIDERS)
    assert str(raised.value) == f"{placeholder}: {reason}"


@pytest.mark.usefixtures("in_time")
def test_a_placeholder_that_leads_to_a_pipe_or_a_large_file_does_not_hang(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with (tmp_path / "large").open("wb") as out:
        out.truncate(1 << 40)
    for name in ("pipe", "large"):
        with pytest.raises(UnresolvedPlaceholder):
            resolve(f"${{file:{tmp_path / name}:k}}", PROVIDERS)


def test_an_allow_list_that_is_no_pattern_is_an_error_and_one_that_explodes_too(monkeypatch):
    monkeypatch.setattr(java_regex, "_MATCH_S", 0.05)
    for pattern, reason in (("(", "is not a supported pattern"), (EXPLODES, "takes more than 0 s")):
        provider = {"env": Provider("env", {"allowlist.pattern": pattern})}
        with pytest.raises(ConfigError, match=reason):
            resolve("${env:" + "a" * 60 + "}", provider)


def test_a_topic_pattern_that_explodes_is_an_error_that_names_it():
    (rule,) = compile_rules([EXPLODES])
    with pytest.raises(ConfigError) as raised:
        rule.matches("a" * 249)
    name = "a" * 249
    assert str(raised.value) == (
        f"the pattern '{EXPLODES}' takes more than 1 s for '{name}': write it without a repeat in "
        "a repeat"
    )


@given(
    st.sampled_from(
        [r"(a|b)*c", r"(?:x+y?)+", r"a*b*c*", r"(\w+\.)*v[0-9]+", r"(?i)(ab)+", r"a{2}b+"]
    ),
    st.text("abcxyvAB.019", max_size=12),
)
def test_a_pattern_that_might_explode_matches_as_any_other(pattern, name):
    (rule,) = compile_rules([pattern])
    assert not isinstance(rule.pattern, re.Pattern)
    assert rule.matches(name) is (re.fullmatch(pattern, name, re.ASCII) is not None)


def test_a_pattern_that_cannot_explode_is_matched_by_the_standard_library():
    for pattern in (r"orders-[0-9]+", ".*-heartbeats", "a.b", r"\Qa+b\E", "(?!tmp).*"):
        assert isinstance(compile_rules([pattern])[0].pattern, re.Pattern)
