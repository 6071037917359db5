"""Options and arguments that commands share: one name, one meaning and one help text for all of them."""

from __future__ import annotations

from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bentpipe.cli import complete
from bentpipe.cli.help import argument
from bentpipe.errors import BentpipeError
from bentpipe.metric import METRICS
from bentpipe.statistics.judgement import CORRECTIONS, SIDES, STATISTICS, Judgement

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    Function = TypeVar("Function", bound=Callable[..., Any])

# Whether a place can be written is checked once, for all commands, in `printing.check_places`.
PLACE = click.Path(path_type=Path, readable=False)
PCAP = "Write a capture per host: OUT.pcapng becomes OUT-HOST.pcapng; {host} in the name is the host."


def _hush(context: click.Context, parameter: click.Parameter, is_quiet: bool) -> bool:
    """Print errors only, also of the library."""
    if is_quiet:
        import logging

        logger = logging.getLogger("bentpipe")
        # For this command: a program may call several.
        context.call_on_close(partial(logger.setLevel, logger.level))
        logger.setLevel(logging.ERROR)
    return is_quiet


file = argument(
    "file",
    metavar="FILE",
    shell_complete=complete.scenarios,
    help="Scenario file, else name of a bundled scenario (see: list scenarios), or - for standard input.",
)

sets = click.option(
    "--set",
    "sets",
    metavar="KEY=VALUE",
    multiple=True,
    shell_complete=complete.settings,
    help="Override a key of the scenario: link.feeder.rate='5 Mbit/s'. Repeatable.",
)
seed = click.option("-s", "--seed", type=int, metavar="N", help="Override the seed of the scenario.")
until = click.option(
    "--until",
    metavar="METRIC=SHARE",
    shell_complete=complete.until,
    help="Add replications until the half-width of the 95 % interval is below SHARE of the mean: goodput=2%,"
    " fct:web=5%.",
)
replications_max = click.option(
    "--replications-max", type=click.IntRange(1), metavar="N", help="Limit of replications for --until."
)
store = click.option(
    "--store", type=PLACE, metavar="FOLDER", help="Save each run in this folder; repeat the command to resume."
)
jobs = click.option("-j", "--jobs", type=click.IntRange(1), metavar="N", help="Parallel runs. Default: one per core.")
on = click.option("--on", metavar="WHERE", help="Run in worker processes: local:4 or dask://HOST:PORT.")

# As text: a path would lose the slash after a folder.
pcap = click.option("--pcap", metavar="FILE", type=click.Path(readable=False), help=PCAP)
qlog = click.option(
    "--qlog", type=PLACE, metavar="FOLDER", help="Write a qlog file for each end of each connection over QUIC."
)
json = click.option("--json", is_flag=True, help="Print the result as JSON and nothing else.")
quiet = click.option("-q", "--quiet", is_flag=True, callback=_hush, help="Print errors only: no tables, no progress.")
save = click.option(
    "-o", "--save", type=PLACE, metavar="FOLDER", help="Write tables, scenario and provenance to this folder."
)
plot = click.option("-p", "--plot", type=PLACE, metavar="FILE", help="Draw a figure: .png, .svg or .pdf.")

against = click.option(
    "--against",
    metavar="NAME",
    shell_complete=complete.senders,
    help="Baseline: compare each case with this one only. Default: the best case.",
)
confidence = click.option(
    "--confidence",
    default=str(Judgement.confidence),
    show_default=True,
    metavar="P",
    help="Confidence level of each interval, and of all statements together.",
)
metric = click.option(
    "-m",
    "--metric",
    default="goodput",
    show_default=True,
    metavar="A,B",
    shell_complete=complete.metrics,
    help=f"Metrics: {', '.join(METRICS)}; more with: list metrics. For one flow or link: fct:web,"
    " queue_p95:sat.forward. Statements and figure use the first one.",
)
statistic = click.option(
    "--statistic",
    default=Judgement.statistic,
    show_default=True,
    metavar="|".join(STATISTICS),
    shell_complete=complete.complete_names(STATISTICS),
    help="Statistic of replications and of paired differences.",
)
correction = click.option(
    "--correction",
    default=Judgement.correction,
    show_default=True,
    metavar="|".join(CORRECTIONS),
    shell_complete=complete.complete_names(CORRECTIONS),
    help="Correction for multiple comparisons: Holm, Benjamini-Hochberg or none.",
)


sides = click.option(
    "--sides",
    default=Judgement.sides,
    show_default=True,
    metavar="|".join(SIDES),
    shell_complete=complete.complete_names(SIDES),
    help="Test for any difference, or whether each case is better, worse, or not worse by --margin than --against"
    " NAME.",
)
margin = click.option(
    "--margin",
    metavar="AMOUNT",
    default=Judgement.margin,
    show_default=True,
    help="Smallest difference that matters: 2% of the other case's value, or 20ms.",
)
JUDGEMENT = {
    "statistic": statistic,
    "confidence": confidence,
    "correction": correction,
    "against": against,
    "sides": sides,
    "margin": margin,
}


def judgement(*names: str) -> Callable[[Function], Function]:
    """The options that decide which differences are shown; the command gets a checked `Judgement`."""

    def decorate(function: Function) -> Function:
        @wraps(function)
        def command(*args: Any, **kwargs: Any) -> Any:
            given = {name: kwargs.pop(name) for name in names}
            return function(*args, judgement=Judgement(**given), **kwargs)

        for name in reversed(names):
            command = JUDGEMENT[name](command)
        return command  # type: ignore[return-value]

    return decorate


def execution(function: Function) -> Function:
    """`--store`, `--jobs` and `--on`; the command gets them as `where`."""

    @wraps(function)
    def command(*args: Any, **kwargs: Any) -> Any:
        where = {name: kwargs.pop(name) for name in ("store", "jobs", "on")}
        return function(*args, where=where, **kwargs)

    for option in (on, jobs, store):
        command = option(command)
    return command  # type: ignore[return-value]


def cc(help: str, metavar: str = "A,B") -> Callable[[Function], Function]:
    """`--cc`, which takes one or several names and may be repeated for more."""
    return click.option(
        "-c", "--cc", metavar=metavar, multiple=True, callback=_join_values, shell_complete=complete.senders, help=help
    )


def _join_values(context: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> str | None:
    return ",".join(given) if given else None


def one_cc(help: str) -> Callable[[Function], Function]:
    """`--cc` of one name, where a connection of a real host has it."""
    return click.option("--cc", metavar="NAME", multiple=True, callback=_only, help=help)


def _only(context: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> str | None:
    if len(given) > 1:
        raise BentpipeError(f"--cc {' --cc '.join(given)}\n  expected one congestion control: all connections have it")
    return given[0] if given else None


def case(help: str) -> Callable[[Function], Function]:
    """`--case`, which names settings."""
    return click.option("--case", "cases", metavar="'NAME: KEY=VALUE; ...'", multiple=True, help=help)


def chart(*names: str, default: str | None = None) -> Callable[[Function], Function]:
    """`--chart`, one of these."""
    return click.option(
        "--chart",
        default=default,
        show_default=default is not None,
        metavar="|".join(names),
        shell_complete=complete.complete_names(names),
        help="Kind of figure for --plot.",
    )


def figure(function: Function) -> Function:
    """`--size`, `--title`, `--xlabel` and `--ylabel` of `--plot`; the command gets them as `look`."""

    @wraps(function)
    def command(
        *args: Any, size: str | None, title: str | None, xlabel: str | None, ylabel: str | None, **kwargs: Any
    ) -> Any:
        labels = {which: text for which, text in (("x", xlabel), ("y", ylabel)) if text is not None}
        look = {"size": None if size is None else _size(size), "title": title, "labels": labels}
        given = [name for name in ("size", "title", "labels") if look[name] not in (None, {})]
        if given and kwargs["plot"] is None:
            raise BentpipeError(
                f"--{'xlabel' if given[0] == 'labels' else given[0]} needs a figure\n  expected --plot FILE"
            )
        return function(*args, look=look, **kwargs)

    for option in (
        click.option("--ylabel", metavar="TEXT", help="Label of the vertical axis."),
        click.option("--xlabel", metavar="TEXT", help="Label of the horizontal axis."),
        click.option("--title", metavar="TEXT", help="Figure title; empty for none."),
        click.option("--size", metavar="WxH", help="Figure size in inches: 8x5."),
    ):
        command = option(command)
    return command  # type: ignore[return-value]


def _size(text: str) -> tuple[float, float]:
    try:
        width, height = map(float, text.lower().split("x"))
    except ValueError:
        raise BentpipeError(f"--size {text}\n  expected width and height in inches, such as 8x5") from None
    from bentpipe.plot import check_size

    return check_size((width, height))


def replications(default: int | None, help: str, least: int = 1) -> Callable[[Function], Function]:
    """`--replications`."""
    return click.option(
        "-n",
        "--replications",
        type=click.IntRange(least),
        default=default,
        show_default=default is not None,
        metavar="N",
        help=help,
    )
