"""Converts JKS, PKCS12 and PEM stores to PEM text, which both client libraries take.

The text stays in memory: no key is unpacked into a file.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cryptography import x509
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_der_private_key,
    load_pem_private_key,
    pkcs12,
)

from replication.config.file.input_file import read_input
from replication.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_JKS_MAGIC = (b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce")
_FORMS = (
    "accepted are JKS, PKCS12 and PEM files, and PEM text in ssl.truststore.certificates, "
    "ssl.keystore.key and ssl.keystore.certificate.chain"
)


@dataclass(frozen=True, slots=True)
class PemStore:
    """Certificates, and a private key where there is one, as PEM text."""

    certificates: str
    key: str | None = field(default=None, repr=False)


def trust_store(props: Mapping[str, str]) -> PemStore | None:
    """Return whom the client trusts, or None for the system's authorities. Raises ConfigError."""
    inline = props.get("ssl.truststore.certificates", "").strip()
    if inline:
        return PemStore(_certificates(inline.encode(), "ssl.truststore.certificates"))
    return _store(props, "truststore")


def key_store(props: Mapping[str, str]) -> PemStore | None:
    """Return the client's own certificate chain and key, or None. Raises ConfigError."""
    inline = props.get("ssl.keystore.key", "").strip()
    if inline:
        chain = props.get("ssl.keystore.certificate.chain", "").strip()
        return _pem_store(f"{inline}\n{chain}".encode(), "ssl.keystore.key", _key_password(props))
    store = _store(props, "keystore")
    if store is not None and store.key is None:
        raise ConfigError(f"{props['ssl.keystore.location']} contains no private key")
    return store


def _store(props: Mapping[str, str], kind: str) -> PemStore | None:
    location = props.get(f"ssl.{kind}.location", "").strip()
    if not location:
        return None
    try:
        data = read_input(Path(location))
    except OSError as error:
        raise ConfigError(
            f"ssl.{kind}.location: {location} cannot be read ({error.strerror}); {_FORMS}"
        ) from None
    declared = props.get(f"ssl.{kind}.type", "").strip().upper()
    actual = _form(data)
    if declared == "PEM" and actual != "PEM":
        raise ConfigError(f"ssl.{kind}.type is PEM, but {location} is not PEM; {_FORMS}")
    if declared in ("JKS", "PKCS12") and actual == "PEM":
        raise ConfigError(
            f"ssl.{kind}.type is {declared}, but {location} is PEM: set ssl.{kind}.type = PEM"
        )
    password = props.get(f"ssl.{kind}.password")
    match actual:
        case "PEM":
            return _pem_store(data, location, _key_password(props))
        case "JKS":
            return _jks_store(data, location, password, _key_password(props))
    return _pkcs12_store(data, location, password)


def _form(data: bytes) -> str:
    if data[:4] in _JKS_MAGIC:
        return "JKS"
    return "PEM" if b"-----BEGIN " in data else "PKCS12"


def _key_password(props: Mapping[str, str]) -> str | None:
    return props.get("ssl.key.password")


def _pem_store(data: bytes, where: str, password: str | None) -> PemStore:
    certificates = _certificates(data, where)
    if b"PRIVATE KEY-----" not in data:
        return PemStore(certificates)
    try:
        key = load_pem_private_key(data, password.encode() if password else None)
    except TypeError:
        if password is None:
            raise ConfigError(f"{where}: the key is encrypted, set ssl.key.password") from None
        key = load_pem_private_key(data, None)  # a password for a key that needs none
    except ValueError:
        raise ConfigError(f"{where}: ssl.key.password is wrong, or the key is damaged") from None
    return PemStore(certificates, _key_pem(key))


def _certificates(data: bytes, where: str) -> str:
    try:
        found = x509.load_pem_x509_certificates(data)
    except ValueError:
        raise ConfigError(f"{where} contains no readable PEM certificate; {_FORMS}") from None
    return _certificate_pem(found)


def _pkcs12_store(data: bytes, location: str, password: str | None) -> PemStore:
    try:
        found = pkcs12.load_pkcs12(data, password.encode() if password else None)
    except ValueError:
        raise ConfigError(
            f"{location} cannot be opened: its password is wrong, or it is not a PKCS12 file; "
            f"{_FORMS}"
        ) from None
    own = [found.cert.certificate] if found.cert else []
    chain = own + [each.certificate for each in found.additional_certs]
    return PemStore(_certificate_pem(chain), _key_pem(found.key) if found.key else None)


def _jks_store(data: bytes, location: str, password: str | None, own: str | None) -> PemStore:
    import jks  # noqa: PLC0415 - 0.1 s that only a JKS file should pay

    try:
        store = jks.KeyStore.loads(data, password)
    except jks.KeystoreSignatureException:
        raise ConfigError(f"{location} cannot be opened: its password is wrong") from None
    except jks.KeystoreException as error:
        raise ConfigError(f"{location} is not a readable JKS file ({error})") from None
    trusted = [x509.load_der_x509_certificate(each.cert) for each in store.certs.values()]
    for entry in store.private_keys.values():
        chain = [x509.load_der_x509_certificate(der) for _, der in entry.cert_chain]
        return PemStore(_certificate_pem(chain + trusted), _jks_key(entry, location, own))
    return PemStore(_certificate_pem(trusted))


def _jks_key(entry: Any, location: str, password: str | None) -> str:
    from jks import DecryptionFailureException  # noqa: PLC0415 - as above

    try:
        if not entry.is_decrypted():
            entry.decrypt(password or "")
        return _key_pem(load_der_private_key(entry.pkey_pkcs8, None))
    except (DecryptionFailureException, ValueError):
        raise ConfigError(f"{location}: ssl.key.password does not open the key") from None


def _certificate_pem(certificates: Iterable[x509.Certificate]) -> str:
    return "".join(each.public_bytes(Encoding.PEM).decode() for each in certificates)


def _key_pem(key: Any) -> str:
    pem: bytes = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return pem.decode()
