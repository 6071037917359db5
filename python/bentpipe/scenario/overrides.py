"""How the command line writes values that go over those of a scenario."""

from __future__ import annotations

from typing import Any

from bentpipe.errors import ScenarioError
from bentpipe.scenario.scenario import readable


def until(text: str | None) -> dict[str, str] | None:
    """`METRIC=SHARE` of `--until`, as in the table `[sweep]`."""
    if text is None:
        return None
    metric, equals, share = text.partition("=")
    if not equals:
        raise ScenarioError(f"error: --until {text}\n  expected a metric and a share of its mean, such as goodput=2%")
    return {"metric": metric.strip(), "half_width": share.strip()}


def pairs(sets: list[str] | None, seed: int | None = None, option: str = "--set") -> list[tuple[str, Any]]:
    """`KEY=VALUE` each, of `--set` or what is like it, and the seed."""
    found: list[tuple[str, Any]] = []
    for text in sets or []:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise ScenarioError(f"error: {option} {text}\n  expected KEY=VALUE, such as duration='60 s'")
        found.append((key.strip(), value.strip()))
    return found if seed is None else [*found, ("seed", seed)]


def cases(texts: list[str] | None) -> dict[str, dict[str, Any]]:
    """`NAME: KEY=VALUE; KEY=VALUE` each; the settings may be missing, and the name, which then is the settings."""
    found: dict[str, dict[str, Any]] = {}
    for text in map(readable, texts or []):
        name, colon, rest = text.partition(":")
        if not colon or "=" in name:
            name = rest = text
        settings = [part for part in map(str.strip, rest.split(";")) if part]
        if name.strip() in found or not name.strip() or not all("=" in setting for setting in settings):
            raise ScenarioError(
                f"error: --case {text}\n  expected a name and settings, each name once:"
                " 'prr: tcp.reduction=prr; tcp.dsack=true'"
            )
        found[name.strip()] = dict(pairs(settings, option=f"--case {name.strip()}:"))
    return found
