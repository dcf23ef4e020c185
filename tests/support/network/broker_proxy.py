"""Puts every broker behind a proxy, for a unit in this process."""

from __future__ import annotations

from chaos.proxy import Proxy
from replication.adapters.wire import connect


class Proxies:
    """``connect`` as the copier's own, but every broker is reached through a proxy."""

    def __init__(self) -> None:
        self._by_address: dict[tuple[str, int], Proxy] = {}

    def connect(self, properties, client_id, verify):
        network = connect(properties, client_id, verify)
        lines = network._connections
        learn, lines.brokers = lines.learn, self._all(lines.brokers)
        lines.learn = lambda brokers: learn(self._all(brokers))
        return network

    def cut(self) -> int:
        return sum(each.cut() for each in self.proxies)

    def close(self) -> None:
        for each in self.proxies:
            each.close()

    @property
    def proxies(self) -> list[Proxy]:
        return list(self._by_address.values())

    def _all(self, brokers):
        return {node: self._before(address) for node, address in brokers.items()}

    def _before(self, address):
        if any(each.address == address for each in self.proxies):
            return address
        if address not in self._by_address:
            self._by_address[address] = Proxy(address)
        return self._by_address[address].address
