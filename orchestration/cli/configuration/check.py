"""``isthmus check``: shows a file's flows, the origin of each setting, and the file's errors."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from rich.text import Text

from orchestration.alerts.channel_findings import channel_findings
from orchestration.cli.flows.flow_options import File  # noqa: TC001 - Typer reads the annotations
from orchestration.cli.screen.console import console
from orchestration.cli.screen.errors import end
from orchestration.cli.screen.output import Format, Output, print_data
from orchestration.cli.screen.text_table import Column, TextTable
from replication.config.file.findings import ConfigFinding, Severity, errors
from replication.config.file.properties import as_written
from replication.config.load import Loaded, examine
from replication.config.sections.clients import CLIENT_PREFIXES
from replication.config.sections.section_reader import DEFAULT
from replication.errors import ConfigError
from replication.naming.topic_namer import rule_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from replication.config.sections.section_reader import SettingInForce
    from replication.settings.flow_settings import Flow

_STYLE = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.INFO: "dim"}


def check(
    file: File,
    lenient: Annotated[  # noqa: FBT002 -- a flag of the command line
        bool,
        typer.Option("--lenient", help="Report unknown keys as warnings, as MirrorMaker 2 does."),
    ] = False,
    clusters: Annotated[  # noqa: FBT002 -- a flag of the command line
        bool,
        typer.Option(
            "--clusters",
            help="Also ask the clusters what was copied before: changed topic names and aliases.",
        ),
    ] = False,
    all_: Annotated[  # noqa: FBT002 -- a flag of the command line
        bool, typer.Option("--all", help="Show all settings, not just those that the file sets.")
    ] = False,
    output: Format = Output.TEXT,
) -> None:
    """Check a configuration file: its flows, the settings that it sets, and its errors.

    Connects to no cluster without --clusters. Exit code 2: the file has errors. 1: it has none,
    and a cluster that --clusters asks did not answer.
    """
    try:
        loaded, findings = examine(file, lenient=lenient)
    except ConfigError as error:
        _refuse(str(error), output)
    if loaded is not None:
        findings = (*findings, *channel_findings(loaded))
        findings = tuple(sorted(findings, key=lambda each: (each.line, each.key)))
    wrong = errors(findings)
    silent: tuple[str, ...] = ()
    if clusters and loaded is not None and not wrong:
        from orchestration.cli.configuration.check_clusters import cluster_findings  # noqa: PLC0415 - Kafka's clients, only with --clusters

        found, silent = cluster_findings(loaded.config)
        findings = (*findings, *found)
    if not output.is_text:
        print_data(as_json(file, loaded, findings), output)
    else:
        _print(None if wrong else loaded, findings, all_=all_)
    line = _summary(file, None if wrong else loaded, findings)
    if silent:
        line = f"{line}; not all clusters answered: {'; '.join(silent)}"
    end(2 if wrong else 1 if silent else 0, line, is_output=output.is_text)


def as_json(
    file: Path, loaded: Loaded | None, findings: Iterable[ConfigFinding]
) -> Mapping[str, Any]:
    """Return the result for other programs. Secrets are masked in it."""
    findings = tuple(findings)
    ok = not errors(findings)
    flows = loaded.config.flows if loaded and ok else ()
    origins = loaded.origins if loaded and ok else {}
    return {
        "file": str(file),
        "ok": ok,
        "flows": [_flow_json(flow, origins.get(flow.name, ())) for flow in flows],
        "settings": [_setting_json(each) for each in origins.get("", ())],
        "findings": [
            {
                "severity": each.severity,
                "file": str(each.file),
                "line": each.line,
                "key": each.key,
                "message": each.message,
                "suggestion": each.suggestion,
            }
            for each in findings
        ],
    }


def _flow_json(flow: Flow, settings: Iterable[SettingInForce]) -> Mapping[str, Any]:
    return {
        "name": flow.name,
        "source": flow.source,
        "target": flow.target,
        "names": rule_text(flow),
        "topics": list(flow.selection.topics),
        "topics_exclude": list(flow.selection.topics_exclude),
        "units": flow.copying.units,
        "settings": [_setting_json(each) for each in settings],
    }


def _setting_json(setting: SettingInForce) -> Mapping[str, str]:
    return {"name": setting.name, "value": setting.value, "origin": setting.origin}


def _print(loaded: Loaded | None, findings: Iterable[ConfigFinding], *, all_: bool) -> None:
    screen = console()
    if loaded is not None:
        screen.print(_flow_table(loaded))
        defaults = 0
        for title, settings in grouped(loaded):
            shown = [each for each in settings if all_ or each.origin != DEFAULT]
            defaults += len(settings) - len(shown)
            if shown:
                screen.print(_setting_table(title, shown))
        if defaults:
            screen.print(Text(f"\n{defaults} settings have their defaults: --all shows them"))
    for finding in findings:
        label = Text(f"{finding.severity:<8}", style=_STYLE[finding.severity])
        screen.print(label + Text(str(finding)), soft_wrap=False)


def _flow_table(loaded: Loaded) -> TextTable:
    headers = ("flow", "source", "target", "topics", "excluded", "topic t becomes")
    table = TextTable([*map(Column, headers), Column("units", right=True)], "Flows")
    for flow in loaded.config.flows:
        ends = (loaded.config.clusters[alias] for alias in (flow.source, flow.target))
        table.add(
            flow.name,
            *("\n".join(each.bootstrap_servers) for each in ends),
            "\n".join(flow.selection.topics) or "(none)",
            "\n".join(flow.selection.topics_exclude),
            rule_text(flow),
            str(flow.copying.units),
        )
    return table


def grouped(loaded: Loaded) -> Iterator[tuple[str, tuple[SettingInForce, ...]]]:
    """Yield titles and settings: those that all flows share, then those of each flow.

    The first are lines of the top level. Settings of a flow's clients are set there for no flow.
    """
    flows = [loaded.origins[flow.name] for flow in loaded.config.flows]
    shared = [
        each
        for each in flows[0]
        if all(each in settings for settings in flows)
        and not each.name.startswith(tuple(CLIENT_PREFIXES.values()))
    ]
    yield "Settings of all flows", (*loaded.origins[""], *shared)
    for flow, settings in zip(loaded.config.flows, flows, strict=True):
        if own := tuple(each for each in settings if each not in shared):
            yield f"Settings of {flow.name}", own


def _setting_table(title: str, settings: Iterable[SettingInForce]) -> TextTable:
    table = TextTable([Column("setting"), Column("value"), Column("set in")], f"\n{title}")
    for each in settings:
        origin = Path(each.origin).name if ":" in each.origin else each.origin
        table.add(each.name, as_written(each.value), origin)
    return table


def _summary(file: Path, loaded: Loaded | None, findings: tuple[ConfigFinding, ...]) -> str:
    wrong, warned = (
        _count(sum(each.severity is severity for each in findings), severity.value)
        for severity in (Severity.ERROR, Severity.WARNING)
    )
    if loaded is None:
        return f"{file} is invalid: {wrong}, {warned}; the first: {errors(findings)[0]}"
    flows = _count(len(loaded.config.flows), "flow")
    return f"{file} is valid: {flows}, {warned}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _refuse(message: str, output: Output) -> NoReturn:
    if not output.is_text:
        finding = {"severity": "error", "message": message}
        print_data({"ok": False, "flows": [], "findings": [finding]}, output)
    end(2, message)
