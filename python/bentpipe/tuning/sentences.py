"""Sentences and lines of a search's result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bentpipe.formatting import choice, count, decapitalise
from bentpipe.tuning.confirming import AS_GOOD, BETTER, GUARD, INTERRUPTED, LOOKS

if TYPE_CHECKING:
    from collections.abc import Mapping

SHOWN_MAX = 6
"""Most settings without effect that are named."""
SMALL = 0.01
"""Share of the variance below which a key is not worth a choice."""


def change(effect: Mapping[str, Any], *, has_ends: bool = True) -> str:
    """Write a change with its interval.

    >>> change({"value": -0.486, "low": -0.5, "high": -0.471})
    '-48.6 % (-50.0 to -47.1)'
    """
    if effect["value"] is None:
        return "cannot be compared"
    text = f"{100 * effect['value']:+.1f} %"
    if not has_ends or effect["low"] is None or effect["high"] is None:
        return text
    return f"{text} ({100 * effect['low']:+.1f} to {100 * effect['high']:+.1f})"


def is_unclear(effect: Mapping[str, Any]) -> bool:
    """Whether the interval of a change contains zero."""
    return effect["low"] is None or effect["high"] is None or effect["low"] <= 0 <= effect["high"]


def convert_score(content: Mapping[str, Any], score: Any) -> Any:
    """Convert a score (better below zero) to the relative change of the metric, for an objective of one metric."""
    if score is None or len(content["objective"]) > 1 or not content["objective"][0]["more_is_better"]:
        return score
    ends = {"value": score["value"], "low": score["high"], "high": score["low"]}
    return {name: None if end is None or end <= -1 else 1 / (1 + end) - 1 for name, end in ends.items()}


def objective(content: Mapping[str, Any]) -> str:
    """Name the metrics of the objective."""
    return " and ".join(decapitalise(each["title"]) for each in content["objective"])


def name_setting(content: Mapping[str, Any], changes: Mapping[str, Any]) -> str:
    """Name a setting by its changes: `cc bbr1, initial window 40 segments`."""
    axes = {axis["key"]: axis for axis in content["axes"]}
    return ", ".join(f"{axes[key]['what']} {choice(value)}" for key, value in changes.items()) or "default"


def worth(content: Mapping[str, Any]) -> list[list[str]]:
    """Write the worth of each recommended change, made alone and taken back.

    A star marks intervals that contain zero.
    """
    if content["verdict"] != BETTER:
        return []
    axes, first = {axis["key"]: axis for axis in content["axes"]}, content["objective"][0]["metric"]
    rows = []
    for each in content["effects"]:
        axis, why = axes[each["key"]], " (kept for a guard)" if each["for_guard"] else ""
        effects = (each["alone"][first], each["back"][first])
        cells = [change(effect, has_ends=False) + (" *" if is_unclear(effect) else "") for effect in effects]
        rows.append([f"{axis['what']}: {axis['default']} -> {choice(each['value'])}{why}", *cells])
    return rows


def settings(content: Mapping[str, Any], which: str = "recommended") -> list[str]:
    """Write the changes of a setting, each with the default before it."""
    axes = {axis["key"]: axis for axis in content["axes"]}
    return [
        f"{axes[key]['what']}: {axes[key]['default']} -> {choice(value)}"
        for key, value in content[which]["set"].items()
    ]


def headline(content: Mapping[str, Any]) -> str:
    """Write the size of the search in one line."""
    names = ", ".join(each["name"] for each in content["conditions"])
    return (
        f"{objective(content)}, {count(content['points'], 'setting')}, "
        f"{count(len(content['conditions']), 'condition')} ({names}), "
        f"{count(content['runs']['all'], 'run')}"
    )


def verdict(content: Mapping[str, Any]) -> str:
    """Write the verdict in one sentence."""
    what = objective(content)
    tried = "; ".join(settings(content, "tried"))
    score = convert_score(content, content["score"])
    if content["verdict"] == BETTER:
        if content["robust"] != "mean":
            how = "the worst condition" if content["robust"] == "worst" else "90 % of the conditions"
            return f"Better: {change(score)} in {what}, for {how}, with {tried}."
        return f"Better: {change(score)} in {what} with {tried}."
    if content["verdict"] == AS_GOOD:
        return (
            f"The default is as good: the best setting found ({tried}) changes {what} by {change(score)}, "
            f"no difference that matters (margin {100 * content['margin']:g} %). Leave it."
        )
    if content["verdict"] == GUARD:
        broken = next(each for each in content["guards"] if not each["holds"])
        return (
            f"Better settings break a guard: with {tried}, {broken['guard']} is not shown in the condition "
            f"{broken['condition']}."
        )
    if content["verdict"] == INTERRUPTED:
        return f"Interrupted after {count(content['runs']['all'], 'run')}: there is no verdict yet."
    if score is None:
        return f"No better setting can be shown: no tried setting changed {what}."
    return (
        f"No better setting can be shown: {tried} changes {what} by {change(score)}. "
        f"These runs would have shown a change of {100 * content['smallest']:.1f} % or more."
    )


def statements(content: Mapping[str, Any]) -> list[str]:
    """List the verdict and its limits."""
    said = [verdict(content)]
    if content["blocks"]:
        seeds = content["seeds"]["confirm"]
        said.append(
            "All runs are equal for every seed, so there is no interval."
            if not content["is_random"]
            else f"The interval is from {content['blocks']} seeds that the search did not use, from {seeds} on."
        )
        if content["effects"] and content["worth_blocks"] < content["blocks"]:
            said.append(f"The worth of each change is from the first {content['worth_blocks']} of them.")
    said += [
        f"The default has {axis['what']} {axis['default']}: {axis['default_lacks']}."
        for axis in content["axes"]
        if axis["default_lacks"]
    ]
    said += order(content)
    said += without_effect(content)
    research = content["research"]
    if research is not None and not is_unclear(research["effect"]) and research["effect"]["value"] < 0:
        names = ", ".join(choice(value) for value in research["set"].values())
        more = change(convert_score(content, research["effect"]))
        said.append(f"Research could add {more}: {names} ({research['lacking']}). It is not recommended.")
    return said


def order(content: Mapping[str, Any]) -> list[str]:
    """Write the greedy path: the changes, the largest gain first, each with the score of all changes so far."""
    if not content["path"] or content["verdict"] != BETTER:
        return []
    axes = {axis["key"]: axis for axis in content["axes"]}
    steps_ = [
        f"{axes[each['key']]['what']} ({change(convert_score(content, each['score']), has_ends=False)})"
        for each in content["path"]
    ]
    return [f"The largest gain first, each with all before it: {', '.join(steps_)}."]


def without_effect(content: Mapping[str, Any]) -> list[str]:
    """Name settings that changed no run, and keys that hardly matter."""
    axes = {axis["key"]: axis for axis in content["axes"]}
    settings: dict[str, list[str]] = {}
    for each in content["same"]:
        named = f"{axes[each['key']]['what']} {choice(each['value'])}"
        settings.setdefault(named, []).append(", ".join(choice(value) for value in each["under"].values()))
    said = []
    for named, under in list(settings.items())[:SHOWN_MAX]:
        # A change without effect beside the default has none of interest beside other settings.
        where = "" if "" in under else f" with {under[0]}" if len(under) == 1 else f" in {len(under)} settings"
        said.append(f"{named} changed no run{where}.")
    if len(settings) > SHOWN_MAX:
        said.append(f"{len(settings) - SHOWN_MAX} more changes had no effect.")
    influence = content["influence"] or {"main": {}}
    # A change may be worth much beside the other recommended ones, and little on average over all settings.
    kept = content["recommended"]["set"] if content.get("recommended") else {}
    small = [axes[key]["what"] for key, share in influence["main"].items() if share < SMALL and key not in kept]
    if small:
        said.append(f"Less than {100 * SMALL:g} % of the variance: {', '.join(small)}.")
    return said


def name_seeds(content: Mapping[str, Any]) -> str:
    """Name the seeds of search and confirmation."""
    blocks = max((rung["blocks"] for rung in content["rungs"]), default=0)
    first, confirm = content["seeds"]["search"], content["seeds"]["confirm"]
    looked = content["blocks"] or LOOKS[0]
    last = first + max(blocks, 1) - 1
    return f"search: seeds {first} to {last}; confirmation: seeds {confirm} to {confirm + looked - 1}"
