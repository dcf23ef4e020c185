"""Judges connections to a cluster's addresses: DNS, port, TLS, login, certificates. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orchestration.diagnosis.finding import DiagnosisFinding, FindingLevel, some
from replication.client.cluster_facts import ConnectionStep
from replication.durations import format_moment

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from replication.client.cluster_facts import AddressFacts, Certificate

DAY_MS = 86_400_000
SOON_DAYS = 30  # a certificate that ends within so many days is a warning
_TO_DO = {
    ConnectionStep.DNS: "correct bootstrap.servers, or this machine's name resolution",
    ConnectionStep.PORT: "start the broker, or correct port, firewall, or security.protocol",
    ConnectionStep.TLS: "set ssl.truststore.location to a store with the CA certificate of the "
    "brokers",
    ConnectionStep.LOGIN: "correct sasl.mechanism and sasl.jaas.config, or create the user "
    "on the cluster",
}
_NAME_TO_DO = (
    "use a name of the certificate in bootstrap.servers and advertised.listeners, or have the "
    "certificate issued for this one"
)
_ADVERTISED_TO_DO = (
    "clients connect to the addresses that brokers advertise: set advertised.listeners so that "
    "this machine reaches them"
)


def judge_addresses(
    where: str, found: Sequence[AddressFacts], now_ms: int, *, advertised: bool = False
) -> Iterator[DiagnosisFinding]:
    """Yield findings about the addresses of one cluster.

    A bootstrap address that fails is a warning while another one works. ``advertised``: of the
    brokers themselves, each of which is needed.
    """
    works = any(each.failed is None for each in found)
    level = FindingLevel.WARNING if works and not advertised else FindingLevel.ERROR
    for each in found:
        if each.failed is not None:
            yield _failed(where, each, level, advertised=advertised)
    if good := [each for each in found if each.failed is None]:
        kind = "advertised addresses" if advertised else "bootstrap.servers"
        names = some(each.address for each in good)
        yield DiagnosisFinding(FindingLevel.OK, where, "connection", f"{kind}: {names} answer")
    yield from _ending(where, [each for each in found if each.certificates], now_ms)


def _failed(
    where: str, each: AddressFacts, level: FindingLevel, *, advertised: bool
) -> DiagnosisFinding:
    step = each.failed or ConnectionStep.PORT
    to_do = _TO_DO[step]
    what = f"{each.address}: {each.problem}"
    if step is ConnectionStep.TLS:
        if each.certificates:
            what += f"; it presents {_named(each.certificates[0])}"
        if "mismatch" in each.problem.lower() or "doesn't match" in each.problem:
            to_do = _NAME_TO_DO
        elif "expired" in each.problem:
            to_do = "renew the broker's certificate"
    elif advertised and step in {ConnectionStep.DNS, ConnectionStep.PORT}:
        to_do = _ADVERTISED_TO_DO
    return DiagnosisFinding(level, where, str(step), what, to_do)


def _ending(where: str, found: Iterable[AddressFacts], now_ms: int) -> Iterator[DiagnosisFinding]:
    """Yield when the first certificate of the chains that are in use ends."""
    chains = [(min(each.certificates, key=_end), each.address) for each in found if not each.failed]
    if not chains:
        return
    first, address = min(chains, key=lambda each: _end(each[0]))
    days = (first.ends_ms - now_ms) // DAY_MS
    what = f"{address}: certificate {_named(first)}, {days} days from now"
    soon = days < SOON_DAYS
    yield DiagnosisFinding(
        FindingLevel.WARNING if soon else FindingLevel.OK,
        where,
        str(ConnectionStep.TLS),
        what,
        "renew it before: connections fail from then on" if soon else "",
    )


def _end(certificate: Certificate) -> int:
    return certificate.ends_ms


def _named(certificate: Certificate) -> str:
    until = format_moment(certificate.ends_ms)
    return f"{certificate.subject}, issued by {certificate.issuer}, valid until {until} UTC"
