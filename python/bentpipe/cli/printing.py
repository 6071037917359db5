"""Prints results to the standard output and messages to the error output."""

from __future__ import annotations

import os
import sys
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import click

from bentpipe import terminal
from bentpipe.errors import BentpipeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

    from bentpipe.scenario.scenario import Scenario

UNKNOWN_WIDTH = 80
"""Letters of a line if the width of the terminal is unknown."""


def print_result(
    content: Callable[[], Any], shown: Callable[[], Iterable[RenderableType]], *, json: bool, quiet: bool
) -> None:
    """Print a result in the chosen form: as JSON, as tables and sentences, or not at all."""
    if json:
        print_json(content())
    elif not quiet:
        print_parts(shown())


def print_parts(parts: Iterable[RenderableType]) -> None:
    """Print tables and sentences, in colour on a terminal. Plain text, such as paths to copy, is never broken."""
    from rich.console import Console

    # Some environments report an unknown width as 0.
    is_unknown = set(os.environ.get("COLUMNS", "")) == {"0"}
    stream = terminal.as_it_is(sys.stdout)
    console = Console(file=stream, highlight=False, width=UNKNOWN_WIDTH if is_unknown else None)
    for part in parts:
        if isinstance(part, str):
            console.out(terminal.visible(part), highlight=False)
        else:
            console.print(_Visible(part))


class _Visible(NamedTuple):
    """A table or sentence with visible text."""

    part: RenderableType

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterable[Segment]:
        for segment in console.render(self.part, options):
            yield segment if segment.control else segment._replace(text=terminal.visible(segment.text))


class Title:
    """Title and key facts of a scenario, printed once: after the work has started, as errors come before."""

    def __init__(self, scenario: Scenario, *, is_shown: bool) -> None:
        self._scenario = scenario
        self._is_due = is_shown

    def show(self) -> None:
        """Print the title, once."""
        if self._is_due:
            self._is_due = False
            from bentpipe.cli.render import facts

            print_parts([facts(self._scenario)])


def print_json(content: Any) -> None:
    """Print JSON. Where the terminal cannot show all letters, JSON escapes them."""
    from json import dumps

    is_ascii = sys.stdout.encoding.lower().replace("-", "") != "utf8"
    print(dumps(content, indent=2, ensure_ascii=is_ascii, allow_nan=False))


def print_error(error: BaseException) -> None:
    """Print an error with the lines of its scenario, without a traceback."""
    from bentpipe.cli.excerpt import describe_error

    print(describe_error(error, is_coloured(sys.stderr)), file=sys.stderr)


def style_text(text: str, **look: Any) -> str:
    """Colour a text."""
    return terminal.mark_text(click.style(terminal.visible(text), **look))


def is_coloured(stream: IO[str]) -> bool:
    """Whether colours may be used: on terminals, unless NO_COLOR forbids it; elsewhere if FORCE_COLOR asks for it."""
    # Click would write past a stream that has ASCII only.
    if os.environ.get("NO_COLOR") or _encoding(stream) in ("ascii", "us-ascii", "ansi_x3.4-1968"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (stream.isatty() and os.environ.get("TERM") != "dumb")


def _encoding(stream: IO[str]) -> str:
    return (getattr(stream, "encoding", None) or "").lower()


def check_places(save: Path | None = None, plot: Path | None = None, pcap: str | None = None) -> None:
    """Check before any run that the files can be written."""
    if pcap is not None:
        from bentpipe.files import captures

        captures(pcap)
    if plot is not None:
        from bentpipe.plot import check_place

        check_place(plot)
    if save is not None:
        from bentpipe.files import refuse_unless_free

        if str(save) == "-":
            raise BentpipeError(
                "--save - is not a folder\n  expected a folder for the files of the result, or --json to print it"
            )
        refuse_unless_free(save)
