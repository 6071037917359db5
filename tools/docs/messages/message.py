"""The message, as both readers make it."""

from __future__ import annotations

import re
from dataclasses import dataclass

ERROR, TEXT, HELP = "error", "text", "help"
"""Kinds: an error, a text of a result (statement, hint, note or label), and help of the command line."""


@dataclass(frozen=True)
class Message:
    """A text that a user may read.

    Attributes
    ----------
    file, function : str
        Its place in the sources.
    kind : str
        `error`, `text` or `help`.
    text : str
        The literal, with placeholders as {name} and alternatives as [A|B]. Lines of an error: the fact, the remedy.
    maker : str
        The class or function that makes an error.
    """

    file: str
    function: str
    kind: str
    text: str
    maker: str

    @property
    def lines(self) -> list[str]:
        """The lines of the text that are not empty."""
        return [line.strip() for line in self.text.splitlines() if line.strip()]

    @property
    def shown(self) -> str:
        """The text in one line."""
        text = re.sub(r"\s+", " ", " / ".join(self.lines))
        return re.sub(r"\{\{(\w+( = )?)\}\}?", r"{\1}", text)
