"""Text for terminals: bentpipe's colours pass, and all other control characters become visible.

Scenarios, traces, stores and names of files come from other people. A control character in them could change the
screen, and a direction mark could change the order of letters. So the command line prints through a `Terminal`, which
writes these characters as numbers in the form of JSON and TOML. Both formats stay valid.
"""

from __future__ import annotations

import io
import os
import re
import sys
from typing import IO, Any

HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\udc80-\udc9f]")
"""Control characters except tab and newline, their bytes in file names, and `Bidi_Control` of Unicode."""
ESCAPE = "\x1b["
"""Start of a colour code."""


def visible(text: str) -> str:
    r"""Replace hidden characters by numbers.

    >>> print(visible("\x1b[31mred \u202etxt"))
    \u001b[31mred \u202etxt
    """
    return HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


class Terminal(io.TextIOWrapper):
    """A stream that makes hidden characters visible. Colour codes marked by `mark_text` pass."""

    # A secret number as a parameter of the code. Functions that strip or measure colours still recognise the code.
    mark = f"{ESCAPE}{int.from_bytes(os.urandom(8), 'big')};"

    def write(self, text: str) -> int:
        super().write(ESCAPE.join(map(visible, text.split(self.mark))) if HIDDEN.search(text) else text)
        return len(text)

    def write_as_it_is(self, text: str) -> int:
        """Write text that is visible already, with codes of any kind."""
        return super().write(text)


class _AsItIs:
    """A terminal for callers that make text visible before they colour it."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self.write = terminal.write_as_it_is

    def __getattr__(self, name: str) -> Any:
        return getattr(self._terminal, name)


def as_it_is(stream: IO[str]) -> IO[str]:
    """Return the stream that passes control codes of any kind. Text of other people must go through `visible` first."""
    # Rich replaces the stream while it shows a bar.
    stream = getattr(stream, "rich_proxied_file", stream)
    return _AsItIs(stream) if isinstance(stream, Terminal) else stream  # type: ignore[return-value]


def mark_text(text: str) -> str:
    """Mark coloured text so that a `Terminal` lets the colours pass."""
    return text.replace(ESCAPE, Terminal.mark) if isinstance(sys.stdout, Terminal) else text


def guard(errors: str) -> None:
    """Print through a `Terminal` from now on. `errors` handles letters that its encoding lacks, as in `open`.

    If standard output was closed before the start, printing raises an error. If standard error was closed, messages are
    dropped.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # Otherwise the next file that is opened would receive the printed text. This file cannot be written.
            os.set_inheritable(os.open(os.devnull, os.O_RDONLY), True)
    sys.stdin = sys.stdin or os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout = _guard_stream(sys.stdout or os.fdopen(1, "w", encoding="utf-8", closefd=False), errors)
    if isinstance(sys.stdout, Terminal):
        # Other libraries find the width of the terminal by this name.
        sys.__stdout__ = sys.stdout  # type: ignore[misc]
    # Printing an error never fails.
    sys.stderr = _guard_stream(sys.stderr or os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8"), errors)


def _guard_stream(stream: Any, errors: str) -> Any:
    if type(stream) is not io.TextIOWrapper:
        # The stream of another library, which will restore it.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=errors)
        return stream
    encoding, is_by_line, is_at_once = stream.encoding, stream.line_buffering, stream.write_through
    return Terminal(stream.detach(), encoding, errors, line_buffering=is_by_line, write_through=is_at_once)
