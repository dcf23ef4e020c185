"""``isthmus init``: writes a first properties file, from flags or from answers to questions."""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orchestration.cli.screen.console import console
from orchestration.cli.screen.given_file import keep_file
from replication.config.file.findings import errors
from replication.config.load import examine
from replication.config.starter_file import StarterAnswers, StarterCluster, starter_text
from replication.errors import ConfigError, EnvironmentProblem

if TYPE_CHECKING:
    from collections.abc import Iterator

_FILE = Path("isthmus.properties")


class Protocol(StrEnum):
    PLAINTEXT = "PLAINTEXT"
    SSL = "SSL"
    SASL_PLAINTEXT = "SASL_PLAINTEXT"
    SASL_SSL = "SASL_SSL"


class Mechanism(StrEnum):
    PLAIN = "PLAIN"
    SCRAM_SHA_256 = "SCRAM-SHA-256"
    SCRAM_SHA_512 = "SCRAM-SHA-512"


_NewFile = Annotated[Path, typer.Argument(help="The file to write.")]
_Source = Annotated[
    str | None,
    typer.Option(help="Cluster to copy from: NAME=HOST:PORT[,HOST:PORT…], or addresses alone."),
]
_Target = Annotated[str | None, typer.Option(help="Cluster to copy to, likewise.")]
_Topics = Annotated[
    str | None, typer.Option(help="Topics to copy: patterns for whole names, with commas.")
]
_BothWays = Annotated[
    bool | None, typer.Option("--both-ways/--one-way", help="Copy in both directions.")
]
_Prefix = Annotated[
    bool,
    typer.Option("--prefix", help="Name copies after their source, as in east.orders."),
]
_ReplicationFactor = Annotated[
    int, typer.Option(help="Replicas of new topics; -1: the target's default.")
]
_Security = Annotated[
    Protocol, typer.Option(help="How clients connect; edit the file if clusters differ.")
]
_SaslMechanism = Annotated[Mechanism, typer.Option(help="SASL mechanism.")]
_User = Annotated[
    str, typer.Option(help="User with SASL; passwords are taken from the environment.")
]
_Ca = Annotated[str, typer.Option(help="PEM file with the CA certificate of the brokers.")]
_Force = Annotated[bool, typer.Option("--force", help="Overwrite the file.")]


def init(  # noqa: PLR0913 - an option a parameter
    file: _NewFile = _FILE,
    *,
    source: _Source = None,
    target: _Target = None,
    topics: _Topics = None,
    both_ways: _BothWays = None,
    prefix: _Prefix = False,
    replication_factor: _ReplicationFactor = -1,
    security: _Security = Protocol.PLAINTEXT,
    mechanism: _SaslMechanism = Mechanism.SCRAM_SHA_512,
    user: _User = "",
    ca: _Ca = "",
    force: _Force = False,
) -> None:
    """Write a commented properties file for two clusters; ask for missing options.

    The file passes `isthmus check`. Exit code 2: an option is wrong or missing.
    """
    if file.exists() and not force:
        raise ConfigError(f"{file} exists: name another file, or overwrite it with --force")
    if security.startswith("SASL") and not user:
        user = _answer("--user", "User for SASL", None)

    def cluster(text: str, alias: str) -> StarterCluster:
        name, _, servers = text.rpartition("=")
        return StarterCluster(
            name.strip() or alias, servers.strip(), str(security), str(mechanism), user, ca
        )

    one = source or _answer("--source", "Source cluster (NAME=HOST:PORT)", None)
    other = target or _answer("--target", "Target cluster (NAME=HOST:PORT)", None)
    answers = StarterAnswers(
        source=cluster(one, "source"),
        target=cluster(other, "target"),
        topics=topics or _answer("--topics", "Topics to copy", ".*"),
        keeps_names=not prefix,
        both_ways=_yes("Copy in both directions?") if both_ways is None else both_ways,
        replication_factor=replication_factor,
    )
    text = starter_text(answers)
    with _passwords_set(answers):
        _require_valid(text)
    try:
        file.write_text(text)
    except OSError as error:
        raise EnvironmentProblem(f"writing {file}: {error.strerror}") from error
    screen = console()
    keep_file(file)
    screen.print(f"{file} is written. Next:")
    for each in answers.password_variables:
        screen.print(f"  export {each}=…")
    screen.print("  isthmus doctor FILE")
    screen.print("  isthmus run FILE")


def _answer(option: str, question: str, default: str | None) -> str:
    """Ask on a terminal; elsewhere return the default. Raises ConfigError if there is none."""
    if sys.stdin.isatty():
        return str(typer.prompt(question, default=default))
    if default is None:
        raise ConfigError(f"{option} is missing, and there is no terminal to ask on")
    return default


def _yes(question: str) -> bool:
    return sys.stdin.isatty() and typer.confirm(question, default=False)


@contextmanager
def _passwords_set(answers: StarterAnswers) -> Iterator[None]:
    """Set the passwords' variables that are not set yet: the draft is checked without them."""
    missing = [each for each in answers.password_variables if each not in os.environ]
    os.environ.update(dict.fromkeys(missing, "set later"))
    try:
        yield
    finally:
        for each in missing:
            del os.environ[each]


def _require_valid(text: str) -> None:
    """Raise ConfigError if `isthmus check` would find an error in ``text``."""
    with tempfile.TemporaryDirectory() as folder:
        draft = Path(folder) / _FILE.name
        draft.write_text(text)
        found = errors(examine(draft)[1])
    if found:
        raise ConfigError("; ".join(f"{each.key}: {each.message}" for each in found))
