"""Paths that a test runs programs over."""

from __future__ import annotations

import shlex
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bentpipe.emulation.emulate import emulate
from bentpipe.errors import EmulationError
from bentpipe.scenario.one_link import make_one_link
from bentpipe.scenario.scenario import make_scenario
from bentpipe.testing.runs import Runs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType

    from bentpipe.emulation.emulate import Emulation
    from bentpipe.scenario.scenario import AnyScenario, Scenario
    from bentpipe.scenario.writing import Sets

OPEN_DURATION = "24 h"
"""Duration of a path without a scenario: the run ends with its program."""
OUTPUT_SHOWN = 2000
"""Letters of a program's output that an error shows: the last."""


@dataclass(frozen=True)
class Maker:
    """The value of the fixture `path`, which makes paths.

    Attributes
    ----------
    attempts : int
        Maximum number of runs of a program until a run is trustworthy.
    give_up : callable
        Function that ends the test with a reason if the machine is unfit.
    record : callable
        Function that adds a line about a run to the result of the test.
    baselines : Path
        File with baselines.
    is_update : bool
        Whether baselines are written instead of compared.
    """

    attempts: int
    give_up: Callable[[str], None]
    record: Callable[[str], None]
    baselines: Path
    is_update: bool

    def __call__(
        self,
        scenario: AnyScenario | None = None,
        *,
        seed: int | None = None,
        sets: Sets = (),
        **link: str,
    ) -> ProgramPath:
        """Make a path.

        Parameters
        ----------
        scenario : Scenario, dict, path or name, optional
            As for `bentpipe.run`. Without it, the path is one link from `server` to `client`.
        seed : int, optional
            Instead of the scenario's own.
        sets : mapping or pairs
            Overrides by dotted key.
        **link : str
            `rate`, `up_rate`, `delay`, `loss` and `queue` of the one link, such as `rate="20 Mbit/s"`.

        Raises
        ------
        BentpipeError
            The scenario or a value is invalid.
        """
        if scenario is not None and link:
            raise EmulationError(f"{next(iter(link))} makes a path without a scenario\n  expected one of them, or sets")
        given = [*sets.items()] if hasattr(sets, "items") else [*sets]
        made = make_scenario(scenario, given) if scenario is not None else make_one_link(link, OPEN_DURATION, given)
        return ProgramPath(made if seed is None else made.with_seed(seed), self)


@dataclass(frozen=True)
class Done:
    """A program that ran over a path.

    Attributes
    ----------
    status : int or None
        Exit status; None if the duration of the scenario ended the program.
    output : str
        Its standard output.
    seconds : float
        Time from its start to its end.
    emulation : Emulation
        The whole result.
    """

    status: int | None
    output: str
    seconds: float
    emulation: Emulation

    @property
    def is_cut(self) -> bool:
        """Whether the duration of the scenario ended the program."""
        return self.emulation.stopped == "over"

    def check(self) -> Done:
        """Return itself if the program ended by itself with status 0.

        Raises
        ------
        AssertionError
            The program was cut or has another status. The text has the status, the last output and the path.
        """
        if self.status == 0:
            return self
        duration_s = self.emulation.result.scenario.duration_s
        end = f"the duration of {duration_s:g} s ended the program" if self.is_cut else f"status {self.status}"
        shown = self.output[-OUTPUT_SHOWN:].rstrip()
        raise AssertionError("\n".join([end, describe(self.emulation.result.scenario), *([shown] if shown else [])]))


@dataclass(frozen=True)
class ProgramPath:
    """A path that programs run over. Each run has a new network. With the same seed, packets have the same fate."""

    scenario: Scenario
    _made_by: Maker

    def __enter__(self) -> ProgramPath:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None and hasattr(error, "add_note"):
            error.add_note(describe(self.scenario))

    def run(self, command: Sequence[str], *, seed: int | None = None, **options: Any) -> Done:
        """Run a program until its run is trustworthy.

        If no attempt is trustworthy, or the machine allows no emulation, the test ends as unfit.

        Parameters
        ----------
        command : sequence of str
            The program with its arguments.
        seed : int, optional
            Seed of the run. The default is the seed of the path.
        **options
            `serve`, `at`, `flow`, `cc`, `pcap` and others of `bentpipe.emulate`.

        Raises
        ------
        BentpipeError
            The program could not be started, or an option is invalid.
        """
        scenario = self.scenario if seed is None else self.scenario.with_seed(seed)
        with tempfile.TemporaryDirectory(prefix="bentpipe-") as folder:
            output = Path(folder) / "output"
            try:
                found = emulate(scenario, command, attempts=self._made_by.attempts, output=output, **options)
            except EmulationError:
                if reason := find_refusal():
                    self._made_by.give_up(f"this machine allows no emulation: {reason}")
                raise
            text = output.read_text(encoding="utf-8", errors="replace") if output.exists() else ""
        if found.stopped == "interrupted":
            raise KeyboardInterrupt
        self._made_by.record(f"seed {scenario.seed}: {found.trust.sentence}")
        if not found.trust.is_trustworthy:
            self._made_by.give_up(f"{found.attempts} attempts: {found.trust.sentence}")
        return Done(found.status, text, found.result.simulated_s, found)

    def repeat(self, command: Sequence[str], *, runs: int = 10, **options: Any) -> Runs:
        """Run a program several times, each with the next seed. Each run must end with status 0.

        Parameters
        ----------
        command : sequence of str
            The program with its arguments.
        runs : int
            Number of runs.
        **options
            As for `run`.

        Raises
        ------
        AssertionError
            A run failed.
        """
        seeds = [self.scenario.seed + number for number in range(runs)]
        seconds = [self.run(command, seed=seed, **options).check().seconds for seed in seeds]
        made_by = self._made_by
        return Runs(
            seeds, seconds, self.scenario.digest, made_by.baselines, made_by.give_up, is_update=made_by.is_update
        )


def describe(scenario: Scenario) -> str:
    """Describe a path in one line, for the error of a test."""
    return f"path: {scenario.title or scenario.source}, seed {scenario.seed}"


@cache
def find_refusal() -> str:
    """Return the reason why this machine allows no emulation; empty if it does."""
    try:
        emulate(make_one_link({}, "1 s"), ["true"])
    except EmulationError as error:
        return shlex.join([" ".join(str(error).split())]).strip("'")
    return ""
