"""Signed tokens of users (JWT, RS256), and the key that brokers check them with (JWKS)."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from replication.adapters.local_secured.listeners import AUDIENCE, ISSUER

_KEY_ID = "1"


@dataclass(frozen=True, slots=True)
class TokenKey:
    """A key that signs tokens."""

    key: rsa.RSAPrivateKey = field(repr=False)

    def token(self, user: str, now_s: float, life_s: float) -> str:
        """Return a token that says who ``user`` is, from ``now_s`` (since 1970) for ``life_s``."""
        claims = {
            "iss": ISSUER,
            "aud": AUDIENCE,
            "sub": user,
            "iat": int(now_s),
            "exp": int(now_s + life_s),
        }
        signed = f"{_encoded({'alg': 'RS256', 'kid': _KEY_ID})}.{_encoded(claims)}"
        signature = self.key.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256())
        return f"{signed}.{_base64(signature)}"

    def key_set(self) -> str:
        """Return the public key as a JSON Web Key Set."""
        numbers = self.key.public_key().public_numbers()
        key = {"kty": "RSA", "alg": "RS256", "use": "sig", "kid": _KEY_ID}
        return json.dumps({"keys": [{**key, "n": _number(numbers.n), "e": _number(numbers.e)}]})

    def pem(self) -> str:
        """Return the key as ``token_key_of`` reads it."""
        form = (Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        return self.key.private_bytes(*form).decode()


def new_token_key() -> TokenKey:
    """Return a key of 2,048 bits."""
    return TokenKey(rsa.generate_private_key(public_exponent=65537, key_size=2048))


def token_key_of(pem: str) -> TokenKey:
    """Return the key that ``TokenKey.pem`` has returned. Raises ValueError."""
    key = load_pem_private_key(pem.encode(), None)
    if not isinstance(key, rsa.RSAPrivateKey):
        raise ValueError("not a key that signs tokens")  # noqa: TRY004 -- the content is wrong
    return TokenKey(key)


def _number(value: int) -> str:
    return _base64(value.to_bytes((value.bit_length() + 7) // 8, "big"))


def _encoded(part: dict[str, object]) -> str:
    return _base64(json.dumps(part).encode())


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")
