"""Addresses of brokers as text."""

from __future__ import annotations


def address(host: str, port: int) -> str:
    """Return ``host:port``, with brackets around an IPv6 address."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def split_address(text: str) -> tuple[str, int]:
    """Return host and port of ``host:port``; an IPv6 address loses its brackets."""
    host, _, port = text.strip().rpartition(":")
    return host.strip("[]"), int(port)
