"""The front door of a room, the docstring of its ``__init__.py``: its files, what it may import.

The sentence ``May import: ...`` has a fixed form: names of rooms or modules, and ``what is below``
such a name, which stands for all that is below it in the layers of ``pyproject.toml``. A name is
looked up in the room itself, then around it, from the inside to the outside.
"""

from __future__ import annotations

import ast
import re
import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT = Path(__file__).parents[2]
PRODUCT = ("replication", "spark_jobs", "orchestration")
PACKAGES = (*PRODUCT, "bench", "chaos", "mutation", "tests")
IN_ROOMS = (*PRODUCT, "bench", "chaos", "tests.support")
SOURCES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))

FRONT_DOOR = re.compile(r"^ *(?:[-*] )?((?:``\w+``,? ?)+)(?:$|:| )", re.MULTILINE)
ENTRY = re.compile(r"^``(\w+)``: (.*(?:\n    .*)*)", re.MULTILINE)
SENTENCE = re.compile(r"(?<=[^.…])\. (?=[A-Z`])")
MAY_IMPORT = re.compile(r"May import: (.+?)\.(?: |$)")
ITEM = re.compile(r"(what is below )?``([\w.]+)``")
NOTHING = "no other room"


class Item(NamedTuple):
    """A part of the sentence ``May import``, and the modules that it stands for."""

    text: str
    names: tuple[str, ...]

    def covers(self, module: str) -> bool:
        return any(module == name or module.startswith(f"{name}.") for name in self.names)


def dotted(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {dotted(path): path for path in SOURCES}
DOORS = [path for path in SOURCES if path.name == "__init__.py"]
ROOMS = [path for path in DOORS if dotted(path).startswith(IN_ROOMS)]
OF_PRODUCT = [path for path in ROOMS if dotted(path).startswith(PRODUCT)]
HELPERS = [path for path in ROOMS if dotted(path).startswith("tests.support.")]
HOLD_ROOMS = [path for path in OF_PRODUCT if [*path.parent.glob("*/__init__.py")]]
FOLDERS = sorted({path.parent for path in SOURCES})


@cache
def docstring(path: Path) -> str:
    return ast.get_docstring(ast.parse(path.read_text())) or ""


def first_sentence(module: Path) -> str:
    """Return the first sentence of the docstring of a module or room, without its full stop."""
    file = module / "__init__.py" if module.is_dir() else module.with_suffix(".py")
    begins, _, _ = docstring(file).partition("\n\n")
    return SENTENCE.split(" ".join(begins.split()))[0].rstrip(".")


def listed(front_door: Path) -> list[str]:
    """Return the modules with a line of their own in a room's docstring."""
    lines = FRONT_DOOR.findall(docstring(front_door).partition("May import")[0])
    return [name for line in lines for name in re.findall(r"``(\w+)``", line)]


@cache
def lower_layers() -> Mapping[str, tuple[str, ...]]:
    """Return for each name in a layers contract all that is in the layers below its own."""
    tool = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    below: dict[str, tuple[str, ...]] = {}
    for contract in tool["importlinter"]["contracts"]:
        for container in contract.get("containers", [""]) if contract["type"] == "layers" else ():
            lower: tuple[str, ...] = ()
            for layer in reversed(contract["layers"]):
                names = [f"{container}.{name}".strip(".") for name in re.split(r" *[|:] *", layer)]
                below.update(dict.fromkeys(names, lower))
                lower += tuple(names)
    return below


def full_name(name: str, room: str) -> str:
    """Return the module that a name means in a room: the nearest one, from the inside out."""
    around = room.split(".")
    nearest = (".".join([*around[:depth], name]) for depth in range(len(around), -1, -1))
    found = next((each for each in nearest if each in MODULES), None)
    assert found is not None, f"{name} is no module or room"
    return found


def may_import(text: str, room: str) -> list[Item]:
    """Return the parts of the sentence ``May import`` in a front door's text."""
    sentences = MAY_IMPORT.findall(" ".join(text.split()))
    assert len(sentences) == 1, "one sentence: 'May import: ``a``, ``b`` and what is below ``c``.'"
    if sentences == [NOTHING]:
        return []
    items = []
    for part in re.split(r", and |, | and ", sentences[0]):
        match = ITEM.fullmatch(part)
        assert match, f"{part!r} is neither a name nor 'what is below' a name"
        name = full_name(match[2], room)
        assert not match[1] or name in lower_layers(), f"no layers contract has {name}"
        assert match[1] or not f"{room}.".startswith(f"{name}."), f"{name} holds the room itself"
        items.append(Item(part, lower_layers()[name] if match[1] else (name,)))
    return items


@cache
def imports(path: Path) -> frozenset[str]:
    """Return the modules of the product that a file imports, those for types alone included."""
    return frozenset(_imports(path))


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.Import():
                yield from (alias.name for alias in node.names if alias.name in MODULES)
            case ast.ImportFrom(module=str(module)) if module in MODULES:
                names = [f"{module}.{alias.name}" for alias in node.names]
                yield from (name if name in MODULES else module for name in names)


def imports_of_room(door: Path) -> set[str]:
    """Return what the files of a room, and of the rooms in it, import from outside of the room."""
    room = dotted(door)
    found = {module for path in door.parent.rglob("*.py") for module in imports(path)}
    return {each for each in found if not f"{each}.".startswith(f"{room}.")}


def broken(text: str, room: str, used: set[str]) -> list[str]:
    """Return imports that the sentence does not allow, and parts of it that nothing needs."""
    items = may_import(text, room)
    needless = [item.text for item in items if not any(item.covers(each) for each in used)]
    unsaid = [each for each in used if not any(item.covers(each) for item in items)]
    return sorted(unsaid) + needless


def test_front_doors_list_modules_that_exist():
    gone = [
        f"{dotted(door)}: {name}"
        for door in DOORS
        for name in listed(door)
        if f"{dotted(door)}.{name}" not in MODULES
    ]
    assert gone == []


@pytest.mark.parametrize("door", ROOMS, ids=dotted)
def test_a_front_door_lists_each_file_of_its_room_and_says_what_it_may_import(door):
    files = {path.stem for path in door.parent.glob("*.py")} - {"__init__"}
    rooms = {path.parent.name for path in door.parent.glob("*/__init__.py")}
    assert files | rooms == set(listed(door)), "run over the docstring of the room"
    assert "May import" in docstring(door)


@pytest.mark.parametrize("door", OF_PRODUCT, ids=dotted)
def test_a_front_door_says_of_each_file_what_the_file_says_of_itself(door):
    said = {name: " ".join(line.split()) for name, line in ENTRY.findall(door.read_text())}
    files = {name: first_sentence(door.parent / name) for name in said}
    assert said == files, "the first sentence of the file's docstring, without its full stop"


@pytest.mark.parametrize("door", OF_PRODUCT, ids=dotted)
def test_a_room_imports_what_its_front_door_says_and_nothing_else(door):
    assert broken(docstring(door), dotted(door), imports_of_room(door)) == []


@pytest.mark.parametrize("door", HELPERS, ids=dotted)
def test_a_room_of_helpers_imports_the_rooms_that_its_front_door_names(door):
    text = "\n".join(path.read_text() for path in door.parent.glob("*.py"))
    used = set(re.findall(r"^ *from support\.(\w+)", text, re.MULTILINE))
    named = re.findall(r"``support\.(\w+)``", docstring(door).partition("May import")[2])
    assert used - {door.parent.name} == set(named)


ROOM = "replication.offsets.groups"
USED = {"replication.model", "replication.offsets.offset_map", "replication.naming.selection"}


@pytest.mark.parametrize(
    ("sentence", "wrong"),
    [
        ("``offset_map``, ``naming`` and what is below ``naming``", []),
        ("``offset_map``, ``replication.naming``, ``model``", []),
        ("``offset_map`` and what is below ``naming``", ["replication.naming.selection"]),
        (
            "what is below ``groups``, ``naming`` and ``errors``",
            ["replication.model", "``errors``"],
        ),
        (NOTHING, sorted(USED)),
    ],
)
def test_an_import_that_is_not_said_is_found_and_so_is_a_name_that_nothing_imports(sentence, wrong):
    assert broken(f"A room.\n\nMay import: {sentence}. Pure.", ROOM, USED) == wrong


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("A room.", "one sentence"),
        ("May import: the core.", "neither a name nor"),
        ("May import: ``gone``.", "gone is no module"),
        ("May import: what is below ``flow_lease``.", "no module"),
        ("May import: what is below ``naming.policy``.", "no layers contract"),
        ("May import: ``replication.offsets``.", "holds the room itself"),
    ],
)
def test_a_sentence_of_another_form_is_refused(text, problem):
    with pytest.raises(AssertionError, match=problem):
        may_import(text, ROOM)


@pytest.mark.parametrize("door", HOLD_ROOMS, ids=dotted)
def test_a_room_that_holds_rooms_has_a_contract_on_the_order_of_its_files_and_rooms(door):
    inside = {f"{dotted(door)}.{name}" for name in listed(door)}
    assert inside - set(lower_layers()) == set()


@pytest.mark.parametrize("room", ["replication", "replication/copier"])
def test_the_drawings_of_architecture_have_the_layers_of_the_contracts(room):
    text = (ROOT / "docs/architecture.md").read_text()
    drawing = text.partition(f"\n{room}  ")[2].partition("```")[0]
    lines = [re.split(r"  +", line.strip())[0] for line in drawing.splitlines() if "▶" not in line]
    drawn = [{name.strip(" /") for name in line.split("│")} for line in lines if line]
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    (layers,) = (
        contract["layers"]
        for contract in contracts["contracts"]
        if contract.get("containers") == [room.replace("/", ".")]
    )
    assert drawn == [set(layer.split(" | ")) for layer in layers]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_room_holds_about_a_dozen_files(folder):
    """So does a folder of tests."""
    assert len([path for path in folder.glob("*.py") if path.stem != "__init__"]) <= 14


def test_no_file_or_room_is_named_by_a_gerund():
    """Those of the field, and nouns that end like one, are named here."""
    nouns = {"naming", "planning", "finding", "run_setting"}
    names = {name for module in MODULES if module.startswith(PRODUCT) for name in module.split(".")}
    assert {name for name in names if name.endswith("ing")} == nouns
