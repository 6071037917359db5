"""Options that the commands of the sky share, with the names of the keys of `[sky]`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from bentpipe.cli import complete, options
from bentpipe.cli.help import Command, argument
from bentpipe.errors import BentpipeError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    Function = TypeVar("Function", bound=Callable[..., Any])

FORMER = {
    "--from-epoch": "--start",
    "--elevation": "--elevation-min",
    "--select": "--selection",
    "--by": "--metric",
    "--keep": "--change broken",
    "--without": "--failure",
    "--fibre": "--stretch",
    "--skip-bad": "--bad skip",
}
"""Options that have the names of the keys of `[sky]` now."""


class SkyCommand(Command):
    """A command of `bentpipe sky`. It accepts former names of options."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            now = FORMER.get(error.option_name)
            if now is None or now.split()[0] not in {name for each in self.params for name in each.opts}:
                raise
            raise BentpipeError(f"there is no option {error.option_name}\n  expected {now}") from None


def stacked(*chosen: Callable[[Function], Function]) -> Callable[[Function], Function]:
    """Several options as one decorator, in this order."""

    def dressed(function: Function) -> Function:
        for each in reversed(chosen):
            function = each(function)
        return function

    return dressed


def times(duration: str, step: str) -> Callable[[Function], Function]:
    return stacked(
        click.option("--duration", default=duration, show_default=True, metavar="TIME", help="How long to look."),
        click.option("--step", default=step, show_default=True, metavar="TIME", help="Time between two looks."),
    )


def place(name: str, what: str) -> Callable[[Function], Function]:
    help = f"{what}: a city (see: list places), or degrees north and east: '51.5N 0.12W'."
    return argument(name, metavar=name.upper(), shell_complete=complete.places, help=help)


over = click.option(
    "--over",
    required=True,
    metavar="NAME|FILE",
    shell_complete=complete.constellations,
    help="A constellation (see: list constellations), a file of element sets (TLE or OMM), geo:19.2E for a slot, or"
    " Walker's numbers and km: delta:53:1584/72/39:550, or star:.",
)
moment = stacked(
    click.option(
        "--start",
        metavar="UTC",
        help="When time is 0: 2026-06-14T12:00. By default 2000-01-01; for element sets the median of their epochs.",
    ),
    click.option("--at", default="0 s", show_default=True, metavar="TIME", help="Begin so long after the start."),
)
elevation = click.option(
    "--elevation-min",
    metavar="DEGREES",
    help="Use satellites from this elevation on. By default, as the constellation's source says; 25 for element sets,"
    " 5 for geo:.",
)
reach = stacked(
    elevation,
    click.option(
        "--range-max-km", type=float, metavar="KM", help="Use satellites up to this distance instead, at any elevation."
    ),
)
orbits = stacked(
    click.option(
        "--motion",
        metavar="j2|kepler|sgp4",
        shell_complete=complete.one_of(("j2", "kepler", "sgp4")),
        help="How the orbits of shells change. By default, as the constellation has it: mostly j2.",
    ),
    click.option(
        "--mean-motion",
        type=float,
        metavar="REV/DAY",
        help="Revolutions per day of a constellation of one shell, in place of its height.",
    ),
    click.option(
        "--odd-planes",
        type=float,
        metavar="DEGREES",
        help="How far every other plane of a constellation of one shell is ahead, in place of its phasing.",
    ),
)
between = click.option(
    "--between-satellites",
    metavar="none|grid|grid-and-seam",
    shell_complete=complete.one_of(("none", "grid", "grid-and-seam")),
    help="Links between satellites. By default, those of the constellation.",
)
bad = click.option(
    "--bad",
    default="refuse",
    show_default=True,
    metavar="refuse|skip",
    shell_complete=complete.one_of(("refuse", "skip")),
    help="Refuse a file with bad or too old records, or leave these out.",
)
age_max = click.option(
    "--elements-age-max",
    metavar="TIME",
    help="Refuse elements that are farther than this from any instant of the look, such as 200d. [default: 90 d]",
)
gateways = stacked(
    click.option(
        "--gateway",
        multiple=True,
        metavar="PLACE",
        shell_complete=complete.places,
        help="A ground station that forwards packets. Repeat for each.",
    ),
    click.option(
        "--relay",
        default="fibre",
        show_default=True,
        metavar="fibre|ground",
        shell_complete=complete.one_of(("fibre", "ground")),
        help="Way of packets from gateway to gateway: by fibre, or up again to any satellite (a zigzag).",
    ),
    click.option(
        "--stretch",
        type=float,
        default=1.5,
        show_default=True,
        metavar="FACTOR",
        help="Length of fibres between gateways against the great circle.",
    ),
)
choice = stacked(
    click.option(
        "--selection",
        default="any",
        show_default=True,
        metavar="RULE",
        shell_complete=complete.selections,
        help="How an end chooses its satellite: any (whichever makes the path best), highest, nearest, longest (until"
        " it sets), periodic (checks every 10 s, as ns-2), starlink (by lot every 15 s).",
    ),
    click.option(
        "--metric",
        default="delay",
        show_default=True,
        metavar="delay|hops",
        shell_complete=complete.one_of(("delay", "hops")),
        help="Which path is best: the one with the least.",
    ),
    click.option(
        "--change",
        default="better",
        show_default=True,
        metavar="better|broken",
        shell_complete=complete.one_of(("better", "broken")),
        help="Take another path as soon as it is better, or when the one in use is broken.",
    ),
)
failure = click.option(
    "--failure",
    multiple=True,
    metavar="NAME",
    help="A satellite or gateway that is out of use, or a link: 'A~B'. Repeat for each.",
)
seed = click.option("--seed", type=click.IntRange(0), default=1, metavar="N", help="Seed of random choices.")
all_rows = click.option("--all", "every", is_flag=True, help="Print every row of the table, not only the first ones.")
save = click.option(
    "-o", "--save", type=options.PLACE, metavar="FOLDER", help="Write tables and provenance into this folder."
)
output = stacked(save, options.plot, options.figure, options.json, options.quiet)
