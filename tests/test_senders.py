"""The congestion controls: registry, schema, pages and command line agree, and the pages have the measured values."""

import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

import bentpipe as bp
from bentpipe.cli.app import app
from tools.docs import senders
from validation import kept
from validation import senders as measured

# They wait for other processes, or are many runs.
pytestmark = pytest.mark.timeout(600)

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "congestion-controls"
ENTRIES = senders.registry()
NAMES = [entry.name for entry in ENTRIES]
GUIDE = (ROOT / "docs" / "guides" / "custom-congestion-control-in-rust.md").read_text()


def test_registry_schema_pages_and_command_line_agree():
    cc = bp.schema()["$defs"]["Cc"]["oneOf"]
    named = [choice["const"] for choice in cc if choice.get("type") == "string"]
    tables = [choice["properties"]["kind"]["const"] for choice in cc if choice.get("type") == "object"]
    listed = [row["name"] for row in json.loads(CliRunner().invoke(app, ["list", "cc", "--json"]).stdout)]
    pages = {path.stem for path in PAGES.glob("*.md")} - {"index"}
    assert [choice["name"] for choice in bp.choices()["cc"]] == NAMES
    assert listed == NAMES
    assert named == NAMES
    assert tables == NAMES
    assert set(NAMES) == pages
    links = re.findall(r"^\| \[(\S+)\]\((\S+)\.md\)", (PAGES / "index.md").read_text(), re.MULTILINE)
    assert links == [(name, name) for name in NAMES]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_each_module_has_a_source_and_the_sections_of_a_page(entry):
    parts = senders.sections(entry)
    assert len(parts[""]) > 50, f"{entry.name}: no text"
    assert [heading for heading in senders.HEADINGS if len(parts.get(heading, "")) < 50] == [], entry.name


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_each_page_has_its_figure_and_the_settings_of_the_schema(entry):
    assert entry.name in kept.load("senders"), f"python -m validation.senders {entry.name}"
    page = (PAGES / f"{entry.name}.md").read_text()
    for setting in senders.schema(entry.name)["properties"]:
        assert setting == "kind" or f"| `{setting}` |" in page
    figures = re.findall(r"!\[[^]]*\]\(([^)]+)\)", page)
    assert figures == [f"{entry.name}.png"]
    assert (PAGES / figures[0]).read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


@pytest.mark.parametrize("name", NAMES)
def test_the_numbers_are_those_of_today(name):
    # The default hosts: after a change, measure that congestion control again: python -m validation.senders NAME
    geo = measured.PATHS[0]
    rows = measured.swept(geo.scenario, geo.sets, {"tcp.cc": [name]}, geo.replications)
    recorded = kept.load("senders")[name][geo.key]
    for metric, column in (("goodput", "goodput_bps"), ("timeouts", "timeouts")):
        mean = sum(row[column] for row in rows) / len(rows)
        assert mean == pytest.approx(recorded[metric][0], rel=1e-4)


@pytest.mark.parametrize("name", ["peach", "westwood", "scps"])
def test_a_cell_of_a_page_and_the_command_below_it_give_one_number(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (PAGES / f"{name}.md").read_text()
    cells = re.findall(rf"^\| `geo` \| `([\w-]+)` \| {name} \| ([\d.]+)", page, re.MULTILINE)
    assert [like for like, _ in cells] == [hosts.like for hosts in measured.HOSTS]
    commands = re.findall(r"^bentpipe (compare geo .*)$", page, re.MULTILINE)
    for (_, printed), command in zip(cells, commands, strict=True):
        result = CliRunner().invoke(app, [*shlex.split(command.partition(" --chart")[0]), "--json"])
        (found,) = [
            row for row in json.loads(result.stdout)["table"] if row["of"] == name and row["metric"] == "goodput"
        ]
        digits = len(printed.partition(".")[2])
        assert round(found["mean"] / 1e6, digits) == pytest.approx(float(printed), abs=10**-digits)


def test_a_heading_in_a_block_of_text_is_none_and_links_to_items_are_code():
    doc = (
        "X, after [`Window`] and [`up`](Self::up) of [it](super::it), see [page](https://example.org).\n"
        "```text\n# no heading [`x`]\n```\n# When it helps\nHelps.\n# y\nOf y.\n"
    )
    assert senders.sections(senders.Entry("y", doc)) == {
        "": "X, after `Window` and `up` of it, see [page](https://example.org).\n```text\n# no heading [`x`]\n```",
        "When it helps": "Helps.",
        "y": "Of y.",
    }


def test_a_text_without_the_section_makes_no_page():
    with pytest.raises(SystemExit, match="How it works"):
        senders.page(senders.Entry("x", "X is a sender.\n"), {})


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_commands_of_the_pages_can_be_typed(entry):
    runner = CliRunner()
    for line in senders.commands(entry.name).splitlines():
        options = line.split()
        assert options[0] == "bentpipe"
        assert options[1] in ("compare", "mix", "sweep")
        known = runner.invoke(app, [options[1], "--help"]).stdout
        assert all(option in known for option in options if option.startswith("--")), line


def blocks(kind):
    """Blocks of code of the guide."""
    return re.findall(rf"^```{kind}\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)


def test_the_guide_names_every_hook():
    text = (ROOT / "crates" / "cc" / "src" / "lib.rs").read_text()
    trait = text[text.index("\npub trait CongestionControl {") :]
    hooks = re.findall(r"^    fn (\w+)\(", trait[: trait.index("\n}\n")], re.MULTILINE)
    assert len(hooks) > 8
    rows = " ".join(line.split("|")[1] for line in GUIDE.splitlines() if line.startswith("| `"))
    assert re.findall(r"`(\w+)`", rows) == hooks


def synchronise(folder, texts):
    """Write exactly these files beside those of Cargo. Unchanged files keep their time: Cargo compiles them once."""
    for path in (folder / "crates").rglob("*"):
        if path.is_file() and path.relative_to(folder) not in texts:
            path.unlink()
    for name, text in texts.items():
        path = folder / name
        if not path.is_file() or path.read_text() != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)


@pytest.mark.skipif(not os.environ.get("BENTPIPE_ALL"), reason="compiles the core: BENTPIPE_ALL=1")
@pytest.mark.skipif(shutil.which("cargo") is None, reason="no cargo")
def test_the_code_of_the_guide_compiles_and_passes_the_inherited_tests():
    # A copy of the repository with the guide's file and lines, and with its own target folder: in a shared one, Cargo
    # would take the builds of the copy for those of the repository.
    house = ROOT / "target" / "guide"
    workspace = (ROOT / "Cargo.toml").read_text()
    members = re.sub(r"(?m)^(default-)?members = .*$", r'\1members = ["crates/units", "crates/cc"]', workspace)
    assert members != workspace
    texts = {Path("Cargo.toml"): members, Path("Cargo.lock"): (ROOT / "Cargo.lock").read_text()}
    for crate in ("units", "cc"):
        for path in (ROOT / "crates" / crate).rglob("*"):
            if path.suffix in (".rs", ".toml", ".csv", ".txt"):
                texts[path.relative_to(ROOT)] = path.read_text()
    file, module, use, line = blocks("rust")
    folder = Path("crates", "cc", "src")
    texts[folder / "loss" / "multcp.rs"] = file
    for path, found, new in (
        (folder / "loss" / "mod.rs", r"^mod reno;\n", module),
        (folder / "loss" / "mod.rs", r"^pub use reno::.*;\n", use),
        (folder / "lib.rs", r"^    /// A fixed share .*\n", line),
    ):
        texts[path], count = re.subn(rf"(?m){found}", lambda match, new=new: new + match[0], texts[path], count=1)
        assert count == 1, found
    synchronise(house, texts)
    command = ["cargo", "test", "--offline", "--package", "bentpipe-cc", "--lib", "--", "multcp", "inherited::MulTcp"]
    done = subprocess.run(
        command,
        cwd=house,
        # Three tests: to optimise them takes longer than to run them.
        env={**os.environ, "CARGO_TARGET_DIR": str(house / "target"), "CARGO_PROFILE_DEV_OPT_LEVEL": "0"},
        capture_output=True,
        text=True,
        timeout=1200,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "3 passed" in done.stdout
    assert "warning" not in done.stderr.replace("warning: unused manifest", "")


def test_the_page_on_speed_has_each_sender_and_none_is_above_three_times_reno():
    rows = re.findall(
        r"^\| `(\S+)` \| \S+ \| \d+ \| ([\d.]+) \|", (ROOT / "docs/validation/performance.md").read_text(), re.M
    )
    costs = {name: float(ratio) for name, ratio in rows}
    assert sorted(costs) == sorted(NAMES)
    assert {name for name, ratio in costs.items() if ratio > 3} <= {
        "bbr1",
        "bbr2",
        "bbr3",
        "copa",
        "leocc",
        "stp",
        "wtcp",
    }
