"""TCP proxies before brokers, whose connections a test can cut, as a failing network would."""

from __future__ import annotations

import contextlib
import socket
import threading

from replication.adapters.wire import connect


class Proxy:
    """Forwards connections to one address, through a port of its own."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.behind = address
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.address: tuple[str, int] = self._listening.getsockname()
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> int:
        """Cut all connections in the middle of whatever they carry; return how many there were."""
        cut, self._open = self._open, []
        for each in cut:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        return len(cut)

    def close(self) -> None:
        self._listening.close()
        self.cut()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listening.accept()
                far = socket.create_connection(self.behind)
                self._open += [near, far]
                for pair in ((near, far), (far, near)):
                    threading.Thread(target=_pump, args=pair, daemon=True).start()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(1 << 16):
            sink.sendall(data)
    for each in (source, sink):
        with contextlib.suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
    source.close()  # each socket is read by one thread, which closes it


class Proxies:
    """``connect`` as the copier's own, but every broker is reached through a proxy."""

    def __init__(self) -> None:
        self._by_address: dict[tuple[str, int], Proxy] = {}

    def connect(self, properties, client_id):
        network = connect(properties, client_id)
        lines = network._lines
        learn, lines.brokers = lines.learn, self._all(lines.brokers)
        lines.learn = lambda brokers: learn(self._all(brokers))
        return network

    def cut(self) -> int:
        return sum(each.cut() for each in self._by_address.values())

    def close(self) -> None:
        for each in self._by_address.values():
            each.close()

    def _all(self, brokers):
        return {node: self._before(address) for node, address in brokers.items()}

    def _before(self, address):
        if any(each.address == address for each in self._by_address.values()):
            return address
        if address not in self._by_address:
            self._by_address[address] = Proxy(address)
        return self._by_address[address].address
