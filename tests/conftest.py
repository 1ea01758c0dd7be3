"""What all tests share: both event loops, and no silent skip where it counts."""

from __future__ import annotations

import os

import pytest


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    backend: str = request.param
    return backend


def _skipped(session: pytest.Session) -> list[str]:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None:
        return []
    return [report.nodeid for report in reporter.stats.get("skipped", [])]


def pytest_sessionfinish(session: pytest.Session) -> None:
    """With CI=true a skipped test is a failure: it proves nothing there."""
    if os.environ.get("CI") == "true" and _skipped(session):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    skipped = terminalreporter.stats.get("skipped", [])
    if os.environ.get("CI") == "true" and skipped:
        terminalreporter.section("skipped, which fails the build when CI=true", red=True)
        for report in skipped:
            terminalreporter.write_line(f"SKIPPED {report.nodeid}")
