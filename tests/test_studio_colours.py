"""Contrast of marks and buttons, in numbers: 3:1 for marks, 4.5:1 for letters (WCAG 2.2, 1.4.3 and 1.4.11)."""

import re
from pathlib import Path

import pytest

from bentpipe.catalog import dictionary
from bentpipe.studio import assets
from tests.studio_pages import MINE, Page, server

STYLE = (Path(assets.__file__).parent / "static" / "studio.css").read_text(encoding="utf-8")
pytestmark = pytest.mark.timeout(300)


def luminance(colour):
    """Relative luminance of (red, green, blue) in 0 to 255."""
    parts = [each / 255 for each in colour]
    linear = [each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def colours(block):
    found = dict(re.findall(r"--studio-(\w+): (#\w+)", block))
    expanded = {
        name: text if len(text) == 7 else "#" + "".join(2 * each for each in text[1:]) for name, text in found.items()
    }
    return {name: tuple(int(text[place : place + 2], 16) for place in (1, 3, 5)) for name, text in expanded.items()}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_handovers_and_outages_have_three_to_one_and_changes_are_quieter(scheme):
    block = STYLE[STYLE.index(":root {") :] if scheme == "light" else STYLE[STYLE.index(':root[data-scheme="dark"]') :]
    found = colours(block[: block.index("}")])
    shown = {kind: contrast(found[kind], found["surface"]) for kind in ("handover", "outage", "change")}
    assert shown["handover"] > 5
    assert shown["outage"] > 3
    assert shown["change"] < shown["outage"]


def test_each_cause_has_its_own_colour_in_all_runs():
    text = (Path(assets.__file__).parent / "static" / "format.js").read_text(encoding="utf-8")
    block = text[text.index("const CAUSES = {") :]
    named = re.findall(r'"?([\w-]+)"?: "\w+"', block[: block.index("};")])
    assert set(named) == {each["name"] for each in dictionary()["causes"]}


def test_letters_of_run_have_contrast_in_both_schemes(visitor, tmp_path):
    pytest.importorskip("nicegui", reason="the studio needs the extra: pip install bentpipe[studio]")
    (tmp_path / "mine.toml").write_text(MINE)
    with server(tmp_path, "mine.toml") as (_, host, token), Page(visitor, f"http://{host}/{token}/") as page:
        for name in ("light", "dark"):
            page.scheme(name)
            style = "(button => [getComputedStyle(button).color, getComputedStyle(button).backgroundColor])"
            found = page.button("Run").evaluate(f"element => {style}(element)")
            pair = [tuple(map(float, re.findall(r"[\d.]+", each)[:3])) for each in found]
            assert contrast(*pair) >= 4.5, (name, found)
