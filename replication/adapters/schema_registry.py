"""Fetches schemas from a schema registry that answers as Confluent's does, each one once.

Settings are those of Confluent's clients without ``schema.registry.``: ``url`` (several are tried
in order), ``basic.auth.user.info``, and ``ssl.*`` as for Kafka's clients.
"""

from __future__ import annotations

import base64
import json
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, urlsplit

from replication.adapters.auth.client_config import tls_of
from replication.config.file.providers import resolve_all
from replication.config.file.values import items
from replication.errors import ClusterRejected, ClusterUnavailable, ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

_TIMEOUT_S = 10.0
_LARGEST = 8 << 20  # bytes of a response
_AGAIN_S = 30.0  # after which an id that was unknown is asked for again
_ACCEPT = "application/vnd.schemaregistry.v1+json, application/json"


class UnknownSchema(Exception):
    """The registry has no Avro schema with this id; the message says what it has."""


class Schema(NamedTuple):
    """A schema as it was registered, and those that it names, each before the ones that need it."""

    text: str
    references: tuple[str, ...] = ()


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would send the password to another server."""

    def redirect_request(self, *_: Any) -> None:
        return None


@dataclass(slots=True)
class SchemaRegistry:
    """The registry that some settings name."""

    settings: Mapping[str, str] = field(repr=False)  # may hold placeholders and passwords
    _schemas: dict[int, Schema] = field(default_factory=dict)
    _unknown: dict[int, tuple[float, str]] = field(default_factory=dict)

    def schema(self, number: int) -> Schema:
        """Return the Avro schema with an id.

        Raises UnknownSchema, ClusterUnavailable, ClusterRejected and ConfigError.
        """
        if number in self._schemas:
            return self._schemas[number]
        asked_at, reason = self._unknown.get(number, (0.0, ""))
        if reason and time.monotonic() - asked_at < _AGAIN_S:
            raise UnknownSchema(reason)
        try:
            self._schemas[number] = self._fetch(number)
        except UnknownSchema as unknown:
            self._unknown[number] = time.monotonic(), str(unknown)
            raise
        return self._schemas[number]

    def _fetch(self, number: int) -> Schema:
        found = self._get(f"/schemas/ids/{number}")
        if found is None:
            raise UnknownSchema(f"the schema registry has no schema {number}: register it there")
        kind = found.get("schemaType", "AVRO")
        if kind != "AVRO":
            raise UnknownSchema(f"schema {number} of the registry is {kind}, not AVRO")
        listed: dict[str, str] = {}
        self._add_references(found, listed)
        return Schema(str(found["schema"]), tuple(listed.values()))

    def _add_references(self, found: Mapping[str, Any], listed: dict[str, str]) -> None:
        for each in found.get("references", ()):
            subject, version = quote(str(each["subject"]), safe=""), int(each["version"])
            if (place := f"/subjects/{subject}/versions/{version}") in listed:
                continue
            schema = self._get(place)
            if schema is None:
                raise UnknownSchema(f"the schema registry has no {place}, which a schema names")
            self._add_references(schema, listed)
            listed[place] = str(schema["schema"])

    def _get(self, path: str) -> dict[str, Any] | None:
        """Return what the first registry that answers has at ``path``; None: nothing."""
        settings = resolve_all(self.settings)
        reason = ""
        for url in items(settings.get("url", "")):
            try:
                return _asked(url, path, settings)
            except ClusterUnavailable as problem:
                reason = str(problem)
        raise ClusterUnavailable(reason or "schema.registry.url is empty")


def _asked(url: str, path: str, settings: Mapping[str, str]) -> dict[str, Any] | None:
    parts = urlsplit(url)
    shown = f"schema registry {parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
    if parts.scheme not in ("http", "https"):
        raise ConfigError("schema.registry.url must begin with https:// or http://")
    place = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path.rstrip('/')}{path}"
    request = urllib.request.Request(place, headers=_headers(parts.netloc, settings))  # noqa: S310 -- the scheme was checked
    handlers: list[urllib.request.BaseHandler] = [_NoRedirect()]
    if parts.scheme == "https":
        handlers.append(urllib.request.HTTPSHandler(context=tls_of(settings)))
    try:
        with urllib.request.build_opener(*handlers).open(request, timeout=_TIMEOUT_S) as reply:
            return _document(reply.read(_LARGEST + 1))
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == 404:
            return None
        if error.code in (401, 403):
            raise ClusterRejected(
                f"{shown}: HTTP {error.code}: correct schema.registry.basic.auth.user.info"
            ) from None
        raise ClusterUnavailable(f"{shown}: HTTP {error.code}") from None
    except (OSError, ValueError) as error:
        raise ClusterUnavailable(f"{shown}: {getattr(error, 'reason', None) or error}") from None


def _headers(place: str, settings: Mapping[str, str]) -> dict[str, str]:
    login = settings.get("basic.auth.user.info", "") or place.rpartition("@")[0]
    shown = {"Accept": _ACCEPT}
    if login:
        shown["Authorization"] = f"Basic {base64.b64encode(login.encode()).decode()}"
    return shown


def _document(content: bytes) -> dict[str, Any]:
    if len(content) > _LARGEST:
        raise ValueError(f"its answer has more than {_LARGEST >> 20} MB")
    found = json.loads(content)
    if isinstance(found, dict) and isinstance(found.get("schema"), str):
        return found
    raise ValueError("its answer is not a schema")
