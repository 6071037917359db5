"""Text for terminals: our colours pass, all other control characters become visible.

Scenarios, traces, stores and names of files come from others. A control character among them could change what is on
the screen, and a direction mark the order of letters. So the command line prints through a `Terminal`,
which writes these characters as numbers, in the form of JSON and TOML, so that both stay valid.
"""

from __future__ import annotations

import io
import os
import re
import sys
from typing import IO, Any

HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\udc80-\udc9f]")
"""Control characters except tab and newline, also as bytes of a file's name; `Bidi_Control` of Unicode."""
ESCAPE = "\x1b["
"""The beginning of colour codes."""


def visible(text: str) -> str:
    r"""Text with numbers in the place of hidden characters.

    >>> print(visible("\x1b[31mred \u202etxt"))
    \u001b[31mred \u202etxt
    """
    return HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


class Terminal(io.TextIOWrapper):
    """A stream that makes hidden characters visible. Colour codes with the mark pass."""

    # A secret number as a parameter of the code: functions that strip or measure colours still find a colour.
    mark = f"{ESCAPE}{int.from_bytes(os.urandom(8), 'big')};"

    def write(self, text: str) -> int:
        super().write(ESCAPE.join(map(visible, text.split(self.mark))) if HIDDEN.search(text) else text)
        return len(text)

    def write_as_it_is(self, text: str) -> int:
        """Write text that has been made visible, with codes of any kind."""
        return super().write(text)


class _AsItIs:
    """A terminal, for who makes text visible before it is coloured."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self.write = terminal.write_as_it_is

    def __getattr__(self, name: str) -> Any:
        return getattr(self._terminal, name)


def as_it_is(stream: IO[str]) -> IO[str]:
    """The stream for codes of any kind; text of others is to go through `visible` first."""
    # While a bar is shown, Rich has put itself before the stream.
    stream = getattr(stream, "rich_proxied_file", stream)
    return _AsItIs(stream) if isinstance(stream, Terminal) else stream  # type: ignore[return-value]


def marked(text: str) -> str:
    """Text that was coloured, so that a `Terminal` lets the colours pass."""
    return text.replace(ESCAPE, Terminal.mark) if isinstance(sys.stdout, Terminal) else text


def guard(errors: str) -> None:
    """Print through a `Terminal` from now on, with this handler for letters that its encoding does not have.

    If the output was closed before the start, printing is an error; if the error output was, errors are dropped.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # Otherwise the next file that is opened would get what is printed. Nothing can be written to this one.
            os.set_inheritable(os.open(os.devnull, os.O_RDONLY), True)
    sys.stdin = sys.stdin or os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout = _guarded(sys.stdout or os.fdopen(1, "w", encoding="utf-8", closefd=False), errors)
    if isinstance(sys.stdout, Terminal):
        # By this name others find out how wide a terminal is.
        sys.__stdout__ = sys.stdout  # type: ignore[misc]
    # To print an error is no error.
    sys.stderr = _guarded(sys.stderr or os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8"), errors)


def _guarded(stream: Any, errors: str) -> Any:
    if type(stream) is not io.TextIOWrapper:
        # Somebody else's, who will want it back.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=errors)
        return stream
    encoding, is_by_line, is_at_once = stream.encoding, stream.line_buffering, stream.write_through
    return Terminal(stream.detach(), encoding, errors, line_buffering=is_by_line, write_through=is_at_once)
