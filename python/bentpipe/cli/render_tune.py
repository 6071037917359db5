"""Shows plans and results of `tune` on the terminal."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from rich.table import Table

from bentpipe.formatting import choice, count
from bentpipe.tuning.confirming import BETTER
from bentpipe.tuning.sentences import change, headline, is_unclear, name_seeds, statements, worth

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from bentpipe.tuning.applying import Applied
    from bentpipe.tuning.planning import Plan
    from bentpipe.tuning.result import Tuning


KEY_WIDTH = 24
"""Maximum width of a line of a key with dots, columns."""


def break_key(key: str) -> str:
    r"""Break a long key after dots.

    >>> break_key("link.sat.reverse.access.constant"), break_key("tcp.cc")
    ('link.sat.reverse.access.\nconstant', 'tcp.cc')
    """
    lines = [""]
    for part in re.split(r"(?<=\.)", key):
        if lines[-1] and len(lines[-1]) + len(part) > KEY_WIDTH:
            lines.append("")
        lines[-1] += part
    return "\n".join(lines)


def plan(found: Plan) -> Iterator[RenderableType]:
    """Show what a search would run."""
    space = _table("key", "values to try", "reason")
    for axis in found.axes:
        space.add_row(break_key(axis.key), ", ".join(map(choice, axis.values)), axis.reason)
    yield space
    for what, why in found.absent.items():
        yield f"not tried: {what}: {why}"
    conditions = ", ".join(f"{each.name} ({100 * each.share:.0f} %)" for each in found.conditions)
    yield f"conditions: {conditions}"
    rungs = "; ".join(
        f"{name}: " + ", ".join(f"{points} settings ({runs:,} runs)" for of, points, runs in found.rungs if of == name)
        for name in dict.fromkeys(name for name, _, _ in found.rungs)
    )
    how = f"{found.points:,} settings, sampled" if found.is_sampled else count(found.points, "setting")
    yield f"{how}; {rungs}; confirmation: {found.confirming[0]:,} to {found.confirming[1]:,} runs"
    mean, slowest = (1000 * each for each in found.run_s)
    least, most = found.minutes
    yield (
        f"about {found.runs[0]:,} to {found.runs[1]:,} runs of {mean:.3g} ms, the slowest {slowest:.3g} ms: "
        f"{least:.2g} to {most:.2g} minutes with {count(found.jobs, 'job')} of {'its' if found.jobs == 1 else 'their'} "
        "own core"
    )


def tuning(result: Tuning, written: Applied | None = None) -> Iterator[RenderableType]:
    """Show the verdict, the worth of each change, and the limits of both."""
    content = result.content
    yield f"{result.title}: {headline(content)}"
    yield ""
    first, *more = statements(content)
    yield first
    if content["effect"]:
        yield _by_condition(content)
    if content["effects"] and content["verdict"] == BETTER:
        yield _worth(content)
        if any(
            is_unclear(each[how][name])
            for each in content["effects"]
            for how in ("alone", "back")
            for name in list(each[how])[:1]
        ):
            yield "* The interval contains zero."
    yield from _front(content)
    yield from more
    yield name_seeds(content)
    if written is not None:
        yield f"files: {', '.join(str(path) for path in written.files)}"


def _by_condition(content: dict[str, Any]) -> Table:
    head = "with everything" if content["verdict"] == BETTER else "best setting found"
    table = _table(head, *(each["name"] for each in content["conditions"]), "all", numbers=True)
    for name, effect in content["effect"].items():
        own = [f"{100 * value:+.0f} %" if value is not None else "-" for value in effect["by_condition"].values()]
        table.add_row(name, *own, change(effect))
    for guard in dict.fromkeys(each["guard"] for each in content["guards"]):
        held = [each for each in content["guards"] if each["guard"] == guard]
        table.add_row(f"guard {guard}", *("holds" if each["holds"] else "not shown" for each in held), "")
    return table


def _worth(content: dict[str, Any]) -> Table:
    metrics = list(content["effect"])
    table = _table("change", "alone", "taken back", *(f"{name}, taken back" for name in metrics[1:]), numbers=True)
    for each, cells in zip(content["effects"], worth(content), strict=True):
        others = [change(each["back"][name], has_ends=False) for name in metrics[1:]]
        table.add_row(*cells, *others)
    return table


def _front(content: dict[str, Any]) -> Iterator[RenderableType]:
    if not content["front"]:
        return
    table = _table("front", *content["front_of"], numbers=True)
    for each in content["front"]:
        name = ", ".join(map(choice, each["set"].values()))
        mark = "" if each["is_shown"] else " *"
        table.add_row(name + mark, *(change(each["effect"][metric]) for metric in content["front_of"]))
    yield table


def _table(*heads: str, numbers: bool = False) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for place, head in enumerate(heads):
        table.add_column(head, justify="right" if numbers and place else "left", overflow="fold")
    return table
