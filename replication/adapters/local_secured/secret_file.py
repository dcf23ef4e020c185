"""The secrets of a secured cluster, in a file that placeholders of a configuration lead to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from replication.adapters.local.files import write_whole
from replication.config.file.properties import as_written, decode, parse_properties

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

STORES = "stores"  # the key of the password of all stores
_FILE = "secrets.properties"
PROVIDERS: Mapping[str, str] = {
    "config.providers": "file",
    "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
}


def read_secrets(folder: Path) -> dict[str, str]:
    """Return the secrets by user. Raises OSError."""
    entries = parse_properties(decode((folder / _FILE).read_bytes()))
    return {each.key: each.value for each in entries}


def write_secrets(folder: Path, secrets: Mapping[str, str]) -> None:
    """Replace all secrets. Raises OSError."""
    lines = (f"{name} = {as_written(secret)}\n" for name, secret in secrets.items())
    write_whole(folder / _FILE, "".join(lines))


def placeholder(folder: Path, name: str) -> str:
    """Return what stands for a secret in a configuration with ``PROVIDERS``."""
    return f"${{file:{folder / _FILE}:{name}}}"
