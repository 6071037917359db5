"""Former names of attributes: they are refused, with the new name of each."""

from __future__ import annotations

from typing import NoReturn


class Former:
    """An attribute that was renamed: `senders = Former("names")`."""

    def __init__(self, now: str) -> None:
        self._now = now

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, of: object, owner: type) -> NoReturn:
        raise AttributeError(f"{owner.__name__}.{self._name} is now {owner.__name__}.{self._now}")
