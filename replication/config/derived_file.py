"""Takes settings of a file over into another one, under other aliases.

Placeholders stay what they are, with absolute paths; secrets are as in the file itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from replication.config.file.findings import Notes
from replication.config.file.properties import as_written
from replication.config.file.providers import anchored
from replication.config.keys.scopes import split_key
from replication.config.keys.value_checks import FILES, located, placeholders
from replication.config.load import load_config
from replication.config.normalise import from_entries, normalise

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from replication.config.file.properties import Value
    from replication.config.file.providers import Provider
    from replication.settings.config import Config


def taken_over(config: Config, renamed: Mapping[str, str], left_out: tuple[str, ...]) -> list[str]:
    """Return the lines of the settings that are taken over.

    ``renamed`` maps the aliases that stay to their new ones; what names another cluster is left
    out, and so are keys whose name, without a scope, begins as one of ``left_out``. Raises
    ConfigError where the file has errors by now.
    """
    notes = Notes(config.path)
    aliases = tuple(config.clusters)
    props = normalise(from_entries(load_config(config.path).entries, notes), aliases, notes)
    base, providers = config.path.parent.absolute(), placeholders(props, notes)
    return [
        f"{key} = {as_written(_located(key, value, base, providers))}"
        for key, value in _kept(props, renamed, aliases, left_out)
    ]


def _kept(
    props: Mapping[str, Value],
    renamed: Mapping[str, str],
    aliases: tuple[str, ...],
    left_out: tuple[str, ...],
) -> Iterator[tuple[str, Value]]:
    for key, value in props.items():
        scoped = split_key(key, aliases)
        ends = [renamed.get(each) for each in scoped.clusters]
        if None in ends or scoped.name.startswith(left_out):
            continue
        prefix = "->".join(filter(None, ends))
        yield (f"{prefix}.{scoped.name}" if prefix else scoped.name), value


def _located(key: str, value: Value, base: Path, providers: Mapping[str, Provider]) -> str:
    if key.endswith(FILES) and value.text:
        return str(located(value.text, base))
    return anchored(value.text, providers, base)
