"""The pytest plugin: the fixture `path`, its options, and annotations of a forge.

pytest loads this module in each session, by the entry point `pytest11`. It imports nothing else until a test uses the
fixture.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from bentpipe.testing.path import Maker

PROPERTY = "bentpipe"
"""Property of a report whose test used the fixture. JUnit files have it, too."""
UNFIT = ("skip", "fail")
"""Outcomes of a test if the machine is unfit."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options. Each has a key of the same name in the configuration."""
    group = parser.getgroup("bentpipe", "bentpipe: programs over paths")
    group.addoption(
        "--bentpipe-unfit",
        choices=UNFIT,
        help="Outcome of a test if the machine is too loaded or allows no emulation. Default: skip.",
    )
    group.addoption(
        "--bentpipe-attempts",
        type=int,
        metavar="N",
        help="Most runs of a program until its run is trustworthy. Default: 5.",
    )
    group.addoption(
        "--bentpipe-baseline", metavar="FILE", help="File with baselines. Default: bentpipe-baseline.json in the root."
    )
    group.addoption(
        "--bentpipe-update", action="store_true", help="Write the baselines of this session instead of comparing."
    )
    parser.addini("bentpipe_unfit", "Outcome of a test on an unfit machine: skip or fail", default="skip")
    parser.addini("bentpipe_attempts", "Most runs of a program until its run is trustworthy", default="5")
    parser.addini("bentpipe_baseline", "File with baselines", default="bentpipe-baseline.json")


@pytest.fixture
def path(request: pytest.FixtureRequest) -> Maker:
    """Make paths for programs, from a scenario and a seed or from the values of one link."""
    from bentpipe.testing.path import Maker

    def choose(name: str) -> str:
        return str(request.config.getoption(f"--bentpipe-{name}") or request.config.getini(f"bentpipe_{name}"))

    is_failure = choose("unfit") == "fail"

    def give_up(reason: str) -> None:
        if is_failure:
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)

    def record(text: str) -> None:
        request.node.user_properties.append((PROPERTY, text))

    return Maker(
        attempts=int(choose("attempts")),
        give_up=give_up,
        record=record,
        baselines=request.config.rootpath / choose("baseline"),
        is_update=bool(request.config.getoption("--bentpipe-update")),
    )


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print annotations of failed and skipped tests that used a path, where GitHub reads them."""
    if os.environ.get("GITHUB_ACTIONS") != "true":
        return
    for kind, outcomes in (("error", ("failed", "error")), ("warning", ("skipped",))):
        for outcome in outcomes:
            for report in terminalreporter.stats.get(outcome, ()):
                if any(name == PROPERTY for name, _ in getattr(report, "user_properties", ())):
                    terminalreporter.write_line(annotate(kind, report))


def annotate(kind: str, report: pytest.TestReport) -> str:
    """Write a report as a workflow command of GitHub: `::error file=...,line=...,title=...::text`."""
    file, line, name = report.location
    crash = getattr(report.longrepr, "reprcrash", None)
    reason = (
        report.longrepr[2] if isinstance(report.longrepr, tuple) else getattr(crash, "message", report.longreprtext)
    )
    values = {"file": file, "line": str((line or 0) + 1), "title": name}
    properties = ",".join(f"{key}={_escape(value, is_property=True)}" for key, value in values.items())
    return f"::{kind} {properties}::{_escape(str(reason))}"


def _escape(text: str, *, is_property: bool = False) -> str:
    """Escape the signs that end a workflow command or one of its properties."""
    signs = {"%": "%25", "\r": "%0D", "\n": "%0A"} | ({":": "%3A", ",": "%2C"} if is_property else {})
    for sign, escaped in signs.items():
        text = text.replace(sign, escaped)
    return text
