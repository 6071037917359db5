"""`bentpipe sky`."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from bentpipe.cli import complete, options
from bentpipe.cli.help import Command, Group
from bentpipe.cli.printing import check_places, print_parts, print_result
from bentpipe.cli.progress import Bar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path
    from typing import TypeVar

    from rich.console import RenderableType

    Function = TypeVar("Function", bound=Callable[..., Any])

MAP = "map.png"
"""Where a map goes unless told otherwise."""


@click.group("sky", cls=Group)
def command() -> None:
    """Look at a constellation over time.

    Paths between two places, passes, coverage, maps and link budgets, computed from orbits without any packets. See:
    list constellations, list places.
    """


def _all(*chosen: Callable[[Function], Function]) -> Callable[[Function], Function]:
    """Several options as one decorator, in this order."""

    def dressed(function: Function) -> Function:
        for each in reversed(chosen):
            function = each(function)
        return function

    return dressed


def _times(duration: str, step: str) -> Callable[[Function], Function]:
    return _all(
        click.option("--duration", default=duration, show_default=True, metavar="TIME", help="How long to look."),
        click.option("--step", default=step, show_default=True, metavar="TIME", help="Time between two looks."),
    )


def _place(name: str, what: str) -> Callable[[Function], Function]:
    help = f"{what}: a city (see: list places), or degrees north and east: '51.5N 0.12W'."
    return click.argument(name, metavar=name.upper(), shell_complete=complete.places, help=help)


_over = click.option(
    "--over",
    required=True,
    metavar="NAME|FILE",
    shell_complete=complete.constellations,
    help="A constellation (see: list constellations), a file of element sets (TLE or OMM), geo:19.2E for a slot, or"
    " Walker's numbers and km: delta:53:1584/72/39:550, or star:.",
)
_moment = _all(
    click.option(
        "--from-epoch",
        "epoch",
        metavar="UTC",
        help="When time is 0: 2026-06-14T12:00. By default 2000-01-01; for element sets the median of their epochs.",
    ),
    click.option("--at", default="0 s", show_default=True, metavar="TIME", help="Begin so long after the epoch."),
)
_elevation = click.option(
    "--elevation",
    type=float,
    metavar="DEGREES",
    help="Use satellites from this elevation on. By default, as the constellation's source says; 25 for element sets,"
    " 5 for geo:.",
)
_skip_bad = click.option(
    "--skip-bad", is_flag=True, help="Leave bad or too old records of a file out; by default, it is refused."
)
_age_max = click.option(
    "--elements-age-max",
    metavar="TIME",
    help="Refuse elements that are farther than this from any instant of the look, such as 200d. [default: 90 d]",
)
_gateways = _all(
    click.option(
        "--gateway",
        "gateways",
        multiple=True,
        metavar="PLACE",
        shell_complete=complete.places,
        help="A ground station that forwards packets; fibres lead between all of them. Repeat for each.",
    ),
    click.option(
        "--fibre",
        type=float,
        default=1.5,
        show_default=True,
        metavar="FACTOR",
        help="Length of these fibres against the great circle.",
    ),
)
_all_rows = click.option("--all", "every", is_flag=True, help="Print every row of the table, not only the first ones.")
_save = click.option(
    "-o", "--save", type=options.PLACE, metavar="FOLDER", help="Write tables and provenance into this folder."
)
_output = _all(_save, options.plot, options.figure, options.json, options.quiet)


def _shown(
    find: Callable[[Bar], Any],
    shown: Callable[[Any], Iterable[RenderableType | str]],
    drawn: Callable[[Any], Any],
    *,
    save: Path | None,
    plot: Path | None,
    json: bool,
    quiet: bool,
) -> None:
    """Do the work, then save, print and draw what it found."""
    check_places(save, plot)
    with Bar(is_quiet=quiet) as bar:
        found = find(bar)
    if save is not None:
        found.save(save)
    print_result(found.to_dict, lambda: shown(found), json=json, quiet=quiet)
    if plot is not None:
        from bentpipe.plot import save as save_figure

        save_figure(drawn(found), plot)


@command.command(
    "path",
    cls=Command,
    examples=(
        'sky path London "New York" --over starlink-shell-1 --plot path.png',
        "sky path London Tokyo --over iridium --duration 24h --step 10s -o day",
        "sky path Berlin Madrid --over oneweb --gateway Paris --select highest",
        "sky path London Tokyo --over kuiper-630 --disjoint 3 --plot paths.png",
    ),
)
@_place("from", "Where packets come from")
@_place("to", "Where they go")
@_over
@_moment
@_times("10 min", "1 s")
@_elevation
@click.option(
    "--select",
    default="best",
    show_default=True,
    metavar="RULE",
    shell_complete=complete.rules,
    help="How an end chooses its satellite: best (whichever makes the path best), highest, nearest, longest (until it"
    " sets), periodic (checks every 10 s, as ns-2), starlink (by lot every 15 s).",
)
@click.option(
    "--by", default="delay", show_default=True, metavar="delay|hops", help="Which path is best: the one with the least."
)
@click.option("--keep", is_flag=True, help="Keep a path until it breaks, although there is a better one.")
@click.option(
    "--disjoint",
    type=int,
    metavar="K",
    help="Also show K paths over satellites that share nothing, those of the least total delay.",
)
@click.option(
    "--apart",
    default="satellites",
    show_default=True,
    metavar="satellites|links",
    help="What disjoint paths do not share.",
)
@click.option(
    "--without",
    multiple=True,
    metavar="NAME",
    help="A satellite or gateway that is out of use, or a link: 'A~B'. Repeat for each.",
)
@_gateways
@click.option("--seed", type=click.IntRange(0), default=1, metavar="N", help="Of what is drawn by lot.")
@_skip_bad
@_age_max
@_all_rows
@_output
def path(
    every: bool,
    look: dict[str, Any],
    save: Path | None,
    plot: Path | None,
    json: bool,
    quiet: bool,
    **given: Any,
) -> None:
    """Show the path between two places.

    One-way delay by propagation, hops, elevations and handovers at each instant; with --disjoint also those of paths
    that share no satellite.
    """

    def find(bar: Bar) -> Any:
        from bentpipe.sky import path

        return path(given.pop("from"), given.pop("to"), **given, progress=bar)

    def shown(found: Any) -> Any:
        from bentpipe.cli import render_sky

        return render_sky.path(found, every=every)

    _shown(find, shown, lambda found: found.plot(**look), save=save, plot=plot, json=json, quiet=quiet)


@command.command(
    "passes",
    cls=Command,
    examples=("sky passes Nairobi --over iridium", "sky passes '78.2N 15.6E' --over oneweb --json"),
)
@_place("place", "Where you look")
@_over
@_moment
@_times("1 h", "10 s")
@_elevation
@_skip_bad
@_age_max
@_all_rows
@_output
def passes(
    every: bool,
    look: dict[str, Any],
    save: Path | None,
    plot: Path | None,
    json: bool,
    quiet: bool,
    **given: Any,
) -> None:
    """Show which satellites pass over a place.

    Rise, highest point and set of each, how many are in view, and the longest time without one.
    """

    def find(bar: Bar) -> Any:
        from bentpipe.sky import passes

        return passes(given.pop("place"), **given, progress=bar)

    def shown(found: Any) -> Any:
        from bentpipe.cli import render_sky

        return render_sky.passes(found, every=every)

    _shown(find, shown, lambda found: found.plot(**look), save=save, plot=plot, json=json, quiet=quiet)


@command.command(
    "coverage",
    cls=Command,
    examples=(
        "sky coverage --over starlink-shell-1 --plot coverage.png",
        "sky coverage --over o3b --chart covered --plot covered.png",
    ),
)
@_over
@_moment
@_times("10 min", "1 min")
@_elevation
@click.option("--cell", type=float, default=3.0, show_default=True, metavar="DEGREES", help="Size of the cells.")
@_skip_bad
@_age_max
@options.chart("mean", "min", "covered", default="mean")
@_output
def coverage(
    chart: str,
    look: dict[str, Any],
    save: Path | None,
    plot: Path | None,
    json: bool,
    quiet: bool,
    **given: Any,
) -> None:
    """Show how many satellites are in view where.

    By latitude as a table; with --plot a map of the satellites in view on average (mean), at least (min), or of the
    time with one (covered).
    """
    from bentpipe.sky.covering import checked

    checked(chart)

    def find(bar: Bar) -> Any:
        from bentpipe.sky import coverage

        return coverage(**given, progress=bar)

    def shown(found: Any) -> Any:
        from bentpipe.cli import render_sky

        return render_sky.coverage(found)

    _shown(find, shown, lambda found: found.plot(chart, **look), save=save, plot=plot, json=json, quiet=quiet)


def _drawn_anyway(function: Function) -> Function:
    """Without `--plot` a map goes to a place of its own, unless only JSON is wanted."""

    @wraps(function)
    def command(*args: Any, plot: Path | None, **kwargs: Any) -> Any:
        if plot is None and not kwargs["json"]:
            from pathlib import Path

            plot = Path(MAP)
        return function(*args, plot=plot, **kwargs)

    return command  # type: ignore[return-value]


@command.command(
    "map",
    cls=Command,
    examples=(
        "sky map --over iridium --from Berlin --to Tokyo",
        "sky map --over oneweb --at 20min --plot oneweb.png",
    ),
)
@_over
@click.option("--from", "start", metavar="PLACE", shell_complete=complete.places, help="Draw the path from here.")
@click.option("--to", "end", metavar="PLACE", shell_complete=complete.places, help="Draw the path to here.")
@_moment
@_elevation
@_gateways
@_skip_bad
@_age_max
@_save
@click.option(
    "-p", "--plot", type=options.PLACE, metavar="FILE", help=f"Where the map goes: .png, .svg or .pdf. [default: {MAP}]"
)
@_drawn_anyway
@options.figure
@options.json
@options.quiet
def map(
    look: dict[str, Any],
    save: Path | None,
    plot: Path | None,
    json: bool,
    quiet: bool,
    **given: Any,
) -> None:
    """Draw satellites and links at a moment.

    With --from and --to also the path of the shortest delay.
    """

    def find(_: Bar) -> Any:
        from bentpipe.sky import map

        return map(**given)

    def shown(found: Any) -> Any:
        from bentpipe.cli import render_sky

        return render_sky.moment(found)

    _shown(find, shown, lambda found: found.plot(**look), save=save, plot=plot, json=json, quiet=quiet)
    if plot is not None and not (json or quiet):
        print_parts([f"The map is in {plot}."])


@command.command(
    "budget",
    cls=Command,
    examples=(
        "sky budget Singapore --over iridium --frequency 12 --eirp 36 --gt 9",
        "sky budget London --over geo:19.2E --frequency 20 --eirp 55 --gt 15 -p b.png",
        "sky budget Paris --over oneweb --frequency 12 --eirp 35 --gt 9 --clouds --scintillation",
        "sky budget Lagos --over geo:9E --frequency 14 --eirp 44 --gt 3 --down-frequency 12 --down-eirp 25 --down-gt 9",
    ),
)
@_place("place", "Where the link begins or ends")
@_over
@click.option("--frequency", type=float, required=True, metavar="GHZ", help="The carrier, 1 to 350 GHz.")
@click.option("--eirp", type=float, required=True, metavar="DBW", help="Effective isotropic radiated power.")
@click.option("--gt", "g_over_t", type=float, required=True, metavar="DB/K", help="G/T of the receiver.")
@click.option("--baud", "symbol_rate", type=float, default=10e6, show_default="10e6", help="Symbols in a second.")
@click.option(
    "--losses", type=float, default=0.0, metavar="DB", help="Everything else: pointing, feeders. [default: 0]"
)
@click.option(
    "--interference",
    type=float,
    metavar="DB",
    help="Carrier over interference in the symbols' bandwidth. [default: none]",
)
@click.option("--down-frequency", type=float, metavar="GHZ", help="Carrier of a bent pipe's way down.")
@click.option("--down-eirp", type=float, metavar="DBW", help="Power of the satellite; the rest is the way up.")
@click.option("--down-gt", "down_g_over_t", type=float, metavar="DB/K", help="G/T of who receives it.")
@click.option("--down-losses", type=float, metavar="DB", help="Everything else on the way down. [default: 0]")
@click.option("--down-interference", type=float, metavar="DB", help="Carrier over interference on the way down.")
@click.option(
    "--to", metavar="CITY", shell_complete=complete.places, help="Where the way down ends; dry. [default: PLACE]"
)
@click.option(
    "--percent",
    type=float,
    default=[0.1],
    multiple=True,
    metavar="PERCENT",
    help="Rain as it is exceeded in this share of the year; repeat for more. [default: 0.1]",
)
@click.option("--clouds", is_flag=True, help="Rain comes with clouds that are exceeded as often.")
@click.option("--scintillation", is_flag=True, help="Rain comes with scintillation that is exceeded as often.")
@click.option(
    "--antenna", type=float, default=0.6, show_default=True, metavar="M", help="Diameter that averages scintillation."
)
@click.option(
    "--climate", metavar="CITY", shell_complete=complete.places, help="Whose air and rain; by default those of PLACE."
)
@click.option("--from-epoch", "epoch", metavar="UTC", help="When the satellites' height is taken.")
@_elevation
@_skip_bad
@_age_max
@_output
def budget(
    look: dict[str, Any],
    save: Path | None,
    plot: Path | None,
    json: bool,
    quiet: bool,
    **given: Any,
) -> None:
    """Show a link budget line by line.

    At several elevations, in dry air and in rain: what is sent, what the way takes, energy over noise, what DVB-S2
    makes of it, and how long fades last. With --down-... both ways of a bent pipe.
    """

    def find(_: Bar) -> Any:
        from bentpipe.sky import budget

        names = [name for name in given if name.startswith("down_")]
        asked = {name.removeprefix("down_"): given.pop(name) for name in names}
        down = {name: value for name, value in asked.items() if value is not None}
        return budget(given.pop("place"), down=down or None, **given)

    def shown(found: Any) -> Any:
        from bentpipe.cli import render_sky

        return render_sky.budget(found)

    _shown(find, shown, lambda found: found.plot(**look), save=save, plot=plot, json=json, quiet=quiet)
