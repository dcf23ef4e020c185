"""Trust stores and key stores as JKS, PKCS12 and PEM files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)

from replication.adapters.local.files import write_whole
from replication.clock import now_ms

if TYPE_CHECKING:
    from pathlib import Path

    from cryptography import x509

    from replication.adapters.local_secured.authority import Identity

TYPES = {".jks": "JKS", ".p12": "PKCS12", ".pem": "PEM"}  # by the end of a file's name


def write_trust_store(file: Path, authority: x509.Certificate, password: str) -> None:
    """Write a store of the type that the file's name tells, as a whole. Raises OSError."""
    match TYPES[file.suffix]:
        case "JKS":
            content = _jks_trust(authority, password)
        case "PKCS12":
            entry = pkcs12.PKCS12Certificate(authority, b"authority")
            lock = BestAvailableEncryption(password.encode())
            content = pkcs12.serialize_java_truststore([entry], lock)
        case _:
            content = authority.public_bytes(Encoding.PEM)
    write_whole(file, content)


def write_key_store(
    file: Path, who: Identity, password: str, key_password: str | None = None
) -> None:
    """Write a store with a key and its chain; ``key_password`` is ``password`` unless given.

    A PKCS12 store has one password. Raises OSError.
    """
    match TYPES[file.suffix]:
        case "JKS":
            content = _jks_key(who, password, key_password or password)
        case "PKCS12":
            lock = BestAvailableEncryption(password.encode())
            content = pkcs12.serialize_key_and_certificates(
                b"own", who.key, who.certificate, [who.authority], lock
            )
        case _:
            content = (who.key_pem(key_password or password) + who.chain_pem).encode()
    write_whole(file, content)


def _jks_trust(authority: x509.Certificate, password: str) -> bytes:
    import jks  # noqa: PLC0415 - 0.1 s that only a JKS file should pay

    certificate, wall_ms = authority.public_bytes(Encoding.DER), now_ms()
    entry = jks.TrustedCertEntry(alias="authority", cert=certificate, timestamp=wall_ms)
    entry.type = "X.509"
    return _saved(entry, password)


def _jks_key(who: Identity, password: str, key_password: str) -> bytes:
    import jks  # noqa: PLC0415 - as above

    chain = [each.public_bytes(Encoding.DER) for each in (who.certificate, who.authority)]
    key = who.key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
    entry = jks.PrivateKeyEntry.new("own", chain, key, "pkcs8")
    if key_password != password:
        entry.encrypt(key_password)
    return _saved(entry, password)


def _saved(entry: object, password: str) -> bytes:
    import jks  # noqa: PLC0415 - as above

    content: bytes = jks.KeyStore.new("jks", [entry]).saves(password)
    return content
