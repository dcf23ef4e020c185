"""A certificate authority of our own, and the certificates that it issues.

For clusters on this machine: nobody else trusts it.
"""

from __future__ import annotations

import datetime as dt
import ipaddress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import NameOID

if TYPE_CHECKING:
    from collections.abc import Sequence

_CLOCKS = dt.timedelta(hours=1)  # by which clocks may differ
_LIFE = dt.timedelta(days=365)


@dataclass(frozen=True, slots=True)
class Identity:
    """A key, its certificate and the certificate of the authority that issued it."""

    key: ec.EllipticCurvePrivateKey = field(repr=False)
    certificate: x509.Certificate
    authority: x509.Certificate

    @property
    def chain_pem(self) -> str:
        """The certificate and its authority's."""
        return _pem(self.certificate) + _pem(self.authority)

    @property
    def authority_pem(self) -> str:
        """The authority's certificate alone."""
        return _pem(self.authority)

    def key_pem(self, password: str | None = None) -> str:
        """The key, encrypted if there is a password."""
        return _key_pem(self.key, password)


@dataclass(frozen=True, slots=True)
class Authority:
    """A key that signs certificates, and its own certificate."""

    key: ec.EllipticCurvePrivateKey = field(repr=False)
    certificate: x509.Certificate

    def issue(
        self, name: str, hosts: Sequence[str] = (), *, until: dt.datetime | None = None
    ) -> Identity:
        """Return a new key whose certificate has ``name`` as its common name.

        ``hosts``: DNS names and addresses that it is valid for. ``until``: a year from now if it
        is not given; a time that has passed makes a certificate that has expired.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        now = dt.datetime.now(dt.UTC)
        until = until or now + _LIFE
        subject = _subject(name)
        builder = _builder(subject, key, self.certificate.subject, (min(now, until), until))
        public_key = self.key.public_key()
        builder = builder.add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(public_key), critical=False
        )
        if hosts:
            names = x509.SubjectAlternativeName([_general_name(each) for each in hosts])
            builder = builder.add_extension(names, critical=False)
        return Identity(key, builder.sign(self.key, hashes.SHA256()), self.certificate)

    def pem(self) -> str:
        """Return key and certificate as ``authority_of`` reads them."""
        return _key_pem(self.key, None) + _pem(self.certificate)


def new_authority(name: str) -> Authority:
    """Return an authority whose certificate is valid for ten years."""
    key = ec.generate_private_key(ec.SECP256R1())
    now, subject = dt.datetime.now(dt.UTC), _subject(name)
    builder = _builder(subject, key, subject, (now, now + 10 * _LIFE), is_authority=True)
    return Authority(key, builder.sign(key, hashes.SHA256()))


def authority_of(pem: str) -> Authority:
    """Return the authority that ``Authority.pem`` has returned. Raises ValueError."""
    key = load_pem_private_key(pem.encode(), None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise ValueError("not the key of an authority")  # noqa: TRY004 -- the content is wrong
    return Authority(key, x509.load_pem_x509_certificate(pem.encode()))


def _builder(
    subject: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    issuer: x509.Name,
    valid: tuple[dt.datetime, dt.datetime],
    *,
    is_authority: bool = False,
) -> x509.CertificateBuilder:
    constraints = x509.BasicConstraints(ca=is_authority, path_length=None)
    public_key = key.public_key()
    return (
        x509.CertificateBuilder(issuer, subject, public_key, x509.random_serial_number())
        .not_valid_before(valid[0] - _CLOCKS)
        .not_valid_after(valid[1])
        .add_extension(constraints, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
    )


def _subject(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(Encoding.PEM).decode()


def _key_pem(key: ec.EllipticCurvePrivateKey, password: str | None) -> str:
    lock = BestAvailableEncryption(password.encode()) if password else NoEncryption()
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, lock).decode()
