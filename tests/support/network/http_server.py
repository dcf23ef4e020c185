"""HTTP servers of tests: they serve while a block runs, and leave no thread and no socket."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from http.server import HTTPServer


@contextmanager
def serving(server: HTTPServer) -> Iterator[None]:
    """Serve in a thread of its own until the block ends, however it does."""
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
