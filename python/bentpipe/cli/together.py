"""Common part of `compare` and `mix`: run many times, keep and show the finished replications."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bentpipe.cli.printing import Title, print_result
from bentpipe.cli.progress import Bar
from bentpipe.errors import Interrupted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from rich.console import RenderableType

    from bentpipe.scenario.scenario import Scenario


def carry_out(
    scenario: Scenario,
    work: Callable[[Bar], Any],
    shown: Callable[[Any], Iterable[RenderableType]],
    drawn: Callable[[Any], Any],
    *,
    save: Path | None,
    plot: Path | None,
    json: bool,
    quiet: bool,
) -> None:
    """Run an experiment, then save, print and draw its result.

    Raises
    ------
    Interrupted
        Ctrl-C. The replications that were finished are saved and printed: they are valid.
    """
    title = Title(scenario, is_shown=not (json or quiet))

    def finish(result: Any) -> None:
        if save is not None:
            result.save(save)
        title.show()
        print_result(result.to_dict, lambda: ("", *shown(result)), json=json, quiet=quiet)

    try:
        with Bar(title.show, is_quiet=quiet) as bar:
            result = work(bar)
    except Interrupted as interrupt:
        if interrupt.result is None:
            raise
        finish(interrupt.result)
        if save is not None:
            raise Interrupted(f"{interrupt}; the finished runs are saved in {save}") from None
        raise
    finish(result)
    # Last: if there is nothing to draw, the results are already printed and saved.
    if plot is not None:
        from bentpipe.plot import save as save_figure

        save_figure(drawn(result), plot)


def refuse_unused(
    scenario: Scenario, sets: Sequence[str], cases: Mapping[str, Mapping[str, Any]], cc: Sequence[str]
) -> None:
    """Reject keys of `--set` that `--cc` or every case sets, too. `cc` names those of `--cc`; empty without it.

    Raises
    ------
    ScenarioError
        There is one.
    """
    from bentpipe.scenario import overrides

    given = overrides.pairs(sets, tables=["case"])
    if cc:
        overrides.refuse_replaced(given, cc, "--cc")
    else:
        keys = cases.values() if cases else overrides.case_keys(*scenario.written)
        overrides.refuse_replaced(given, overrides.common_keys(keys), "every case")
