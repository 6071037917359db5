"""The site: it builds, its links have targets, titles have the field's spelling, equations are never cut off."""

import os
import re
import subprocess
import sys
from html import unescape
from pathlib import Path

import numpy as np
import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

import bentpipe as bp
from tools.docs import cards, equations, laboratory, links, live, pages, redirects, titles

DOCS = Path(__file__).resolve().parent.parent / "docs"


@pytest.mark.parametrize(("folder", "topic"), [("congestion-controls", "cc"), ("middleboxes", "middlebox")])
def test_each_page_is_in_one_family_and_has_a_title(folder, topic):
    named = [name for names in titles.FOLDERS[folder].values() for name in names]
    assert sorted(named) == sorted(page.stem for page in (DOCS / folder).glob("*.md") if page.stem != "index")
    assert {choice["name"] for choice in bp.choices()[topic]} <= set(named)


def test_a_title_replaces_the_key_and_keeps_the_text():
    path = "congestion-controls/westwood-plus.md"
    text = (DOCS / path).read_text()
    made = titles.titled(path, text)
    assert made.startswith("# Westwood+\n")
    assert made.partition("\n")[2] == text.partition("# westwood-plus\n")[2]
    assert titles.titled("guides/install.md", "# Install\n") == "# Install\n"
    with pytest.raises(SystemExit, match=r"bbr1\.md has no title"):
        titles.titled("congestion-controls/bbr1.md", "no heading\n")


def characters(text: str) -> str:
    """The letters, digits and brackets of a text, in order."""
    return re.sub(r"[^\w()\[\],;:+/|]", "", text)


PAGES = [page for folder in titles.FOLDERS for page in sorted((DOCS / folder).glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_equations_keep_every_character(page):
    for found in equations.BLOCK.finditer(page.read_text()):
        shown = unescape(re.sub(r"<[^>]*>", "", equations.block(found.group(1))))
        # An underscore becomes an index, a circumflex an exponent, and the x of a product a sign.
        kept = characters(re.sub(r" x (?=\w)", " ", found.group(1)).replace("^", "")).replace("_", "")
        assert characters(shown).replace("_", "") == kept


def test_equations_have_columns_indices_and_signs():
    text = "W_max > 1:   d = (C - y) / 2\na loss:      cwnd >= 2\n"
    made = equations.block(text)
    assert "<span><i>W</i><sub>max</sub> &gt; 1:</span><span><i>d</i> = (<i>C</i> − <i>y</i>) / 2</span>" in made
    assert "<span>a loss:</span><span>cwnd ≥ 2</span>" in made
    assert equations.column(["a = b", "c = d"]) is None


def test_a_card_averages_goodput_over_round_trips():
    result = bp.run("geo", {"duration": "30 s"}, series=["goodput_bps"])
    times, values = cards.line(result, "transfer")
    assert times[0] == 0
    assert times[-1] == pytest.approx(30)
    assert min(times[2:] - times[1:-1]) >= cards.ROUND_TRIPS * result.flows["rtt_p50_s"][0]
    assert max(values) <= 20e6
    assert len(cards.card(result).axes) == 1


def test_each_old_address_leads_to_a_page(tmp_path):
    class Config:
        docs_dir, site_dir = DOCS, tmp_path

    redirects.on_post_build(Config)
    found = redirects.moved(DOCS)
    assert len(found) > len(redirects.MOVED)
    for old, new in found.items():
        assert (DOCS / new).is_file()
        assert not (DOCS / old).exists()
        page = tmp_path / old.removesuffix("index.md").removesuffix(".md") / "index.html"
        (url,) = set(re.findall(r'href="([^"]*)"', page.read_text()))
        target = (page.parent / url).resolve().relative_to(tmp_path)
        assert str(target) == redirects.folder(new)


def test_a_card_counts_data_when_it_crossed_the_link():
    assert cards.arrived(np.array([0.0, 4, 16, 10]), 10.0).tolist() == [0, 10, 10, 10]
    assert cards.arrived(np.array([3.0, 5, 2]), 10.0).tolist() == [3, 5, 2]


def test_each_live_view_is_shown_on_one_page():
    for name, (_, sets) in live.VIEWS.items():
        shown = [page for page in DOCS.rglob("*.md") if f'src="../../{live.file(name)}"' in page.read_text()]
        assert len(shown) == 1, name
        assert bp.load(live.VIEWS[name][0], sets).title == sets["title"]
    assert {"transfer", "reno", "bbr3"} == set(bp.load("geo", live.VIEWS["who-starves-whom"][1]).flow_names)


@pytest.fixture(scope="module")
def draft(tmp_path_factory):
    """The site as `make docs DRAFT=1` builds it: every page, without figures of the gallery."""
    built = tmp_path_factory.mktemp("site")
    # With --quiet, warnings would not count.
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(built)]
    done = subprocess.run(
        command,
        cwd=DOCS.parent,
        env=os.environ | {"DRAFT": "1", "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return built


@pytest.mark.timeout(600)
def test_the_site_builds_and_its_links_have_targets(draft):
    for page in (
        "guides/sky",
        "gallery/geo",
        "reference/python",
        "reference/scenario/tune",
        "congestion-controls/cubic",
    ):
        assert (draft / page / "index.html").is_file()
    assert links.dead(draft) == []


@pytest.mark.timeout(600)
def test_a_dead_link_of_the_site_is_found(draft):
    page = draft / "guides" / "sky" / "index.html"
    text = page.read_text()
    more = (
        '<a href="../geo/">',
        '<img src="no.png">',
        '<a href="../why/#nowhere">',
        '<a href="../why/">',
        "<a href=#none>",
    )
    page.write_text(text + "".join(more))
    try:
        found = links.dead(draft)
    finally:
        page.write_text(text)
    assert found == [f"guides/sky/index.html: {link}" for link in ("../geo/", "no.png", "../why/#nowhere", "#none")]


def test_links_to_generated_pages_lead_to_the_site():
    """Also where the repository is read: those pages are not in it."""
    urls = tomllib.loads((DOCS.parent / "pyproject.toml").read_text())["project"]["urls"]
    assert f"{urls['Documentation']}/" == links.SITE
    made = {
        *pages.pages(),
        "guides/teach.md",
        *(f"try/{name}" for name in laboratory.make_files()),
        "gallery/index.md",
        *(f"gallery/{name}.md" for name in pages.shipped()),
    }
    for page in DOCS.rglob("*.md"):
        text = page.read_text()
        addresses = re.findall(rf"\({re.escape(links.SITE)}([\w./-]*)", text)
        assert {links.page_of(address) for address in addresses} <= made, page
        assert links.SITE not in links.localised(text, str(page.relative_to(DOCS)))
