"""Worlds: how many claims of a paper hold together in one possible network, by the settings that runs had."""

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from bentpipe.errors import PaperError
from bentpipe.papers import claims, loading, pages, settings, summary, verdicts, worlds
from bentpipe.papers.claims import Reading
from bentpipe.papers.lab import Finding, Lab
from bentpipe.papers.reproduce import Reproduced
from bentpipe.papers.settings import Setting
from bentpipe.papers.verdicts import Found, Verdict

RECORDED = Path(__file__).with_name("papers")
PAPER = claims.paper("geo")
KNOWN = settings.settings(
    {
        "errors": {
            "values": ["bit", "byte", "packet"],
            "key": "link.up.error.kind",
            "unless": {"link.up.error.rate": 0},
        },
        "senders": {"values": ["one", "three"]},
        "start": {"values": ["SYN", "data"]},
    }
)


def part(id_, held, name=""):
    """A verdict on a claim by reading: whether it holds, and its values of settings."""
    entry = {"statement": "S.", "where": "W", "how": "H", "measure": "m", "passes": {"between": [0, 1]}}
    claim = replace(claims._claim(id_, entry, []), readings=tuple(map(Reading, held)), part=name)
    found = tuple(
        Found(Reading(each), Finding.exact(0), holds, world={key: (value,) for key, value in world.items()})
        for each, (holds, world) in held.items()
    )
    names = [each for each, (holds, _) in held.items() if holds]
    kind = (
        "not reproduced"
        if not names
        else "reproduced"
        if names[0] == next(iter(held))
        else "reproduced under a reading"
    )
    return Verdict(claim, kind, names[0] if kind.endswith("reading") else "", "", found)


def by(setting, id_, **held):
    """A claim whose readings have one value each of a setting, the reading's name."""
    return part(id_, {value: (holds, {setting: value}) for value, holds in held.items()})


def whole(id_, *parts):
    return Verdict(parts[0].claim, "in part", "", "", (), parts)


def best(*found):
    return worlds.best(KNOWN, found)


def test_claims_whose_runs_had_other_values_do_not_hold_together():
    found = (
        by("errors", "X-1", bit=True, byte=False),
        by("errors", "X-2", bit=False, byte=True),
        by("errors", "X-3", bit=False, byte=True),
        part("X-4", {"as printed": (True, {})}),
        part("X-5", {"as printed": (False, {})}),
        # One reading, measured per bit only: it was not tried per byte.
        part("X-6", {"as printed": (True, {"errors": "bit"})}),
    )
    world = best(*found)
    assert (world.values, world.claims) == ({"errors": "bit"}, ("X-1", "X-4", "X-6"))
    world = best(*found[:5])
    assert (world.values, world.claims) == ({"errors": "byte"}, ("X-2", "X-3", "X-4"))
    reproduced = Reproduced(replace(PAPER, settings=KNOWN), found[:5], {})
    headline, _, *others = summary.in_words(reproduced)
    assert headline == "3 of 5 claims hold together in one possible network; 4 of 5 hold in some reading."
    assert others[:2] == ["This network has errors: byte.", "Only in other networks: X-1."]
    page = pages.page(reproduced, is_full=False)
    assert f"**{headline}**" in page
    assert "- This network has errors: byte." in page


def test_names_of_readings_exclude_nothing():
    found = best(part("X-1", {"a": (False, {}), "b": (True, {})}), part("X-2", {"a": (True, {}), "b": (False, {})}))
    assert found == worlds.World({}, ("X-1", "X-2"))


def test_a_paper_without_settings_has_no_world():
    assert worlds.best((), [part("X-1", {"a": (True, {})})]) is None
    reproduced = Reproduced(replace(PAPER, settings=()), (part("X-1", {"a": (True, {})}),), {})
    assert next(iter(summary.in_words(reproduced))) == "1 of 1 claims hold in some reading."


def test_of_worlds_that_are_equal_the_first_value_counts():
    one, two = by("errors", "X-1", byte=True), by("errors", "X-2", bit=True)
    assert best(one, two) == worlds.World({"errors": "bit"}, ("X-2",))
    both = by("errors", "X-1", bit=True, byte=True)
    assert best(both) == worlds.World({}, ("X-1",)), "a value that decides nothing is not named"
    assert best(one, two, by("errors", "X-3", byte=True)) == worlds.World({"errors": "byte"}, ("X-1", "X-3"))


def test_a_claim_holds_in_a_world_with_all_its_parts_only():
    tied = whole("X-1", by("errors", "X-1", bit=True, byte=False), by("senders", "X-1", one=False, three=True))
    others = [
        by("errors", "X-2", bit=False, byte=True),
        by("senders", "X-3", one=False, three=True),
        by("errors", "X-4", bit=True, byte=False),
    ]
    assert best(tied, *others) == worlds.World({"errors": "bit", "senders": "three"}, ("X-1", "X-3", "X-4"))
    failing = whole("X-1", by("errors", "X-1", bit=True, byte=False), part("X-1", {"e": (False, {})}))
    assert "X-1" not in best(failing, *others).claims
    # Parts that need different values never hold together.
    torn = whole("X-1", by("errors", "X-1", bit=True), by("errors", "X-1", byte=True))
    assert best(torn) == worlds.World({}, ())


def test_readings_with_several_settings_have_to_agree_in_each():
    one, three = {"senders": "one", "start": "SYN"}, {"senders": "three", "start": "data"}
    found = [
        part("X-1", {"a": (True, one), "b": (False, three)}),
        part("X-2", {"c": (False, one), "d": (True, three)}),
        by("start", "X-3", SYN=False, data=True),
        by("senders", "X-4", one=False, three=True),
    ]
    assert best(*found) == worlds.World({"senders": "three", "start": "data"}, ("X-2", "X-3", "X-4"))


# Settings of scenarios


def test_a_scenario_shows_the_value_of_a_setting_where_it_has_an_effect():
    (errors, *_) = KNOWN
    assert errors.find_value({"link": {"up": {"error": {"kind": "byte", "rate": 1e-3}}}}) == "byte"
    assert errors.find_value({"link": {"up": {"error": {"kind": "byte", "rate": 0}}}}) is None
    assert errors.find_value({"link": {"up": {"error": {"kind": "arrivals", "list": [3]}}}}) is None
    flags = Setting("x", {"yes": [True], "one": [1]}, ("node.*.box.on",), {"node.a.box.kind": ["k"]})
    node = {"a": {"box": [{"kind": "k"}, {"on": 1}]}}
    assert flags.find_value({"node": node}) == "one", "in a list, by any name, and true is not 1"
    assert flags.find_value({"node": {"b": node["a"]}}) is None
    reverse = Setting("x", {"bit": ["bit"]}, ("link.up.reverse.error",))
    assert reverse.find_value({"link": {"up": {"error": "bit"}}}) == "bit", "both directions alike"
    assert reverse.find_value({"link": {"up": {"reverse": {"error": "byte"}}}}) is None


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"key": "tcp.cc"}, "has no values"),
        ({"values": [1, 2]}, "without a name"),
        ({"values": ["a"], "keys": "tcp.cc"}, "unknown keys: keys"),
        ({"values": ["a"], "when": "tcp.cc"}, "expected a table of dotted keys"),
    ],
)
def test_what_is_no_setting_is_refused(entry, said):
    with pytest.raises(ValueError, match=f"(?s)the setting 'errors' .*{said}"):
        settings.settings({"errors": entry})


def test_a_world_has_known_settings_and_values():
    known = {"errors": ("bit", "byte")}
    assert claims._reading({"name": "a", "world": {"errors": ["bit", "byte"]}, "rate": 1}, KNOWN) == Reading(
        "a", {"rate": 1}, known
    )
    for wrong, said in (("byte", "expected a table"), ({"error": "bit"}, "did you mean"), ({"errors": "bits"}, "bits")):
        with pytest.raises(ValueError, match=f"the reading 'a'.*{said}|{said}"):
            claims._reading({"name": "a", "world": wrong}, KNOWN)


def test_what_is_declared_has_to_be_what_the_runs_had():
    assert settings.find_values("X-1", {}, {"errors": {"byte"}}) == {"errors": ("byte",)}
    assert settings.find_values("X-1", {"start": ("SYN",)}, {}) == {"start": ("SYN",)}
    with pytest.raises(ValueError, match="X-1: its world has errors = bit, but its runs have byte"):
        settings.find_values("X-1", {"errors": ("bit",)}, {"errors": {"byte"}})
    with pytest.raises(ValueError, match="X-1: its runs have several values of errors: bit and byte"):
        settings.find_values("X-1", {}, {"errors": {"bit", "byte"}})
    # A claim that compares two values names the value that counts, or both.
    assert settings.find_values("X-1", {"errors": ("bit",)}, {"errors": {"bit", "byte"}}) == {"errors": ("bit",)}
    # A setting without an effect on what is measured binds nothing.
    assert settings.find_values("X-1", {"errors": ("any",)}, {"errors": {"bit"}, "start": {"SYN"}}) == {
        "start": ("SYN",)
    }


def test_a_lab_collects_the_settings_of_all_runs_also_of_earlier_ones():
    with Lab(PAPER.folder, jobs=1, settings=PAPER.settings) as lab:
        sets = {"flow.file.app.size": "5 kB", "link.geo.delay": "225 ms"}
        for _ in range(2):
            with lab.watching() as shown:
                lab.run("dumbbell", sets)
                lab.sweep("dumbbell", sets, vary={"tcp.handshake": [True, False]}, replications=1)
                lab.once("more", lambda: lab.run("dumbbell", {**sets, "link.up.rate": "20 Mbit/s"}))
            assert shown["round trip"] == {"450 ms"}
            assert shown["senders"] == {"one"}
            assert shown["times from"] == {"SYN", "first segment"}
        with lab.watching() as shown:
            lab.once("more", lambda: pytest.fail("it is known"))
        assert shown["round trip"] == {"450 ms"}


def test_a_claim_with_a_wrong_world_has_an_error(monkeypatch):
    paper = claims.paper("geo")
    (claim,) = (each for each in paper.claims if each.id == "GEO-31")
    wrong = replace(claim, readings=(replace(claim.readings[0], world={"round trip": ("450 ms",)}),))
    with Lab(paper.folder, jobs=1, settings=paper.settings) as lab:
        assert verdicts.judge(paper, claim, lab).found[0].world["round trip"] == ("540 ms",)
        with pytest.raises(PaperError, match="its world has round trip = 450 ms, but its runs have 540 ms"):
            verdicts.judge(paper, wrong, lab)


# The bundled papers, by another way than their settings: from the resolved scenarios of all recorded runs


def recorded(name):
    """Name of each claim, resolved scenarios of its runs with their overrides, and the worlds of its readings."""
    paper = claims.paper(name)
    kept = json.loads((RECORDED / f"{name}.json").read_text(encoding="utf-8"))
    asked = [(file, dict(kept["settings"][at] for at in sets), case) for file, sets, case in kept["experiments"]]
    lab, known = Lab(paper.folder), {}
    for id_, entry in kept["claims"].items():
        for at in entry["experiments"]:
            if at not in known:
                file, sets, case = asked[at]
                known[at] = lab.load(file, sets, case=case).to_dict(), sets
        yield id_, [known[at] for at in entry["experiments"]], [part["worlds"] for part in entry["parts"]]


def of(each, setting):
    """Values of a setting in the worlds of a claim."""
    return {value for part in each for world in part.values() for value in world.get(setting, ())}


def round_trip_ms(tree):
    """Sum of the delays of the links on the way of the first flow, there and back."""
    ends = {frozenset((link["from"], link["to"])): link.get("forward", link)["delay"] for link in tree["link"].values()}
    route = next(iter(tree["flow"].values()))["route"]
    delays = [ends[frozenset(pair)].split() for pair in pairwise(route)]
    return round(2 * sum(float(number) * {"s": 1000, "ms": 1}[unit] for number, unit in delays))


def test_hswa_s_round_trips_are_the_sums_of_the_links_delays():
    """A claim that was measured at 510 ms counts in no network of 50 ms."""
    seen = set()
    for id_, runs, worlds_ in recorded("hswa"):
        trips = {round_trip_ms(tree) for tree, _ in runs}
        for value in of(worlds_, "round trip") if runs else ():
            fitting = {trip for trip in trips if (trip >= 510 if value == "geostationary" else trip == 50)}
            assert fitting, f"{id_}: {value}, runs have {trips} ms"
            seen.add((value, min(fitting)))
    assert seen == {("geostationary", 510), ("geostationary", 550), ("50 ms", 50)}


def test_been_s_errors_are_those_of_the_runs():
    for id_, runs, world in recorded("been"):
        kinds = set()
        for tree, _ in runs:
            error = tree["link"]["up"].get("forward", tree["link"]["up"])["error"]
            if error.get("rate"):
                kinds.add(error["kind"])
        assert of(world, "errors") <= kinds or not runs, f"{id_}: {of(world, 'errors')}, runs have {kinds}"
        if kinds - {"gilbert-elliott"} and runs:
            assert of(world, "errors"), f"{id_}: errors {kinds} in runs, and none in its worlds"


@pytest.mark.parametrize("name", claims.list_bundled())
def test_no_world_has_two_values_of_a_setting(name):
    """Each claim of the world holds in readings whose runs had its values, part by part."""
    paper = claims.paper(name)
    kept = json.loads((RECORDED / f"{name}.json").read_text(encoding="utf-8"))
    found = []
    for claim in paper.claims:
        parts = []
        for one, entry in zip(claim.parts or (claim,), kept["claims"][claim.id]["parts"], strict=True):
            each = tuple(
                Found(
                    Reading(reading),
                    Finding(None),
                    holds,
                    world={k: tuple(v) for k, v in entry["worlds"][reading].items()},
                )
                for reading, holds in entry["readings"].items()
            )
            parts.append(Verdict(one, "", "", "", each))
        found.append(
            Verdict(claim, "", "", "", () if claim.parts else parts[0].found, tuple(parts) if claim.parts else ())
        )
    world = worlds.best(paper.settings, found)
    assert world is not None
    assert world.claims
    for verdict in found:
        for part_ in verdict.judged if verdict.claim.id in world.claims else ():
            fitting = [
                each.reading.name
                for each in part_.found
                if each.holds and all(world.values.get(key, value[0]) in value for key, value in each.world.items())
            ]
            assert fitting, f"{verdict.claim.id} {part_.claim.part}"
    print(name, len(world.claims), world.values, [v.claim.id for v in found if v.claim.id not in world.claims])


@pytest.mark.parametrize("name", claims.list_bundled())
def test_runs_show_each_value_of_a_setting(name):
    """A value that no run shows has a wrong scenario value, or belongs to no reading."""
    paper = claims.paper(name)
    kept = json.loads((RECORDED / f"{name}.json").read_text(encoding="utf-8"))["claims"].values()
    met = [
        (key, value)
        for entry in kept
        for part in entry["parts"]
        for world in part["worlds"].values()
        for key, values in world.items()
        for value in values
    ]
    assert {(each.name, value) for each in paper.settings for value in each.values} - set(met) == set()


def test_readings_of_the_papers_differ_in_settings_or_in_what_is_measured():
    """Shared readings are interpretations of the network: two of them may not have the same arguments."""
    for paper in map(claims.paper, claims.list_bundled()):
        assert paper.settings, paper.name
        loading.check(paper)
        for one in paper.readings:
            assert sum(other.arguments == one.arguments for other in paper.readings) == 1, one.name
