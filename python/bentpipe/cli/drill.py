"""`bentpipe drill`."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bentpipe.cli import options
from bentpipe.cli.help import Command, argument
from bentpipe.cli.printing import print_result

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from bentpipe.emulation.drill import Difference, Drilled, Kernel

DIFFERS = 1
"""Exit status if a script does not hold."""


@click.command("drill", cls=Command, examples=("drill", "drill rfc5681 rfc8985 --json", "drill test.pkt --kernel"))
@argument(
    "scripts",
    nargs=-1,
    metavar="[SCRIPT]...",
    help="Names such as rfc5681, or files: bentpipe's scripts, or *.pkt of packetdrill. Default: all bundled scripts.",
)
@click.option("--kernel", is_flag=True, help="Also run the scripts on the TCP of this machine's kernel, in real time.")
@options.json
@options.quiet
def command(scripts: tuple[str, ...], kernel: bool, json: bool, quiet: bool) -> None:
    """Run conformance scripts on bentpipe's TCP.

    A script lists the actions of an application and a peer, and the segments that the connection must send, each with
    its instant. Each script runs twice: with segments as values, and with segments encoded as packets and decoded
    again. With --kernel, it also runs on the kernel's TCP, in a private namespace. A file *.pkt is in packetdrill's
    language and runs on a host like Linux 6; its shell and Python blocks are never executed. The exit status is 1 if a
    script does not hold, and 2 if a script cannot run.
    """
    from bentpipe.emulation.drill import on_kernel, read_bundled, run_script

    found = [run_script(script) for script in scripts or read_bundled()]
    if kernel:
        if sys.stderr.isatty() and not (json or quiet):
            cases = sum(each.cases for each in found)
            print(f"{cases} cases run on this machine's kernel, in real time ...", file=sys.stderr)
        found = on_kernel(found)
    print_result(lambda: [each.to_dict() for each in found], lambda: _render_scripts(found), json=json, quiet=quiet)
    if not all(each.holds for each in found):
        raise click.exceptions.Exit(DIFFERS)


def _render_scripts(found: list[Drilled]) -> Iterator[RenderableType]:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    has_kernel = any(each.kernel for each in found)
    table.add_column("script", overflow="fold")
    table.add_column("cases", justify="right")
    table.add_column("core", no_wrap=True)
    table.add_column("codec", no_wrap=True)
    if has_kernel:
        for name in ("kernel", "noted", "differs", "n/a"):
            table.add_column(name, justify="right")
    for each in found:
        kernel = _counts(each.kernel) if each.kernel else ()
        own = (_verdict(differences, is_brief=has_kernel) for differences in (each.core, each.codec))
        table.add_row(Path(each.script).name, str(each.cases), *own, *kernel)
    if has_kernel:
        table.add_row("all", str(sum(each.cases for each in found)), "", "", *_counts(_sum(found)))
    yield table
    for each in found:
        both = (
            [("core and codec", each.core)] if each.core == each.codec else [("core", each.core), ("codec", each.codec)]
        )
        for way, differences in [*both, ("kernel", each.kernel.differences if each.kernel else ())]:
            for difference in differences:
                yield f"\n{each.script}:{difference.line}: {way}: {difference.what}"
                if difference.way:
                    yield f"  bentpipe's TCP differs in this line, too, with {difference.way}"
                yield f"  {difference.text}\n  in {difference.title}"
    if has_kernel and (missing := _sum(found).not_applicable):
        rows = sorted(missing.items(), key=lambda row: -row[1])
        yield "\nNot applicable to the kernel:"
        yield "\n".join(f"{count:5}  {what}" for what, count in rows)


def _sum(found: list[Drilled]) -> Kernel:
    """Sums the results of all scripts."""
    from bentpipe.emulation.drill import Kernel

    parts = [each.kernel for each in found if each.kernel]
    missing: Counter[str] = Counter()
    for part in parts:
        missing.update(part.not_applicable)
    differences = tuple(difference for part in parts for difference in part.differences)
    return Kernel(sum(part.holds for part in parts), sum(part.noted for part in parts), differences, dict(missing))


def _counts(kernel: Kernel) -> tuple[str, ...]:
    missing = sum(kernel.not_applicable.values())
    return tuple(str(count) for count in (kernel.holds, kernel.noted, len(kernel.differences), missing))


def _verdict(differences: tuple[Difference, ...], *, is_brief: bool) -> str:
    if not differences:
        return "holds" if is_brief else "holds as written"
    return f"differs in {len(differences)}" + ("" if is_brief else f", first in line {differences[0].line}")
