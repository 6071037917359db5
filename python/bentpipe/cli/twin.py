"""`bentpipe twin`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from bentpipe.cli import options
from bentpipe.cli.help import Command
from bentpipe.cli.printing import Title, check_places, print_result
from bentpipe.cli.progress import load

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rich.console import RenderableType

    from bentpipe.emulation.twin import Twin
    from bentpipe.progress import Progress


@click.command(
    "twin",
    cls=Command,
    examples=("twin geo --cc cubic", "twin geo --cc bbr --emulations 5 --plot windows.png"),
)
@options.file
@click.option("--flow", metavar="NAME", help="Flow to compare. Default: the first bulk flow.")
@options.one_cc("Congestion control: the kernel's or bentpipe's name. Default: the kernel's default.")
@options.replications(30, "Simulated runs, each with another seed.", least=2)
@click.option(
    "--emulations",
    type=click.IntRange(1),
    default=3,
    show_default=True,
    metavar="N",
    help="Emulated runs, in real time.",
)
@click.option(
    "--margin",
    metavar="[NAME=]SHARE",
    multiple=True,
    help="Smallest difference that matters: 5%, goodput=5%. Repeatable. Default: 10 %, 15 % for windows.",
)
@options.sets
@options.seed
@options.save
@options.plot
@options.json
@options.quiet
def command(
    file: str,
    flow: str | None,
    cc: str | None,
    replications: int,
    emulations: int,
    margin: tuple[str, ...],
    sets: tuple[str, ...],
    seed: int | None,
    save: Path | None,
    plot: Path | None,
    json: bool,
    quiet: bool,
) -> None:
    """Compare the simulator with this machine.

    Simulates a bulk transfer with the settings of the kernel. The kernel does the same transfer over the same path in
    real time. A table shows the 95 % interval of the difference of each quantity, and whether both sides agree, differ,
    or need more runs. A sentence gives the overall verdict.
    """
    check_places(save, plot)
    shares = _shares(margin)
    from bentpipe.emulation.twin import twin

    scenario = load(file, sets, seed, is_quiet=quiet)
    Title(scenario, is_shown=not (json or quiet)).show()
    is_watched = sys.stderr.isatty() and not quiet

    def say(progress: Progress) -> None:
        print(progress.doing, file=sys.stderr)

    found = twin(
        scenario,
        flow=flow,
        cc=cc,
        replications=replications,
        emulations=emulations,
        margin=shares,
        progress=say if is_watched else None,
    )
    if save is not None:
        found.save(save)
    if plot is not None:
        from bentpipe.plot import save as save_figure

        save_figure(found.plot(), plot)
    print_result(found.to_dict, lambda: _render_twin(found), json=json, quiet=quiet)


def _shares(written: tuple[str, ...]) -> str | dict[str, str] | None:
    """The margins of the command line: one for all quantities, or some by name."""
    found: dict[str, str] = {}
    for each in written:
        name, _, share = each.rpartition("=")
        if not name and len(written) == 1:
            return share
        if not name:
            raise click.BadParameter(
                f"{each!r} has no quantity\n  expected one share for all quantities, or QUANTITY=SHARE for each",
                param_hint="--margin",
            )
        found[name] = share
    return found or None


def _render_twin(found: Twin) -> Iterator[RenderableType]:
    from rich.table import Table

    title = f"Linux {found.kernel['release']} with {found.kernel['cc']}, and its simulation"
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    (quantity, *heads, judged), rows, _ = found.make_notebook_table()
    table.add_column(quantity)
    for head in heads:
        table.add_column(head, justify="right")
    table.add_column(judged)
    for row in rows:
        table.add_row(*row)
    yield table
    yield found.verdict
    yield from found.notes
