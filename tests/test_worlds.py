"""Worlds: how many claims of a paper hold together with one choice of readings."""

from dataclasses import replace

import pytest

from bentpipe.papers import claims, summary, worlds
from bentpipe.papers.claims import Reading
from bentpipe.papers.lab import Finding
from bentpipe.papers.reproduce import Reproduced
from bentpipe.papers.verdicts import Found, Verdict

PAPER = claims.paper("geo")


def part(id_, held, name=""):
    """A verdict on a claim that holds in some of its readings."""
    readings = tuple(Reading(each) for each in held)
    entry = {"statement": "S.", "where": "W", "how": "H", "measure": "m", "passes": {"between": [0, 1]}}
    claim = replace(claims._claim(id_, entry, []), readings=readings, part=name)
    found = tuple(Found(Reading(each), Finding.exact(0), holds) for each, holds in held.items())
    names = [each for each, holds in held.items() if holds]
    kind = (
        "not reproduced"
        if not names
        else "reproduced"
        if names[0] == next(iter(held))
        else "reproduced under a reading"
    )
    return Verdict(claim, kind, names[0] if kind.endswith("reading") else "", "", found)


def whole(id_, *parts):
    return Verdict(parts[0].claim, "in part", "", "", (), parts)


def test_claims_that_hold_in_different_readings_do_not_hold_together():
    found = [
        part("X-1", {"bit": True, "byte": False}),
        part("X-2", {"bit": False, "byte": True}),
        part("X-3", {"bit": False, "byte": True}),
        part("X-4", {"as printed": True}),
        part("X-5", {"as printed": False}),
    ]
    world = worlds.best(found)
    assert (world.readings, world.claims) == (("byte",), ("X-2", "X-3", "X-4"))
    reproduced = Reproduced(PAPER, tuple(found), {})
    headline = '3 of 5 claims hold together in one world (reading "byte"); 4 of 5 hold in some reading.'
    assert summary.world(reproduced) == headline
    assert next(iter(summary.in_words(reproduced))) == headline


def test_of_worlds_that_are_equal_the_first_reading_counts():
    assert worlds.best([part("X-1", {"a": True, "b": False}), part("X-2", {"a": False, "b": True})]).readings == ("a",)


def test_a_claim_that_was_not_tried_in_the_world_does_not_hold_there():
    found = [
        part("X-1", {"bit": True, "byte": True}),
        part("X-2", {"bit": True, "byte": False}),
        part("X-3", {"byte": True, "packet": True}),
    ]
    world = worlds.best(found)
    assert (world.readings, world.claims) == (("bit",), ("X-1", "X-2"))


def test_choices_of_one_claim_alone_bind_no_other():
    found = [part("X-1", {"a": False, "b": True}), part("X-2", {"c": True, "d": True})]
    assert worlds.best(found) == worlds.World((), ("X-1", "X-2"))
    assert summary.world(Reproduced(PAPER, tuple(found), {})).startswith("2 of 2 claims hold together in one world; ")


def test_choices_that_are_independent_are_made_apart():
    found = [
        part("X-1", {"a": False, "b": True}),
        part("X-2", {"a": False, "b": True}),
        part("X-3", {"c": True, "d": False}),
        part("X-4", {"c": True, "d": True}),
    ]
    assert worlds.best(found) == worlds.World(("b", "c"), ("X-1", "X-2", "X-3", "X-4"))


def test_a_claim_holds_in_a_world_with_all_its_parts_only():
    tied = whole("X-1", part("X-1", {"a": True, "b": False}, "one"), part("X-1", {"c": False, "d": True}, "two"))
    others = [
        part("X-2", {"a": False, "b": True}),
        part("X-3", {"c": False, "d": True}),
        part("X-4", {"a": True, "b": False}),
    ]
    assert worlds.best([tied, *others]) == worlds.World(("a", "d"), ("X-1", "X-3", "X-4"))
    failing = whole("X-1", part("X-1", {"a": True, "b": False}, "one"), part("X-1", {"e": False}, "two"))
    assert "X-1" not in worlds.best([failing, *others]).claims


def test_no_world_has_more_claims_than_hold_in_some_reading():
    found = [part(f"X-{k}", {name: (k + at) % 3 == 0 for at, name in enumerate("abc")}) for k in range(9)]
    world = worlds.best(found)
    assert len(world.claims) == max(sum((k + at) % 3 == 0 for k in range(9)) for at in range(3))
    assert len(world.claims) < sum(verdict.kind != "not reproduced" for verdict in found)


def belonging(verdict, *worlds_):
    """A verdict with the worlds to which its readings belong."""
    found = zip(verdict.found, worlds_, strict=True)
    return replace(
        verdict, found=tuple(replace(each, reading=replace(each.reading, world=world)) for each, world in found)
    )


def test_a_variant_belongs_to_the_world_of_the_reading_that_it_names():
    variant = part("X-1", {"bit": False, "byte, in pieces": True})
    others = [part("X-2", {"bit": False, "byte": True}), part("X-3", {"bit": False, "byte": True})]
    assert worlds.best([variant, *others]).claims == ("X-2", "X-3")
    assert worlds.best([belonging(variant, None, "byte"), *others]) == worlds.World(("byte",), ("X-1", "X-2", "X-3"))
    # A claim with one reading is bound, too, if it names a world.
    alone = belonging(part("X-1", {"as printed": True}), "bit")
    assert worlds.best([alone, *others]).claims == ("X-2", "X-3")


def test_readings_with_several_choices_have_to_agree_in_each():
    one, three = {"senders": ("one",), "start": ("SYN",)}, {"senders": ("three",), "start": ("SYN", "data")}
    found = [
        belonging(part("X-1", {"a": True, "b": False}), one, three),
        belonging(part("X-2", {"c": False, "d": True}), one, three),
        belonging(part("X-3", {"e": False, "f": True}), {"start": ("SYN",)}, {"start": ("data",)}),
        belonging(part("X-4", {"g": False, "h": True}), {"senders": ("one",)}, {"senders": ("three",)}),
    ]
    world = worlds.best(found)
    assert (world.readings, world.claims) == (("senders: three", "start: data"), ("X-2", "X-3", "X-4"))


def test_a_world_that_is_none_is_refused():
    assert claims._reading({"name": "a", "world": "b"}).world == "b"
    assert claims._reading({"name": "a", "world": {"k": "v", "l": ["x", "y"]}, "rate": 1}) == Reading(
        "a", {"rate": 1}, {"k": ("v",), "l": ("x", "y")}
    )
    for wrong in (1, {"k": 1}, {"k": []}, ["a"]):
        with pytest.raises(ValueError, match="the reading 'a' has world"):
            claims._reading({"name": "a", "world": wrong})
