"""Pages, docstrings and comments name only files, modules and decisions that exist."""

from __future__ import annotations

import ast
import re
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
PRODUCT = ("replication", "spark_jobs", "orchestration")
PACKAGES = (*PRODUCT, "bench", "chaos", "mutation", "tests")
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
SOURCES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))

FILE = re.compile(r"(?<![\w./:*<>-])(?:\.\./)*[\w][\w/-]*\.(?:py|md)\b(?!/)")
FOLDER = re.compile(rf"(?:{'|'.join((*PACKAGES, 'docs'))})/[\w/-]*")
DECISION = re.compile(r"\bdecisions?(?: |/)(\d{4})\b")
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")
DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
CLASS = re.compile(r"(?:[a-z_]\w*\.)+[A-Z]\w+")
QUOTED = {".md": re.compile(r"`([^`\n]+)`"), ".py": re.compile(r"``([^`]+)``")}
WORD = r"`+[a-z]\w*`+"
LISTED = re.compile(rf"{WORD}(?:(?:, and |, or | and | or |, ){WORD})+")
CALLED_MODULE = re.compile(rf"{WORD}(?= modules?\b)|(?<=\bmodule ){WORD}")
IMPORT = re.compile(r"^from (\S+) import (\w+)", re.MULTILINE)
COMMENT = re.compile(r"(?:^ *|  )(# .*)", re.MULTILINE)  # the formatter puts two spaces before it
LINES = re.MULTILINE | re.DOTALL
NOT_OURS = ("java.", "org.", "software.amazon.")


def our_text(path: Path) -> str:
    """Return what a page says, or the docstrings and comments of a source file."""
    text = path.read_text()
    if path.suffix == ".md":
        return text
    module = ast.parse(text)
    documented = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = [module, *(each for each in statements(module) if isinstance(each, documented))]
    docstrings = (ast.get_docstring(node) or "" for node in nodes)
    return "\n".join([*COMMENT.findall(text), *docstrings])


def statements(node: ast.AST) -> Iterator[ast.stmt]:
    """Yield the statements in a node: documented ones are among them, expressions are many more."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield child
            yield from statements(child)


@cache
def modules() -> dict[str, Path]:
    """Return the file of each module, by its dotted name."""
    return {dotted(path): path for path in SOURCES}


def dotted(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def top_names(module: str) -> set[str]:
    """Return the names at the top level of a module, none if it does not exist."""
    names: set[str] = set()
    path = modules().get(module)
    for node in ast.parse(path.read_text()).body if path else ():
        match node:
            case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                names.add(node.name)
            case ast.Import() | ast.ImportFrom():
                names.update(alias.asname or alias.name for alias in node.names)
            case ast.Assign() | ast.AnnAssign():
                names.update(each.id for each in ast.walk(node) if isinstance(each, ast.Name))
    return names


@cache
def module_suffixes() -> dict[str, list[str]]:
    """Return the full names of modules by each dotted end: ``b.c`` gives ``a.b.c``."""
    suffixes: dict[str, list[str]] = {}
    for name in (*modules(), *PACKAGES):
        for end in accumulate(reversed(name.split(".")), lambda end, part: f"{part}.{end}"):
            suffixes.setdefault(end, []).append(name)
    return suffixes


@cache
def file_suffixes() -> frozenset[str]:
    """Return each file's path, with any number of its first folders left out."""
    paths = [path.relative_to(ROOT) for path in (*SOURCES, *PAGES, *ROOT.glob("*.md"))]
    return frozenset("/".join(p.parts[at:]) for p in paths for at in range(len(p.parts)))


@cache
def settings() -> tuple[frozenset[str], tuple[str, ...]]:
    """Return the settings that the page on configuration names, and the open prefixes there."""
    page = (ROOT / "docs" / "configuration.md").read_text()
    words = [word for span in QUOTED[".md"].findall(page) for word in span.split()]
    words += re.findall(r"^([\w.]+) *=", page, re.MULTILINE)
    exact = {word for word in words if DOTTED.fullmatch(word)}
    return frozenset(exact), tuple(word[:-1] for word in words if word.endswith(".*"))


def is_setting(name: str) -> bool:
    exact, prefixes = settings()
    return name in exact or name.startswith(prefixes)


def names_a_module(name: str, path: Path) -> bool:
    """Tell names of modules from settings and from attributes of values.

    A dotted name counts when it ends in a class, or when it begins with one of our packages or
    with a package beside the file or above it.
    """
    if is_setting(name) or name.startswith(NOT_OURS):
        return False
    first, _, _ = name.partition(".")
    if CLASS.fullmatch(name) or first in PACKAGES:
        return True
    above = [folder for folder in path.parents if ROOT in folder.parents]
    return any((folder / first / "__init__.py").exists() for folder in above)


@cache
def stems() -> frozenset[str]:
    return frozenset(name.rpartition(".")[2] for name in modules())


@cache
def quoted_in_code() -> frozenset[str]:
    """Return the words that the product's code quotes: keys, tasks and states have such names."""
    ours = (path.read_text() for path in SOURCES if dotted(path).startswith(PRODUCT))
    return frozenset(word for text in ours for word in re.findall(r'"([a-z]\w*)"', text))


def gone_modules(text: str) -> set[str]:
    """Return words without a package that are said to be modules, and are none.

    Those are called a module, or stand in a list with one whose name has an underscore.
    """
    text = " ".join(text.split())
    called = [re.findall(r"`(\w+)`", match) for match in CALLED_MODULE.findall(text)]
    lists = [re.findall(r"`(\w+)`", match) for match in LISTED.findall(text)]
    lists = [each for each in lists if any("_" in word and word in stems() for word in each)]
    return {word for each in (*called, *lists) for word in each} - stems() - quoted_in_code()


def exists(name: str) -> bool:
    """Whether a dotted name, with or without its first packages, is a module or a name in one."""
    if name in module_suffixes():
        return True
    module, _, last = name.rpartition(".")
    return any(last in top_names(full) for full in module_suffixes().get(module, ()))


def missing(path: Path) -> list[str]:
    """Return the names in a file that lead nowhere."""
    text = our_text(path)
    quoted = [word for span in QUOTED[path.suffix].findall(text) for word in span.split()]
    names = [word.partition("(")[0].strip(".,;") for word in quoted]
    names += [f"{module}.{name}" for module, name in IMPORT.findall(text)]
    modules = {n for n in names if DOTTED.fullmatch(n) and not n.endswith((".py", ".md", ".lock"))}
    return sorted(
        {n for n in modules if names_a_module(n, path) and not exists(n)}
        | {n for n in FILE.findall(text) if n.lstrip("./") not in file_suffixes()}
        | {n for n in quoted if FOLDER.fullmatch(n) and not (ROOT / n).exists()}
        | gone_modules(text)
        | {n for n in DECISION.findall(text) if not any((ROOT / "docs/decisions").glob(f"{n}-*"))}
    )


def headings(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def leads_somewhere(page: Path, target: str, anchor: str) -> bool:
    path = page.parent / target if target else page
    return path.exists() and (not anchor or anchor in headings(path))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_names_what_exists(page):
    assert missing(page) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_links_of_a_page_lead_to_files_and_headings(page):
    links = LINK.findall(page.read_text())
    assert [link for link in links if not leads_somewhere(page, *link)] == []


@pytest.mark.parametrize("package", PACKAGES)
def test_docstrings_and_comments_name_what_exists(package):
    sources = [path for path in SOURCES if ROOT / package in path.parents]
    assert [f"{dotted(path)}: {name}" for path in sources for name in missing(path)] == []


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        pytest.param("see docs/gone.md", ["docs/gone.md"], id="page"),
        pytest.param("see `wire/gone.py`", ["wire/gone.py"], id="file"),
        pytest.param("in `replication/gone/`", ["replication/gone/"], id="folder"),
        pytest.param("`replication.gone` thinks", ["replication.gone"], id="module"),
        pytest.param("run `python -m bench.gone`", ["bench.gone"], id="command"),
        pytest.param("from replication.errors import Gone", ["replication.errors.Gone"], id="name"),
        pytest.param("a `gone.Cluster`", ["gone.Cluster"], id="class"),
        pytest.param("as decision 0000 says", ["0000"], id="decision"),
        pytest.param("(`groups`, `group_codec` and `gone_by`)", ["gone_by"], id="list of modules"),
        pytest.param(
            "the module `gone_by`, the `lag` module", ["gone_by"], id="module by its stem"
        ),
        pytest.param(
            "tasks `group_offsets`, `offset_syncs`; `gone_by`, `lag`", [], id="other lists"
        ),
        pytest.param("`replication.factor`, `replication.policy.config.x`", [], id="settings"),
        pytest.param("`value.held` and `java.util.Properties`", [], id="values, Java"),
        pytest.param("`replication.errors`, README.md, docs/decisions/0001", [], id="there"),
    ],
)
def test_a_name_that_leads_nowhere_is_found(tmp_path, text, gone):
    page = tmp_path / "page.md"
    page.write_text(text)
    assert missing(page) == gone


def test_the_glossary_explains_our_own_words_and_no_others():
    text = (ROOT / "docs/glossary.md").read_text()
    begins = (ROOT / "docs/architecture.md").read_text().partition("## ")[0]
    (own,) = re.findall(r"Its own \((.*?)\) are in the", begins)
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == [
        word.capitalize() for word in own.split(", ")
    ]
    assert "These seven words are its own." in text
    assert len(own.split(", ")) == 7


def test_each_decision_has_a_number_of_its_own():
    files = sorted((ROOT / "docs/decisions").glob("*.md"))
    titles = [each.read_text().split(".", 1)[0].removeprefix("# ") for each in files]
    assert len({*titles}) == len(titles)
    assert [each.name[:4] for each in files] == [f"{int(number):04}" for number in titles]


def test_each_of_the_longest_modules_of_tests_is_one_file():
    """``tests/conftest.py`` names them by their stem."""
    (text,) = re.findall(r"^LONGEST = (\(.*?^\))", (ROOT / "tests/conftest.py").read_text(), LINES)
    found = {stem: len([*(ROOT / "tests").rglob(f"{stem}.py")]) for stem in ast.literal_eval(text)}
    assert found == dict.fromkeys(found, 1)
