"""Certificates and key stores of every format for tests."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from replication.adapters.local_secured.authority import Identity, new_authority
from replication.adapters.local_secured.store_files import write_key_store, write_trust_store

if TYPE_CHECKING:
    from pathlib import Path

PASSWORD = "store-password"  # noqa: S105 -- of a test's stores


@cache
def identity(host: str = "localhost", authority: str = "test authority") -> Identity:
    """Return an identity for ``host``; the same one for the whole test run.

    Each has an authority of its own, so another ``authority`` gives another one for a host.
    """
    return new_authority(authority).issue(host, (host,))


def write_jks(path: Path, who: Identity, *, trust: bool, key_password: str = PASSWORD) -> Path:
    """Write a JKS trust store, or a key store."""
    return _written(path, "jks", who, trust=trust, key_password=key_password)


def write_pkcs12(path: Path, who: Identity, *, trust: bool = False) -> Path:
    """Write a PKCS12 key store that also holds the authority, or a trust store."""
    return _written(path, "p12", who, trust=trust, key_password=PASSWORD)


def _written(path: Path, kind: str, who: Identity, *, trust: bool, key_password: str) -> Path:
    """Write a store of ``kind``, whatever the end of the file's name is."""
    made = path.with_name(f"{path.name}.{kind}")
    if trust:
        write_trust_store(made, who.authority, PASSWORD)
    else:
        write_key_store(made, who, PASSWORD, key_password)
    return made.replace(path)
