"""Generates the events of a fictional web shop for the demo. Pure: random by a seed."""

from __future__ import annotations

import json
import random
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


class ShopEvent(NamedTuple):
    """One record to produce."""

    topic: str
    key: bytes | None
    value: bytes | None  # None: the customer asked to be forgotten
    headers: tuple[tuple[str, bytes], ...]


@dataclass(frozen=True, slots=True)
class ShopTopic:
    """A topic of the shop."""

    weight: int  # share of all events, in percent
    compression: str


KINDS: Mapping[str, ShopTopic] = {
    "clicks": ShopTopic(60, "snappy"),
    "orders": ShopTopic(20, "lz4"),
    "payments": ShopTopic(15, "zstd"),
    "customers": ShopTopic(5, "gzip"),
}
_PAGES = ("/", "/search", "/cart", "/checkout", "/product", "/account", "/help")
_GOODS = ("lamp", "desk", "chair", "shelf", "rug", "sofa", "mirror", "vase", "clock", "bed")
_ITEM = ("article", "count", "price")
_TOWNS = ("Zürich", "Porto", "Łódź", "Malmö", "Cork", "Gent", "Graz", "Turin")


class ShopEvents:
    """Generates realistic events; equal seeds yield equal events."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)  # noqa: S311 - no secret, repeatable on purpose
        self._open_orders: deque[dict[str, Any]] = deque(maxlen=1_000)
        self._orders = 0

    def next_event(self, now_ms: int) -> ShopEvent:
        """Return the next event."""
        weights = [kind.weight for kind in KINDS.values()]
        topic = self._chance.choices(list(KINDS), weights)[0]
        match topic:
            case "clicks":
                return self._click(now_ms)
            case "payments" if self._open_orders:
                return self._payment(now_ms)
            case "customers":
                return self._customer(now_ms)
        return self._order(now_ms)

    def _click(self, now_ms: int) -> ShopEvent:
        value = {"page": self._chance.choice(_PAGES), "at": now_ms, "session": self._hex(8)}
        known = self._chance.random() < 0.7
        return ShopEvent("clicks", self._customer_key() if known else None, _json(value), ())

    def _order(self, now_ms: int) -> ShopEvent:
        self._orders += 1
        items = [
            (self._chance.choice(_GOODS), self._chance.randint(1, 4), self._chance.randint(5, 900))
            for _ in range(self._chance.choice((1, 1, 2, 3, 8, 40)))
        ]
        order = {"order": f"o-{self._orders:08d}", "customer": self._customer_key().decode()}
        self._open_orders.append(
            {**order, "total": sum(count * price for _, count, price in items)}
        )
        value = _json(
            {
                **order,
                "at": now_ms,
                "items": [dict(zip(_ITEM, each, strict=True)) for each in items],
            }
        )
        return ShopEvent("orders", order["order"].encode(), value, self._headers("order.placed"))

    def _payment(self, now_ms: int) -> ShopEvent:
        order = self._open_orders.popleft()
        method = self._chance.choice(("card", "invoice", "transfer"))
        value = _json({**order, "at": now_ms, "method": method, "signature": self._hex(64)})
        return ShopEvent(
            "payments", order["order"].encode(), value, self._headers("payment.settled")
        )

    def _customer(self, now_ms: int) -> ShopEvent:
        key = self._customer_key()
        if self._chance.random() < 0.02:
            return ShopEvent("customers", key, None, self._headers("customer.forgotten"))
        value = {"town": self._chance.choice(_TOWNS), "since": now_ms, "note": self._hex(100)}
        return ShopEvent("customers", key, _json(value), self._headers("customer.changed"))

    def _customer_key(self) -> bytes:
        return b"c-%05d" % self._chance.randrange(20_000)

    def _headers(self, event: str) -> tuple[tuple[str, bytes], ...]:
        return (("event", event.encode()), ("trace", self._hex(16).encode()))

    def _hex(self, digits: int) -> str:
        return f"{self._chance.getrandbits(4 * digits):0{digits}x}"


def _json(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
