"""Whom a client logs in as, and where that is configured: for errors that are about a login."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from replication.config.file.jaas import parse_jaas
from replication.config.file.properties import decode, parse_properties
from replication.errors import ConfigError, LoginRejected, UntrustedConnection
from replication.settings.login_origins import CREDENTIALS, TRUST, origin_of

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Account:
    """The user of a client, and where its credentials and its trust are set, if known."""

    user: str = ""
    credentials: str = ""  # a ``KeyOrigin`` as text
    trust: str = ""

    def about(self, error: Exception) -> str:
        """Return what an operator looks at because of ``error``; empty: it is about no login."""
        match error:
            case LoginRejected():
                who = f"user {self.user}" if self.user else ""
                return ", ".join(filter(None, (who, _place(self.credentials))))
            case UntrustedConnection():
                return _place(self.trust)
        return ""


def account_of(props: Mapping[str, str]) -> Account:
    """Return the account of Java client properties whose placeholders are resolved."""
    return Account(_user(props), props.get(CREDENTIALS, ""), props.get(TRUST, ""))


def _user(props: Mapping[str, str]) -> str:
    """Return the name that the client gives; a certificate or a token may say another one."""
    if not props.get("security.protocol", "").strip().upper().startswith("SASL"):
        return ""
    if named := props.get("sasl.oauthbearer.client.credentials.client.id"):
        return named
    try:
        options = parse_jaas(props.get("sasl.jaas.config", "")).options
    except ConfigError:
        return ""  # reported where it is needed for a connection
    names = ("username", "clientId", "oauth.client.id", "unsecuredLoginStringClaim_sub",
             "awsRoleArn", "awsProfileName", "principal")  # fmt: skip
    return next((options[each] for each in names if options.get(each)), "")


def _place(origin: str) -> str:
    """Return key, file and line; no line where the file cannot be read, as on another machine."""
    found = origin_of(origin)
    if found is None:
        return ""
    line = ""
    with suppress(OSError, ValueError):
        entries = parse_properties(decode(found.file.read_bytes()))
        lines = [each.line for each in entries if each.key == found.key]
        line = f":{lines[-1]}" if lines else ""
    return f"{found.key} in {found.file.name}{line}"
