"""Tables: runs, tools, plugins."""

from __future__ import annotations

from collections.abc import Iterable

from rich.table import Table
from rich.text import Text

from salvor.cli.render import printable, when_micros
from salvor.cli.render_tool import operator_words
from salvor.plugins.inspection import Finding
from salvor.plugins.loader import PluginReport
from salvor.registry.registry import Registry
from salvor.runtime.operator import RunSummary
from salvor.tools.function import NATIVE, FunctionTool

COLOURS = {
    "completed": "green",
    "failed": "red",
    "unreadable": "red",
    "abandoned": "red",
    "unsupported": "red",
    "needs-reconciliation": "bold red",
    "sleeping": "yellow",
    "budget-exceeded": "yellow",
    "suspended": "yellow",
    "loaded": "green",
    "blocked": "yellow",
    "shadowed": "yellow",
    "unconfigured": "yellow",
    "ok": "green",
    "warning": "yellow",
    "error": "bold red",
    "read": "green",
    "idempotent": "yellow",
    "write": "red",
}


def table(*columns: str) -> Table:
    """A plain table: a header, and cells that stay on one line."""
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name in columns:
        made.add_column(name, no_wrap=True)
    return made


def coloured(word: str) -> Text:
    """A status or an effect in its colour."""
    return Text(word, style=COLOURS.get(word, ""))


def runs_table(runs: Iterable[RunSummary]) -> Table:
    """One line a run."""
    made = table("RUN ID", "STATUS", "EVENTS", "STARTED", "LAST ACTIVITY", "WORKFLOW", "NOTE")
    for run in runs:
        made.add_row(
            run.run_id,
            coloured(run.status),
            str(run.events),
            when_micros(run.started),
            when_micros(run.last_activity),
            Text(printable(_driver_of(run))),
            Text(_note(run)),
        )
    return made


def _driver_of(run: RunSummary) -> str:
    if run.session is not None:
        return f"session {run.session}"
    return run.workflow or "-"


def _note(run: RunSummary) -> str:
    if run.waiting is not None:
        return f"waits for run {run.waiting.holder_run} ({run.waiting.tool})"
    if run.driver is not None:
        return f"driven by process {run.driver.pid} on {run.driver.host}"
    if run.session is not None and run.status in ("running", "awaiting-tool"):
        return "its own loop goes on with it"
    if run.status == "running":
        return "driven by nobody: resume goes on"
    return ""


def tools_table(registry: Registry, tools: Iterable[FunctionTool]) -> Table:
    """One line a tool; a column more where the operator's word differs from a declaration."""
    found = [(tool, operator_words(registry, tool)) for tool in tools]
    operated = any(words for _, words in found)
    columns = ("OPERATOR", "DESCRIPTION") if operated else ("DESCRIPTION",)
    made = table("TOOL", "EFFECT", "KEYED", "FROM", *columns)
    for tool, words in found:
        first = tool.description.strip().splitlines()
        said = [Text(printable("; ".join(words) or "-"))] if operated else []
        made.add_row(
            tool.name,
            coloured(tool.effect),
            "yes" if tool.meta.idempotency_key is not None else "-",
            Text(_source(tool)),
            *said,
            Text(printable(first[0]) if first else ""),
        )
    return made


def _source(tool: FunctionTool) -> str:
    return tool.module if tool.source_id == NATIVE else tool.source_id


def plugins_table(reports: Iterable[PluginReport]) -> Table:
    """One line a plugin."""
    made = table("DISTRIBUTION", "VERSION", "ENTRY POINT", "STATUS", "TOOLS", "SECONDS", "NOTE")
    for report in reports:
        made.add_row(
            report.distribution,
            report.version or "-",
            f"{report.entry_point} = {report.value}",
            coloured(report.status),
            str(len(report.tools)) if report.status == "loaded" else "-",
            f"{report.seconds:.3f}" if report.status in ("loaded", "failed") else "-",
            Text(printable(report.note or _beside_tools(report))),
        )
    return made


def _beside_tools(report: PluginReport) -> str:
    return ", ".join(hook for hook in report.hooks if hook != "salvor_register_tools")


def findings_table(findings: Iterable[Finding]) -> Table:
    """One line a finding of `salvor doctor`."""
    made = table("", "ABOUT", "FOUND")
    for finding in findings:
        made.add_row(
            coloured(finding.level), Text(finding.subject), Text(printable(finding.message))
        )
    return made
