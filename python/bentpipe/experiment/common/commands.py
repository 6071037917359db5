"""Commands that repeat a sweep, or one of its runs."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bentpipe.catalog import QUIC_CC, cc_keys
from bentpipe.errors import BentpipeError, ScenarioError
from bentpipe.own import loading
from bentpipe.own.fingerprint import compute_code
from bentpipe.own.plugins import find_package
from bentpipe.scenario.overrides import cases as overridden
from bentpipe.scenario.overrides import effective, read_varied
from bentpipe.statistics.judgement import DEFAULT, FAIR_USUAL, Judgement

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from bentpipe.own.loading import Own

WRITTEN = "scenario"
"""Name of the file beside a report that has the scenario as written."""
UNNAMED = "scenario"
"""Name of the source of a scenario that was not read from a file."""

_OPTIONS = {
    "sweep.replications": "--replications",
    "sweep.replications_max": "--replications-max",
    "sweep.metrics": "--metric",
    "sweep.tables": "--tables",
    "sweep.against": "--against",
    "seed": "--seed",
}


def vary_key() -> str:
    """Return the key of the congestion controls that a sweep compares."""
    return f"sweep.vary.{cc_keys()[0]}"


def sweep_command(facts: Mapping[str, Any], *, has_report: bool = True) -> str:
    """Write the shell command that repeats a sweep and its report; empty if no command does.

    Parameters
    ----------
    facts : mapping
        Facts of the sweep: `source`, `sets`, `senders`, `written`. If the report has another baseline than the sweep,
        `report_against` names it.
    has_report : bool
        Whether the command of the report follows.
    """
    if given_in_python(facts):
        return ""
    source = facts["source"] if has_file(facts) else f"{WRITTEN}.{facts['written'][1]}"
    sets = _spelled_sets(facts)
    if facts["verb"] != "sweep" and (dict(sets).get(vary_key()) or "cases" in facts):
        options = _together(facts, sets)
        return "" if options is None else shlex.join(["bentpipe", facts["verb"], file_word(source), *options])
    sweep = ["bentpipe", "sweep", file_word(source), *_arguments(sets), *_spell_judgement(facts, but=("against",))]
    if not has_report:
        return shlex.join(sweep)
    against = facts.get("report_against")
    report = [
        "bentpipe",
        "report",
        file_word(f"{Path(source).stem}.sweep"),
        *(["--against", against] if against else []),
    ]
    return f"{shlex.join(sweep)} && {shlex.join(report)}"


def spell_command(facts: Mapping[str, Any]) -> str:
    """Write the command that repeats a result, without its report.

    Raises
    ------
    BentpipeError
        No command repeats it.
    """
    refuse_without_command(facts, has_file=has_file(facts))
    command = sweep_command(facts, has_report=False)
    if not command:
        raise BentpipeError(
            "no command repeats this result: a name or value of its cases needs quotes inside quotes\n"
            "  expected names and values without quotes"
        )
    against = facts.get("report_against") if facts["verb"] == "sweep" else None
    return f"{command} --against {shlex.quote(against)}" if against else command


def tune_command(content: Mapping[str, Any]) -> str:
    """Write the command that repeats a search.

    Parameters
    ----------
    content : mapping
        `source`, `sets` and `senders` of its scenario, `guard_asked`, and `budget`.

    Raises
    ------
    BentpipeError
        No command repeats it.
    """
    refuse_without_command(content, has_file=has_file(content))
    guards = [part for guard in content["guard_asked"] for part in ("--guard", guard)]
    budget = [] if content["budget"] is None else ["--budget", str(content["budget"])]
    sets = _arguments(_spelled_sets(content))
    return shlex.join(["bentpipe", "tune", file_word(content["source"]), *sets, *guards, *budget])


def refuse_without_command(facts: Mapping[str, Any], *, has_file: bool) -> None:
    """Refuse a result that no command can repeat.

    Raises
    ------
    BentpipeError
        The scenario or a class was given in Python.
    """
    if not has_file:
        raise BentpipeError(
            "no command repeats this result: the scenario was given in Python\n  expected the path of a scenario file"
        )
    if given := given_in_python(facts):
        raise BentpipeError(
            f"no command repeats this result: {', '.join(given)} was given in Python\n"
            f"  expected FILE.py:{given[0]} as cc"
        )


def _together(facts: Mapping[str, Any], sets: Sequence[tuple[str, str]]) -> list[str] | None:
    """Write the options of a comparison or mix; None if `--case` cannot write one of its cases."""
    senders, cases = dict(sets).get(vary_key()), facts.get("cases", {})
    # For a sweep, additional cases are among the values. Here `--case` writes them.
    dropped = ("sweep.vary.", "case.") if cases else ("sweep.vary.",)
    given = [(key, text) for key, text in sets if not key.startswith(dropped)]
    # `--cc` sets these keys, and is refused beside them.
    replaced = (*cc_keys(), QUIC_CC) if facts["verb"] == "compare" else cc_keys()
    options = _arguments(given, replaced if senders else ())
    for name, values in cases.items():
        spelled = {key: _token(_spell_value(key, value, facts["senders"])) for key, value in values.items()}
        text = f"{name}: {'; '.join(f'{key}={value}' for key, value in spelled.items())}".strip()
        try:
            if overridden([text]) != {name: spelled}:
                return None
        except ScenarioError:
            return None
        options += ["--case", text]
    options += ["--cc", ",".join(read_value(senders))] if senders else []
    metrics = facts["metrics"] if facts["verb"] == "compare" else facts["asked"]
    options += ["--metric", ",".join(metrics)] if metrics else []
    fair = facts.get("fair", FAIR_USUAL)
    options += [*_spell_judgement(facts), *(["--fair", fair] if fair != FAIR_USUAL else [])]
    stagger_s = facts.get("plan", {}).get("stagger_s", 0.0)
    options += ["--stagger", f"{stagger_s!r}s"] if stagger_s else []
    varied = _vary([{key: values} for key, values in facts["vary"].items()]) if "vary" in facts else []
    return None if varied is None else [*options, *varied]


def _spell_judgement(facts: Mapping[str, Any], but: Collection[str] = ()) -> list[str]:
    """Write the options of the judgement that differ from their defaults."""
    usual = DEFAULT.to_dict()
    said = {name: value for name, value in Judgement.from_facts(facts).to_dict().items() if value != usual.get(name)}
    return [part for name, value in said.items() if name not in but for part in (f"--{name}", str(value))]


def run_command(facts: Mapping[str, Any], values: Mapping[str, Any], seed: int) -> str:
    """Write the shell command that repeats one run of a sweep; empty if no command does.

    Parameters
    ----------
    values : mapping
        Values of the varied keys at the point.
    """
    if given_in_python(facts) or not has_file(facts) or "case" in values:
        return ""
    sets = [(key, text) for key, text in _spelled_sets(facts) if not key.startswith(("sweep.", "case."))]
    more = {key: _token(_spell_value(key, value, facts["senders"])) for key, value in values.items()}
    # A comparison sets the key of each transport, as `--cc` does.
    cc = more.pop(cc_keys()[0], None) if facts.get("verb") == "compare" else None
    but = {"seed", *((*cc_keys(), QUIC_CC) if cc else ())}
    of_run = [(key, text) for key, text in effective([*sets, *more.items()]) if key not in but]
    options = [part for key, text in of_run for part in ("--set", f"{key}={text}")]
    options += ["--cc", cc] if cc else []
    return shlex.join(["bentpipe", "run", file_word(facts["source"]), *options, "--seed", str(seed)])


def spelled_arguments(facts: Mapping[str, Any]) -> list[str]:
    """Write the overrides of a scenario as typed; custom classes as `FILE.py:CLASS`."""
    return _arguments(_spelled_sets(facts))


def own(senders: Mapping[str, Own]) -> dict[str, dict[str, Any]]:
    """Describe custom classes by name: `class`, as `FILE.py:CLASS` or None, and a hash of the `code`.

    A class of an installed package also has its `package`, with the version.
    """
    return {
        name: {
            "class": loading.where(cls),
            "code": compute_code(cls),
            **({"package": package} if (package := find_package(cls)) else {}),
        }
        for name, cls in senders.items()
    }


def has_file(facts: Mapping[str, Any]) -> bool:
    """Whether the scenario was read from a file, or is bundled."""
    return bool(facts["source"] != UNNAMED)


def given_in_python(facts: Mapping[str, Any]) -> list[str]:
    """List custom classes that no command line can name: from a notebook, or in a scenario that is a dict."""
    senders: Mapping[str, Mapping[str, Any]] = facts["senders"]
    named = {name for key, text in facts["sets"] for name in senders if _names(key, read_value(text), name)}
    return [name for name, sender in senders.items() if sender["class"] is None or name not in named]


def _names(key: str, value: Any, sender: str) -> bool:
    """Whether an override names a custom class."""
    return bool(_spell_value(key, value, {sender: {"class": ""}}) != value)


def _spelled_sets(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Write the overrides of a scenario, with custom classes as `FILE.py:CLASS`."""
    found = []
    for key, text in facts["sets"]:
        value = read_value(text)
        spelled = _spell_value(key, value, facts["senders"])
        found.append((key, text if spelled == value else _token(spelled)))
    return found


def _spell_value(key: str, value: Any, senders: Mapping[str, Mapping[str, Any]]) -> Any:
    if key == "sweep.together" and isinstance(value, list):
        return [{inner: _spell_value(inner, each, senders) for inner, each in group.items()} for group in value]
    if loading.find_base(key) is None:
        return value
    if isinstance(value, list):
        return [_spell_value(key, each, senders) for each in value]
    name = value.get("name") if isinstance(value, dict) and value.get("kind") == "own" else value
    return senders[name]["class"] if isinstance(name, str) and name in senders else value


def file_word(source: str) -> str:
    """Return a file name as a command takes it: `./-a.toml`, because `-a.toml` is an option.

    >>> file_word("-a.toml"), file_word("a.toml")
    ('./-a.toml', 'a.toml')
    """
    return f"./{source}" if source.startswith("-") else source


def _arguments(sets: Iterable[Sequence[str]], varied_too: Iterable[str] = ()) -> list[str]:
    """Write the overrides of a scenario as typed, without the varied keys."""
    options: dict[str, list[str]] = {}
    plain: list[tuple[str, str]] = []
    vary = [*varied_too]
    for key, text in sets:
        found = _option(key, text)
        if found is None:
            plain.append((key, text))
        else:
            # The last value counts, as in the scenario.
            options[key] = found
        vary += _find_varied(key, text)
    shown = [part for key, text in effective(plain, vary) for part in ("--set", f"{key}={text}")]
    return [*shown, *(part for option in options.values() for part in option)]


def _find_varied(key: str, text: str) -> list[str]:
    """Return the keys of the scenario that this value varies."""
    if key.startswith("sweep.vary."):
        return [key.removeprefix("sweep.vary.")]
    groups = read_value(text) if key == "sweep.together" else ()
    return [inner for group in groups if isinstance(group, dict) for inner in group]


def _option(key: str, text: str) -> list[str] | None:
    """Return the option for this key, if an option expresses exactly this value."""
    value = read_value(text)
    if key.startswith("sweep.vary."):
        return _vary([{key.removeprefix("sweep.vary."): value}])
    if key == "sweep.together" and isinstance(value, list):
        return _vary(value)
    if key == "sweep.until" and isinstance(value, dict) and set(value) == {"metric", "half_width"}:
        return ["--until", f"{value['metric']}={value['half_width']}"]
    if key in _OPTIONS:
        return [_OPTIONS[key], ",".join(value) if isinstance(value, list) else str(value)]
    return None


def _vary(groups: Sequence[Mapping[str, Any]]) -> list[str] | None:
    """Write `--vary` for each group of keys; None if it cannot express a group."""
    arguments = []
    for group in groups:
        if not isinstance(group, dict):
            return None
        text = "; ".join(f"{key}={_values(values)}" for key, values in group.items())
        try:
            vary, together = read_varied([text])
        except ScenarioError:
            return None
        if {**vary, **(together[0] if together else {})} != group:
            return None
        arguments += ["--vary", text]
    return arguments


def _values(values: Any) -> str:
    """Write the values of a key as after `--vary KEY=`."""
    if isinstance(values, dict):
        text = f"{_token(values.get('from'))}..{_token(values.get('to'))}:{values.get('count')}"
        return text + (":log" if values.get("scale") == "log" else "")
    if isinstance(values, list):
        text = ",".join(map(_token, values))
        # Texts with commas need brackets and quotes.
        return (
            text
            if read_varied([f"key={text or '-'}"])[0].get("key") == values
            else f"[{', '.join(map(_literal, values))}]"
        )
    return str(values)


def _token(value: Any) -> str:
    return value if isinstance(value, str) else _literal(value)


def _literal(value: Any) -> str:
    """Write a value as in a file."""
    if isinstance(value, dict):
        # A key with dots is one key here.
        pairs = (f"{json.dumps(key) if '.' in key else key} = {_literal(item)}" for key, item in value.items())
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_literal, value)) + "]"
    if isinstance(value, float):
        return repr(value).replace("e-0", "e-")
    return json.dumps(value, ensure_ascii=False)


def read_value(text: str) -> Any:
    """Read the value of a text, which may also be plain text."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
