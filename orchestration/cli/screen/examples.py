"""Examples below the help of each command, by the words that call it."""

from __future__ import annotations

from typing import Any

EXAMPLES: dict[str, tuple[str, ...]] = {
    "demo": ("isthmus demo", "isthmus demo active-active"),
    "run": ("isthmus run mm2.properties", "isthmus run mm2.properties --detach --port 3000"),
    "batch": (
        "isthmus batch mm2.properties",
        "isthmus batch mm2.properties --flow east:west -o json",
    ),
    "backfill": (
        "isthmus backfill mm2.properties --flow east:west --dry-run",
        "isthmus backfill mm2.properties --flow east:west --from 2026-05-01T08:00:00Z",
    ),
    "init": (
        "isthmus init",
        "isthmus init --source east=east-1:9092 --target west=west-1:9092 --topics 'orders.*'",
    ),
    "check": ("isthmus check mm2.properties", "isthmus check mm2.properties --all"),
    "doctor": (
        "isthmus doctor mm2.properties",
        "isthmus doctor mm2.properties --problems -o json",
    ),
    "plan": ("isthmus plan mm2.properties", "isthmus plan mm2.properties --flow east:west"),
    "apply": ("isthmus apply mm2.properties", "isthmus apply mm2.properties -o json"),
    "set": (
        "isthmus set mm2.properties lag.sla.seconds 120",
        "isthmus set mm2.properties 'east->west.topics' 'orders, payments' --dry-run",
    ),
    "topology": (
        "isthmus topology mm2.properties",
        "isthmus topology mm2.properties --topics -o mermaid",
    ),
    "acls needed": (
        "isthmus acls needed mm2.properties",
        "isthmus acls needed mm2.properties -o commands --principal User:mirror",
    ),
    "status": (
        "isthmus status mm2.properties --watch",
        "isthmus status mm2.properties -o json | jq .healthy",
    ),
    "pause": (
        "isthmus pause mm2.properties --flow east:west",
        "isthmus pause mm2.properties --all",
    ),
    "resume": ("isthmus resume mm2.properties --flow east:west",),
    "stop": ("isthmus stop mm2.properties --flow east:west", "isthmus stop mm2.properties --all"),
    "restart": (
        "isthmus restart mm2.properties --flow east:west",
        "isthmus restart mm2.properties --all --wait 300",
    ),
    "logs": (
        "isthmus logs mm2.properties",
        "isthmus logs mm2.properties --flow east:west --follow",
    ),
    "report": (
        "isthmus report mm2.properties",
        "isthmus report mm2.properties --seconds 60 --file /var/www/isthmus.html",
    ),
    "resolve": (
        "isthmus resolve mm2.properties",
        "isthmus resolve mm2.properties skip --flow east:west --topic orders --partition 3",
    ),
    "losses": ("isthmus losses mm2.properties", "isthmus losses mm2.properties -o json"),
    "takeover": (
        "isthmus takeover --from-mm2 mm2.properties",
        "isthmus takeover --from-mm2 mm2.properties --all --yes",
    ),
    "handback": ("isthmus handback --to-mm2 mm2.properties --all --yes",),
    "failover": (
        "isthmus failover mm2.properties --flow east:west --dry-run",
        "isthmus failover mm2.properties --flow east:west",
    ),
    "failback": (
        "isthmus failback mm2.properties --flow east:west --dry-run",
        "isthmus failback mm2.properties --flow east:west --tail keep",
    ),
    "switchover": (
        "isthmus switchover mm2.properties --flow east:west --dry-run",
        "isthmus switchover mm2.properties --flow east:west --deny-writes",
    ),
    "drill": (
        "isthmus drill mm2.properties --flow east:west --dry-run",
        "isthmus drill mm2.properties --flow east:west --yes",
    ),
    "transform": (
        "isthmus transform mm2.properties --topic orders",
        "isthmus transform mm2.properties -f east:west -t orders --preview 50 -o json",
    ),
    "heartbeats": ("isthmus heartbeats mm2.properties",),
    "offsets translate": (
        "isthmus offsets translate mm2.properties -f east:west --topic t --partition 0 --offset 54",
    ),
    "offsets diff": ("isthmus offsets diff mm2.properties --flow east:west",),
    "offsets sync": ("isthmus offsets sync mm2.properties --flow east:west",),
    "offsets set": ("isthmus offsets set mm2.properties --flow east:west --group billing --yes",),
    "offsets export": ("isthmus offsets export mm2.properties -o csv > groups.csv",),
    "offsets import": (
        "isthmus offsets import mm2.properties groups.csv --flow east:west",
        "isthmus offsets import mm2.properties groups.csv --flow east:west --yes",
    ),
    "smoke": ("isthmus smoke", "isthmus smoke failover"),
    "down": ("isthmus down",),
    "verify": (
        "isthmus verify mm2.properties --flow east:west",
        "isthmus verify mm2.properties --topics 'orders.*' --full -o json",
    ),
    "compare": (
        "isthmus compare mm2.properties",
        "isthmus compare mm2.properties --flow east:west --topics orders --wait 60",
    ),
    "alert test": ("isthmus alert test mm2.properties",),
    "completion": ("isthmus completion bash > ~/.local/share/bash-completion/completions/isthmus",),
    "dev up": ("isthmus dev up", "isthmus dev up --clusters 3 --brokers 3"),
    "dev down": ("isthmus dev down", "isthmus dev down --remove"),
    "dev status": ("isthmus dev status",),
}


def with_examples(command: Any, words: str) -> Any:
    """Return a command of Click's, whose help, and that of its subcommands, ends with examples."""
    for name, each in getattr(command, "commands", {}).items():
        with_examples(each, f"{words} {name}")
    if words in EXAMPLES:
        # An empty line between two paragraphs becomes the end of a line.
        command.epilog = "\n\n".join(("Examples:", *(f"  {each}" for each in EXAMPLES[words])))
    return command
