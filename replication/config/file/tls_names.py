"""Java's names of TLS protocols and cipher suites, and what OpenSSL calls the suites.

Sources: Oracle's "Java Security Standard Algorithm Names", RFC 8446 for the suites of TLS 1.3, and
openssl-ciphers(1) for OpenSSL's names of the others.
"""

from __future__ import annotations

import re
import ssl
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

TLS_1_2, TLS_1_3 = "TLSv1.2", "TLSv1.3"
PROTOCOLS = (TLS_1_2, TLS_1_3)  # from the oldest on
_OLDER = ("SSL", "SSLv2", "SSLv2Hello", "SSLv3", "TLSv1", "TLSv1.1")
_NEWEST = ("tls", TLS_1_3.lower())  # an SSLContext of one of these speaks all
SUITES_1_3 = ("TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_GCM_SHA256")
_NO_SUITE = "TLS_EMPTY_RENEGOTIATION_INFO_SCSV"  # Java lists a signal with its suites
_SHOWN = 60  # characters of a name in a message
_SUITE = re.compile(r"TLS_([A-Z0-9_]+)_WITH_([A-Z0-9_]+)_(SHA\d*)")


def tls_protocols(names: Iterable[str]) -> tuple[str, ...]:
    """Return those of ``names`` that are protocols from TLS 1.2 on, the oldest first.

    Older ones drop out, as they do in today's Java. Raises ValueError for a name that Java does not
    know, and where none is left.
    """
    known = {each.lower(): each for each in (*_OLDER, *PROTOCOLS)}
    given = [each for each in names if each]
    if unknown := [each for each in given if each.lower() not in known]:
        raise ValueError(f"{unknown[0][:_SHOWN]!r} is not one of {', '.join(PROTOCOLS)}")
    found = {known[each.lower()] for each in given}
    usable = tuple(each for each in PROTOCOLS if each in found)
    if given and not usable:
        raise ValueError(f"{', '.join(given)} cannot be had, only {' and '.join(PROTOCOLS)}")
    return usable


def newest_protocol(name: str) -> str:
    """Return the newest protocol that an SSLContext of this name uses; empty: TLS 1.3.

    Raises ValueError as ``tls_protocols``.
    """
    if not name or name.lower() in _NEWEST:
        return TLS_1_3
    return tls_protocols([name])[-1]


def cipher_suites(names: Iterable[str]) -> tuple[str, ...]:
    """Return OpenSSL's names of Java's cipher suites, in the same order.

    Raises ValueError for a suite that does not exist, or that OpenSSL does not have here.
    """
    given = [each for each in names if each and each != _NO_SUITE]
    return tuple(each if each in SUITES_1_3 else _older_suite(each) for each in given)


def _older_suite(name: str) -> str:
    parts = _SUITE.fullmatch(name)
    found = "" if parts is None else _openssl_name(*parts.groups())
    if not found or not _exists(found):
        raise ValueError(
            f"{name[:_SHOWN]!r} is not a cipher suite that {ssl.OPENSSL_VERSION} offers; write "
            f"Java's names, such as {SUITES_1_3[0]} or TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"
        )
    return found


def _openssl_name(exchange: str, cipher: str, digest: str) -> str:
    """``ECDHE_RSA``, ``AES_256_GCM`` and ``SHA384`` are ECDHE-RSA-AES256-GCM-SHA384."""
    short = re.sub(r"(AES|ARIA|CAMELLIA)_(\d+)", r"\1\2", cipher).removesuffix("_CBC")
    parts = [] if exchange == "RSA" else [exchange]
    parts += [short] if "POLY1305" in short else [short, digest]
    return "-".join(parts).replace("_", "-")


def _exists(name: str) -> bool:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        context.set_ciphers(name)
    except ssl.SSLError:
        return False
    return name in {each["name"] for each in context.get_ciphers()}
