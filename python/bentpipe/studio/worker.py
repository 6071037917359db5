"""One job of the studio in a separate process: `python -m bentpipe.studio.worker`.

The request is one line of JSON on the standard input. The answers are lines of JSON on the standard output. Their keys
are `progress` and `partial`, and in the last line `done` or `failed`. The line `stop` ends the work early and keeps the
part that there is. The end of the input ends the process, because the server is gone.
"""

from __future__ import annotations

import _thread
import contextlib
import json
import os
import shlex
import sys
import threading
import time
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bentpipe.progress import Progress
    from bentpipe.scenario.scenario import Scenario

    Answer = Callable[..., None]

PROGRESS_EVERY_S = 0.1
PARTIAL_EVERY_S = 0.4
QUANTILES = 101
"""Points of a curve of round trips."""
PARTIAL_SHARE = 0.2
"""Share of the time that partial results may take: those of a large grid take long."""
MEMORY_SHARE = 0.75
STOP = "stop"
NOT_ON_DISK = "# The text has changes that are not in the file. Save it and start again: the command is then exact."


def main() -> None:
    """Do the job that the standard input describes."""
    answer = _answers()
    request = json.loads(sys.stdin.readline())
    threading.Thread(target=_listen, daemon=True).start()
    _limit_memory(request.get("memory_share", MEMORY_SHARE))
    try:
        # Imported here: the answer to a wrong installation is a line, too.
        from bentpipe.errors import BentpipeError, ScenarioError

        try:
            answer(done=JOBS[request["kind"]](request, answer))
        except ScenarioError as error:
            answer(failed=str(error), problems=[problem.to_dict() for problem in error.problems])
        except BentpipeError as error:
            answer(failed=str(error))
    except KeyboardInterrupt:
        answer(failed="stopped", is_stopped=True)
    except MemoryError:
        answer(
            failed=f"not enough memory: a job may use {MEMORY_SHARE:.0%} of it\n  record fewer series, or run less time"
        )
    except OSError as error:
        answer(failed=f"{error.filename or 'a file'} cannot be written: {(error.strerror or str(error)).lower()}")


def _answers() -> Answer:
    """The function that writes one answer. The output of custom classes goes to the error output instead."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def answer(**content: Any) -> None:
        out.write(json.dumps(content, separators=(",", ":")) + "\n")
        out.flush()

    return answer


def _listen() -> None:
    """Wait for `stop`, or for the end of the server."""
    for line in sys.stdin:
        if line.strip() == STOP:
            _thread.interrupt_main()
    os._exit(1)


def _limit_memory(share: float) -> None:
    # Windows has no such limit.
    with contextlib.suppress(ImportError, AttributeError, OSError, ValueError):
        resource = import_module("resource")
        most = int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * share)
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


class Reporter:
    """Reports the progress of a verb a few times a second, with a part of its result if `partial` is given.

    The first report of a step of the work is never left out, because it has the result of the step before.
    """

    def __init__(self, answer: Answer, partial: Callable[[Any], dict[str, Any]] | None = None) -> None:
        self._answer, self._partial = answer, partial
        self._next_s = self._next_partial_s = 0.0
        self._step = ""

    def __call__(self, progress: Progress) -> None:
        now, is_new_step = time.monotonic(), progress.doing != self._step
        if now < self._next_s and not is_new_step:
            return
        self._next_s, self._step = now + PROGRESS_EVERY_S, progress.doing
        self._answer(
            progress={
                "share": progress.share,
                "label": progress.label,
                "simulated_s": progress.simulated_s,
                "total": progress.total,
                "done": progress.done + progress.reused,
                "failed": progress.failed,
                "left_s": progress.left_s,
            }
        )
        if self._partial is not None and (now >= self._next_partial_s or is_new_step):
            result = progress.result()
            if result is not None:
                self._answer(partial=self._partial(result))
            took_s = time.monotonic() - now
            self._next_partial_s = now + max(PARTIAL_EVERY_S, took_s / PARTIAL_SHARE)


def make_scenario(request: Mapping[str, Any], sets: Sequence[Any] = ()) -> Scenario:
    """Make the scenario of a request, from its text, overrides, and the custom classes of the command line."""
    from bentpipe.own import loading
    from bentpipe.scenario.scenario import Scenario

    classes = [loading.load_class(each) for each in request["own"]]
    return Scenario(
        request["text"],
        form=request["form"],
        source=request["source"],
        sets=[*map(tuple, request["sets"]), *map(tuple, sets)],
        folder=request["folder"],
        senders={loading.find_name(each): each for each in classes},
    )


def run(request: Mapping[str, Any], answer: Answer) -> dict[str, Any]:
    """Run a scenario, and save the result. A stopped run is saved up to that time."""
    from bentpipe.errors import Interrupted
    from bentpipe.experiment.single.run import run as run_
    from bentpipe.studio import series
    from bentpipe.studio.folders import write_about

    scenario = make_scenario(request)
    try:
        result = run_(scenario, series=series.list_run_series(scenario), progress=Reporter(answer))
    except Interrupted as interrupt:
        answer(is_saving=True)
        result = interrupt.result
    place = Path(request["place"])
    result.save(place)
    about = {name: request[name] for name in ("scenario", "text", "form", "folder", "sets", "own")}
    if request["is_on_disk"]:
        about["command"] = _command(result)
    write_about(place, **about, title=scenario.title, stop=result.stop, has_sky=scenario.has_sky)
    return {"run": place.name, "stop": result.stop}


def compare(request: Mapping[str, Any], answer: Answer) -> dict[str, Any]:
    """Compare congestion controls; without any, the cases of the scenario."""
    from bentpipe.experiment.compare import compare as compare_

    return _experiment(request, answer, compare_, "cc", describe_comparison)


def sweep(request: Mapping[str, Any], answer: Answer) -> dict[str, Any]:
    """Run a grid. Without varied keys, it is the grid of the scenario."""
    from bentpipe.experiment.sweep import sweep as sweep_

    return _experiment(request, answer, sweep_, "vary", swept)


def _experiment(
    request: Mapping[str, Any],
    answer: Answer,
    verb: Callable[..., Any],
    subject: str,
    shown: Callable[[Any], dict[str, Any]],
) -> dict[str, Any]:
    """Run a verb over its subject, and save the result. A stopped verb keeps the part up to then."""
    from bentpipe.errors import Interrupted

    options = dict(request["options"])
    try:
        result, stop = (
            verb(make_scenario(request), options.pop(subject, None), **options, progress=Reporter(answer, shown)),
            "",
        )
    except Interrupted as interrupt:
        answer(is_saving=True)
        if interrupt.result is None:
            raise
        result, stop = interrupt.result, "interrupted"
    if request.get("place"):
        result.save(request["place"])
    return {**shown(result), "stop": stop, "command": _command(result) if request["is_on_disk"] else NOT_ON_DISK}


def tune(request: Mapping[str, Any], answer: Answer) -> dict[str, Any]:
    """Search better settings. The place of the result is the store of the search, with all its runs."""
    from bentpipe.errors import Interrupted
    from bentpipe.tuning.tune import tune as tune_

    options, place = dict(request["options"]), request.get("place")
    progress = Reporter(answer, describe_search)
    try:
        result, stop = tune_(make_scenario(request), **options, store=place, progress=progress), ""
    except Interrupted as interrupt:
        if interrupt.result is None:
            raise
        result, stop = interrupt.result, "interrupted"
    return {
        **describe_search(result),
        "stop": stop,
        "statements": list(result.statements),
        "command": _search_command(request["source"], options) if request["is_on_disk"] else NOT_ON_DISK,
    }


def _search_command(name: str, options: Mapping[str, Any]) -> str:
    from bentpipe.experiment.common.commands import file_word

    words = ["bentpipe", "tune", file_word(name)]
    for option, key in (("--for", "objective"), ("--budget", "budget"), ("--space", "space")):
        words += [option, str(options[key])] if key in options else []
    words += [word for guard in options.get("guard", ()) for word in ("--guard", guard)]
    return shlex.join(words)


def fit(request: Mapping[str, Any], answer: Answer) -> dict[str, Any]:
    """Fit a path to measurements, and write its scenario if it has a name."""
    from bentpipe.fitting.fit import fit as fit_
    from bentpipe.fitting.result import check_place

    # Names in the scenario and in the command are those of the folder.
    os.chdir(request["folder"])
    if request["save"]:
        check_place(request["save"])
    found = fit_(request["files"], **request["options"], progress=Reporter(answer))
    if request["save"]:
        found.save(request["save"])
    return describe_fit(found, request["save"])


def describe_fit(found: Any, save: str) -> dict[str, Any]:
    """The data of a fit for its panel: the files, the path, and its check."""
    import numpy as np

    measured = np.zeros(0) if found.probes is None else found.probes.rtt_s[~found.probes.is_lost]
    curves = {"measured": measured, "simulated": found.simulated_s[np.isfinite(found.simulated_s)]}
    shares = np.linspace(0, 1, QUANTILES)
    command = found.command()
    return {
        "files": [
            [each.name, each.kind, each.samples, f"{each.span_s:,.0f} s", "; ".join(each.notes)]
            for each in found.records
        ],
        "numbers": [
            [each.name, each.text, "" if each.kind == "fitted" else each.kind, each.how] for each in found.numbers
        ],
        "check": [_show_checked(each) for each in found.check],
        "verdict": found.verdict,
        "statements": [
            f"Check: {found.verdict}",
            *([found.held_out.statement] if found.held_out is not None else []),
        ],
        "notes": list(found.notes),
        "scenario": found.text(Path(save).with_suffix(".data").name if save else "path.data"),
        "save": save,
        "curves": {
            name: [1e3 * float(each) for each in np.quantile(values, shares)]
            for name, values in curves.items()
            if len(values)
        },
        "command": f"{command} -o {shlex.quote(save)}" if save else command,
    }


def _show_checked(each: Any) -> list[str]:
    from bentpipe import formatting

    ours, theirs = (formatting.quantity(value, each.unit) for value in (each.measured, each.simulated))
    if each.quantity == "rtt W1":
        return [each.quantity, "", theirs, each.verdict]
    return [each.quantity, ours, f"{theirs} (total of the file)" if each.is_total else theirs, each.verdict]


JOBS: dict[str, Callable[[Mapping[str, Any], Answer], dict[str, Any]]] = {
    "run": run,
    "compare": compare,
    "sweep": sweep,
    "tune": tune,
    "fit": fit,
}


def describe_comparison(result: Any) -> dict[str, Any]:
    """The data of a comparison for its panel: for each name, the value of each replication and the interval."""
    from bentpipe.metric import find_metric

    metric = find_metric(result.metric)
    rows = {row["of"]: row for row in result.table.to_dicts() if row["metric"] == metric.name}
    cases = [
        {"of": name, "values": _numbers(result.values(name, metric.name)), **_estimate(rows[name])}
        for name in result.order_cases(metric.name)
    ]
    return {
        "metric": _metric(metric),
        "cases": cases,
        "wanted": result.sweep.points["replications"].max() if result.sweep is not None else len(result.seeds),
        "statements": list(result.statements),
        "notes": list(result.notes),
    }


def swept(result: Any) -> dict[str, Any]:
    """The data of a sweep for its panel: for each point, its keys and the interval of each metric."""
    from bentpipe.metric import find_metric

    points = [
        {
            "of": row["of"],
            "at": [row[key] for key in result.keys],
            "metric": row["metric"],
            "wanted": wanted,
            **_estimate(row),
        }
        for row, wanted in zip(
            result.table.to_dicts(),
            [count for count in result.points["replications"] for _ in result.metrics],
            strict=True,
        )
    ]
    return {
        "keys": list(result.keys),
        "metrics": [_metric(find_metric(name)) for name in result.metrics],
        "points": points,
        "missing": result.missing,
        "best": {name: _list_best(result, name)[:1] for name in result.metrics},
        "ties": {name: _list_best(result, name)[1:] for name in result.metrics},
        "statements": list(result.statements) if not result.missing else [],
        "notes": list(result.notes) if not result.missing else [],
    }


def describe_search(result: Any) -> dict[str, Any]:
    """The data of a search for its panel: the settings of each rung, and the worth of each change."""
    from bentpipe.tuning.confirming import INTERRUPTED
    from bentpipe.tuning.sentences import convert_score, name_setting, objective, worth

    content = result.content
    best = content["best"] if content["verdict"] != INTERRUPTED else _leader(content)
    return {
        "objective": f"Change of {objective(content)}",
        "rungs": [
            {
                **{name: rung[name] for name in ("name", "blocks", "points", "kept", "runs")},
                "settings": [
                    {
                        "name": name_setting(content, each["set"]),
                        "change": convert_score(content, {"value": each["change"], "low": None, "high": None})["value"],
                        "kept": each["kept"],
                    }
                    for each in rung["settings"]
                ],
            }
            for rung in content["rungs"]
        ],
        "best": "" if best is None else name_setting(content, best["set"]),
        "verdict": content["verdict"],
        "worth": worth(content),
        "statements": [] if content["verdict"] == INTERRUPTED else list(result.statements),
        "notes": [],
    }


def _leader(content: Mapping[str, Any]) -> dict[str, Any] | None:
    """The best of the settings that the last rung kept."""
    kept = [
        each
        for rung in content["rungs"][-1:]
        for each in rung["settings"]
        if each["kept"] and each["change"] is not None
    ]
    return min(kept, key=lambda each: each["change"], default=None)


def _list_best(result: Any, metric: str) -> list[str]:
    """The names of the best point and of those that are not shown to be worse, as in the rows of the table."""
    names = dict(zip(result.points["point"], result.names, strict=True))
    return [names[each.point] for place, each in enumerate(result.ranking(metric)) if place == 0 or not each.is_worse]


def _metric(metric: Any) -> dict[str, Any]:
    return {
        "name": metric.name,
        "unit": metric.unit,
        "title": metric.title,
        "meaning": metric.meaning,
        "is_more_better": metric.is_more_better,
    }


def _estimate(row: Mapping[str, Any]) -> dict[str, Any]:
    names = ("mean", "median", "low", "high", "replications", "completed", "due", "is_bound")
    return {name: row[name] for name in names if name in row}


def _numbers(values: Any) -> list[float | None]:
    return [None if value != value else float(value) for value in values]


def _command(result: Any) -> str:
    from bentpipe.errors import BentpipeError

    try:
        return str(result.command())
    except BentpipeError as error:
        return f"# {str(error).splitlines()[0]}"


if __name__ == "__main__":
    main()
