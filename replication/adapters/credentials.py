"""How a client gets its tokens."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ClientCredentials:
    """What a token end-point wants to know."""

    url: str
    client_id: str
    secret: str = field(repr=False)
    scope: str = ""
