"""Creates certificates and key stores of every format for tests."""

from __future__ import annotations

import datetime as dt
import time
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import jks
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)
from cryptography.x509.oid import NameOID

if TYPE_CHECKING:
    from pathlib import Path

PASSWORD = "store-password"  # noqa: S105 -- of a test's stores


@dataclass(frozen=True)
class Identity:
    """A key, its certificate and the authority that signed it."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate
    authority: x509.Certificate

    @property
    def chain_pem(self) -> str:
        """The certificate and its authority."""
        both = (self.certificate, self.authority)
        return "".join(each.public_bytes(Encoding.PEM).decode() for each in both)

    @property
    def authority_pem(self) -> str:
        """The authority alone."""
        return self.authority.public_bytes(Encoding.PEM).decode()

    def key_pem(self, password: str | None = None) -> str:
        """The key, encrypted when there is a password."""
        lock = BestAvailableEncryption(password.encode()) if password else NoEncryption()
        return self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, lock).decode()


@cache
def identity(host: str = "localhost", authority: str = "test authority") -> Identity:
    """Return an identity for ``host``; the same one for the whole test run.

    Each has an authority of its own, so another ``authority`` gives another one for a host.
    """
    root_key = ec.generate_private_key(ec.SECP256R1())
    root = _certificate(authority, root_key, None, None)
    key = ec.generate_private_key(ec.SECP256R1())
    return Identity(key, _certificate(host, key, root, root_key), root)


def _certificate(
    name: str,
    key: ec.EllipticCurvePrivateKey,
    issuer: x509.Certificate | None,
    issuer_key: ec.EllipticCurvePrivateKey | None,
) -> x509.Certificate:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = dt.datetime.now(dt.UTC)
    hosts = [x509.DNSName(name.replace(" ", "-"))]
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer.subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + dt.timedelta(days=2))
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName(hosts), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
    if issuer_key is not None:
        authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key())
        builder = builder.add_extension(authority, critical=False)
    return builder.sign(issuer_key or key, hashes.SHA256())


def write_jks(path: Path, who: Identity, *, trust: bool, key_password: str = PASSWORD) -> Path:
    """Write a JKS trust store, or a key store."""
    root = who.authority.public_bytes(Encoding.DER)
    if trust:
        entry = jks.TrustedCertEntry(alias="root", cert=root, timestamp=int(time.time() * 1000))
        entry.type = "X.509"
    else:
        own = who.certificate.public_bytes(Encoding.DER)
        key = who.key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
        entry = jks.PrivateKeyEntry.new("own", [own, root], key, "pkcs8")
        if key_password != PASSWORD:
            entry.encrypt(key_password)
    path.write_bytes(jks.KeyStore.new("jks", [entry]).saves(PASSWORD))
    return path


def write_pkcs12(path: Path, who: Identity, *, trust: bool = False) -> Path:
    """Write a PKCS12 key store that also holds the authority, or one that holds nothing else."""
    path.write_bytes(
        pkcs12.serialize_key_and_certificates(
            None if trust else b"own",
            None if trust else who.key,
            None if trust else who.certificate,
            [who.authority],
            BestAvailableEncryption(PASSWORD.encode()),
        )
    )
    return path
