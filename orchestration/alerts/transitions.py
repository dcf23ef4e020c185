"""Decides which incidents are alerts now, in which words, and how often. Pure."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

from orchestration.alerts.alert import PROBLEM, RESOLVED, Alert, lines, since, some
from orchestration.alerts.runbooks import runbook
from replication.supervision.partition_states import by_state

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from orchestration.alerts.incidents import Incident

CLEAR_S = 15.0  # an incident is over once it is gone for so long
FLAPS, FLAP_S = 3, 1800.0  # more beginnings in this time are no alerts
AT_ONCE = 5  # more beginnings, or ends, of one moment are one alert
MOST, WINDOW_S = 20, 600.0  # alerts in this time; others are sent later, if they are still true
MORE_S = 300.0  # between two alerts of an incident to which more topics come
_REMEMBERED = 50  # topics of an incident
_SHOWN = 30  # titles of those that are one alert


_FLAPPING = f"began {FLAPS} times in half an hour: the next alert is sent only when it lasts"


@dataclass(frozen=True, slots=True)
class IncidentMemory:
    """What is remembered of one incident. Times are in ms since 1970; 0: not."""

    since: int  # when it was first seen
    open: int = 0  # when it had lasted for long enough
    told: int = 0  # when an alert of that was sent
    gone: int = 0  # when it was first not seen any more
    begun: tuple[int, ...] = ()  # when it was opened, of late
    named: tuple[
        str, ...
    ] = ()  # the topics that are not copied, with states, as the alert had them

    def until(self, now_ms: int) -> Self:
        """Return the memory without moments of a future."""
        return replace(
            self,
            since=min(self.since, now_ms),
            open=min(self.open, now_ms),
            told=min(self.told, now_ms),
            gone=min(self.gone, now_ms),
            begun=tuple(min(each, now_ms) for each in self.begun),
        )


@dataclass(frozen=True, slots=True)
class AlertMemory:
    """Kept in the sensor's cursor. Safe to lose: an alert of what is open then is sent again."""

    known: Mapping[str, IncidentMemory] = field(default_factory=dict)
    sent: tuple[int, ...] = ()  # when alerts were sent, of late

    @classmethod
    def parse(cls, stored: Any) -> Self:
        """Return what ``dump`` has written; an empty one where it is not readable."""
        try:
            known = {
                subject: IncidentMemory(
                    **{**each, "begun": tuple(each["begun"]), "named": tuple(each.get("named", ()))}
                )
                for subject, each in stored["known"].items()
            }
            return cls(known, tuple(stored["sent"]))
        except (TypeError, KeyError, AttributeError):
            return cls()

    def dump(self) -> dict[str, Any]:
        return asdict(self)

    def until(self, now_ms: int) -> Self:
        """Return the memory without moments of a future: the clock was ahead, and was set back."""
        known = {subject: each.until(now_ms) for subject, each in self.known.items()}
        return replace(self, known=known, sent=tuple(min(each, now_ms) for each in self.sent))


def transitions(
    now: Mapping[str, Incident],
    states: Mapping[str, str],
    memory: AlertMemory,
    now_ms: int,
    base: str,
) -> tuple[tuple[Alert, ...], AlertMemory]:
    """Return the alerts of this moment, and what to remember.

    ``states``: each flow's state and reason, for what is over; ``base``: where the runbooks are.
    """
    memory = memory.until(now_ms)
    sent = _recent(memory.sent, now_ms, WINDOW_S)
    may_tell = len(sent) < MOST
    known, begins, ends = {}, [], []
    for subject, incident in now.items():
        seen = known[subject] = _seen(memory.known.get(subject), incident, now_ms)
        is_due = not seen.told or _has_more(incident, seen, now_ms)
        if may_tell and seen.open and is_due and len(seen.begun) <= FLAPS:
            known[subject] = replace(seen, told=now_ms, named=_named(incident))
            begins.append(_problem(incident, seen, now_ms, base))
    hidden = _hidden(now.values())
    for subject in memory.known.keys() - now.keys():
        if subject in hidden:
            known[subject] = memory.known[subject]
            continue
        missed = _missed(memory.known[subject], now_ms)
        over = missed.open and now_ms - missed.gone >= CLEAR_S * 1000
        if over and missed.told and may_tell:
            ends.append(_resolved(subject, states, missed, now_ms))
        if over and (may_tell or not missed.told):
            missed = replace(missed, open=0, told=0)
        if missed.open or missed.begun:
            known[subject] = missed
    alerts = (*_as_one(begins, now_ms), *_as_one(ends, now_ms))
    return alerts, AlertMemory(known, (*sent, *(now_ms for _ in alerts)))


def _hidden(now: Iterable[Incident]) -> frozenset[str]:
    """Return the flows of which nothing is known, as their driver or a cluster is gone.

    What was wrong with them before is not resolved by that.
    """
    gone = (each for each in now if each.state in {"DEAD", "UNREACHABLE"})
    return frozenset(flow for each in gone for flow in each.flows)


def _named(incident: Incident) -> tuple[str, ...]:
    """Return the topics of an incident that are remembered, each with its state."""
    return tuple(f"{topic} {state}" for topic, state in incident.halted[:_REMEMBERED])


def _has_more(incident: Incident, known: IncidentMemory, now_ms: int) -> bool:
    """Say whether topics came that no alert named: in another state at once, others later."""
    fresh = set(_named(incident)) - set(known.named)
    states = {each.rpartition(" ")[2] for each in fresh}
    named = {each.rpartition(" ")[2] for each in known.named}
    return bool(states - named) or (bool(fresh) and now_ms - known.told >= MORE_S * 1000)


def _seen(known: IncidentMemory | None, incident: Incident, now_ms: int) -> IncidentMemory:
    """Return what is known of an incident that is there."""
    begun = _recent(known.begun, now_ms, FLAP_S) if known else ()
    if known is None or (known.gone and not known.open):
        known = IncidentMemory(now_ms)
    if not known.open and now_ms - known.since >= incident.hold_s * 1000:
        return replace(known, open=now_ms, gone=0, begun=(*begun, now_ms))
    return replace(known, gone=0, begun=begun)


def _missed(known: IncidentMemory, now_ms: int) -> IncidentMemory:
    """Return what is known of an incident that is not there."""
    begun = _recent(known.begun, now_ms, FLAP_S)
    return replace(known, gone=known.gone or now_ms, begun=begun)


def _recent(moments: Iterable[int], now_ms: int, span_s: float) -> tuple[int, ...]:
    return tuple(each for each in moments if now_ms - each < span_s * 1000)


def _problem(incident: Incident, known: IncidentMemory, now_ms: int, base: str) -> Alert:
    book = runbook(incident.state, *(each for each in incident.checks if each != "healthy"))
    link = f"{base}#{book.section}"
    checks = ", ".join(incident.checks)
    text = lines(
        f"{incident.subject} is {incident.state} ({checks} failed)",
        reason=incident.reason,
        since=since(known.since, now_ms),
        not_copied=by_state(incident.halted),
        flows=some(incident.flows) if incident.flows != (incident.subject,) else "",
        at_risk=some(incident.at_risk),
        do=book.to_do(incident.flows),
        runbook=link,
        note=_FLAPPING if len(known.begun) == FLAPS else "",
    )
    return Alert(
        PROBLEM,
        incident.subject,
        text,
        now_ms,
        state=incident.state,
        since_ms=known.since,
        flows=incident.flows,
        at_risk=incident.at_risk[:10],
        halted=_named(incident),
        runbook=link,
    )


def _resolved(subject: str, states: Mapping[str, str], known: IncidentMemory, now_ms: int) -> Alert:
    text = lines(
        f"{subject}: resolved",
        now=states.get(subject, ""),
        began=since(known.since, now_ms),
    )
    return Alert(RESOLVED, subject, text, now_ms, since_ms=known.since)


def _as_one(alerts: list[Alert], now_ms: int) -> list[Alert]:
    """Return the alerts, or one that lists them where they are many."""
    if len(alerts) <= AT_ONCE:
        return alerts
    subjects = tuple(each.subject for each in alerts)
    verb = "have begun" if alerts[0].kind == PROBLEM else "are resolved"
    titles = [each.title for each in alerts[:_SHOWN]]
    more = [f"and {len(alerts) - _SHOWN} more"] if alerts[_SHOWN:] else []
    text = "\n".join([f"{len(alerts)} incidents {verb}", *titles, *more])
    at_risk = tuple(part for each in alerts for part in each.at_risk)[:_SHOWN]
    subject = f"{len(alerts)} incidents"
    return [Alert(alerts[0].kind, subject, text, now_ms, flows=subjects, at_risk=at_risk)]
