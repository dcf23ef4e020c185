"""Reads how a flow reaches a schema registry; placeholders stay unresolved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from replication.config.file.providers import PREFIX as PROVIDERS
from replication.config.file.values import items
from replication.config.keys.section_keys import field_of
from replication.config.keys.value_checks import absolute_files
from replication.settings.flow_settings import Flow

if TYPE_CHECKING:
    from replication.config.file.findings import Notes
    from replication.config.keys.value_checks import ParsedFile
    from replication.config.sections.section_reader import Reader

_PREFIX = "schema.registry."


def read_registry(read: Reader, parsed: ParsedFile, notes: Notes) -> dict[str, str]:
    """Return the settings without their prefix, and the providers; empty: there is no registry."""
    known = [each.name for each in field_of(Flow, "registry").keys]
    found = {name: read.props[name] for name in known if name in read.props}
    for name, value in found.items():
        read.note(name, value.text.strip(), value)
    if (url := found.get(f"{_PREFIX}url")) is None:
        for value in found.values():
            notes.warn(value.at, "has no effect without schema.registry.url")
        return {}
    for each in items(parsed.resolve(url.text)):
        if not each.startswith(("http://", "https://")):
            notes.error(url.at, "does not begin with https:// or http://",
                        "schema.registry.url = https://host:8081")  # fmt: skip
            break
    settings = {name.removeprefix(_PREFIX): value for name, value in found.items()}
    providers = {key: each for key, each in parsed.props.items() if key.startswith(PROVIDERS)}
    base = parsed.path.absolute().parent
    return absolute_files({**providers, **settings}, base, parsed.providers)
