"""The bundled papers: every claim exists, verdicts equal the recorded ones, and pages have the measured values.

`papers` records quick verdicts, with a digest of everything that decides them, such as resolved scenarios. A claim is
measured again if its digest has changed, or if it is in the sample. Reading all scenarios takes a minute and is skipped
if no source has changed since the record.

    BENTPIPE_ALL=1 pytest tests/test_papers.py    measure all claims, and draw all figures
    BLESS=1 pytest tests/test_papers.py           record again what has changed

BENTPIPE_STORES=FOLDER keeps the runs of either for the next time.
"""

import csv
import io
import json
import math
import os
import re
import shutil
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from rich.console import Console

import bentpipe as bp
from bentpipe.catalog import choices
from bentpipe.cli import render
from bentpipe.errors import BentpipeError
from bentpipe.experiment.design.grid import Grid
from bentpipe.papers import claims, falsify, fingerprint, loading, pages, reproduce, verdicts
from bentpipe.papers import lab as lab_module
from bentpipe.papers.claims import Criterion
from bentpipe.papers.lab import Finding, Lab

# The tests wait for other processes, or make many runs.
pytestmark = pytest.mark.timeout(600)

ROOT = Path(__file__).resolve().parents[1]
RECORDED = Path(__file__).with_name("papers")
ALL, BLESS = (bool(os.environ.get(name)) for name in ("BENTPIPE_ALL", "BLESS"))
SAMPLE = ("BEEN-09", "BEEN-22", "GEO-17", "GEO-29", "HSWA-05", "HSWA-07", "REF-25", "TIMER-12", "TIMER-37")
"""Claims that are measured even if their digests have not changed."""
SOURCES = [
    path
    for crate in ("access", "cc", "model", "net", "orbit", "scenario", "sim", "tcp", "units")
    for path in (ROOT / "crates" / crate).glob("src/**/*.rs")
]
STORES = Path(os.environ["BENTPIPE_STORES"]) if "BENTPIPE_STORES" in os.environ else None
CLAIMS = ROOT.parent / "shared" / "specs" / "claims.md"
PREFIXES = {
    "been": ("BEEN", 47),
    "hswa": ("HSWA", 35),
    "timers": ("TIMER", 39),
    "geo": ("GEO", 41),
    "refwa": ("REF", 32),
}
PAPERS = [claims.paper(name) for name in claims.names()]


def test_every_paper_has_all_its_claims_in_order():
    assert {paper.name for paper in PAPERS} == PREFIXES.keys()
    for paper in PAPERS:
        prefix, count = PREFIXES[paper.name]
        assert [claim.id for claim in paper.claims] == [f"{prefix}-{k:02}" for k in range(1, count + 1)]
    assert sum(len(paper.claims) for paper in PAPERS) == 194


@pytest.mark.skipif(not CLAIMS.is_file(), reason=f"no list of claims at {CLAIMS}")
def test_the_claims_are_those_of_the_specification():
    text = CLAIMS.read_text()
    found = set(re.findall(r"^\| ((?:BEEN|HSWA|TIMER|GEO|REF)-\d+) ", text, re.MULTILINE))
    for prefix, first, last in re.findall(r"^\| (\w+)-(\d+)\.\.(\d+) ", text, re.MULTILINE):
        found |= {f"{prefix}-{k:02}" for k in range(int(first), int(last) + 1)}
    assert found == {claim.id for paper in PAPERS for claim in paper.claims}


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.name)
def test_what_claims_and_figures_name_is_there(paper):
    loading.check(paper)
    topics = choices().keys()
    for claim in (part for whole in paper.claims for part in whole.parts or (whole,)):
        assert claim.measure is not None or claim.needs, claim.id
        # A need under an unknown topic would be missing for ever.
        assert {need.partition(":")[0] for need in claim.needs} <= topics, claim.id
        assert claim.statement.endswith((".", "?")), claim.id
    assert all(bp.load(path) for path in paper.folder.glob("scenarios/*.toml"))


def test_every_claim_says_what_passes_before_it_can_be_measured():
    parts = [part for paper in PAPERS for claim in paper.claims for part in claim.parts or (claim,)]
    assert [f"{part.id} {part.part}" for part in parts if part.criterion is None] == []


def test_a_run_that_sent_nothing_widens_a_share_by_no_more_than_it_can():
    share = loading.module(claims.paper("been"), "measures").share
    sent = [42.0, 44.0] * 200
    below_45 = Criterion(-math.inf, 45, True, "below 45")
    whole, open_ = share(np.array(sent)), share(np.array([*sent, math.nan]))
    assert whole == Finding.mean(sent)
    assert open_.value == pytest.approx(43)
    # One of 401 runs can move the mean by 43 / 401 down or 57 / 401 up.
    assert whole.low - open_.low == pytest.approx(43 / 401, abs=0.15)
    assert 57 / 401 < open_.high - whole.high < 0.5
    assert verdicts.passes(open_, below_45) is True
    assert verdicts.passes(share(np.array([math.nan, 43.0])), below_45) is None


def test_a_ratio_of_means_counts_runs_in_which_nothing_arrives():
    quotient = loading.module(claims.paper("been"), "proposal").quotient
    mine, its = np.array([3.0, 0.0, 6.0]), np.array([1.0, 0.0, 2.0])
    found = quotient(mine, its, 40.0)
    assert found.mean() == pytest.approx(3)
    assert found.std() == pytest.approx(0), "three times as much in every run"
    assert quotient(mine + 1, its, 40.0).std() > 0
    nothing = np.zeros(3)
    assert quotient(nothing, its, 40.0).tolist() == [0, 0, 0], "no floor"
    assert quotient(mine, nothing, 40.0).mean() == pytest.approx(mine.sum() / 40), "beside one packet in one run"
    assert np.isnan(quotient(nothing, nothing, 40.0)).all(), "nothing over nothing is no ratio"


class World(Lab):
    """A laboratory with other settings than the paper."""

    def __init__(self, folder, changes):
        super().__init__(folder, jobs=1)
        self.changes = changes

    def load(self, name, sets=None, *, case=None):
        return super().load(name, {**(sets or {}), **self.changes}, case=case)


def real(id_, *altered, world=()):
    """Verdicts on altered versions of a claim of a pack, with optional other settings."""
    paper = next(each for each in PAPERS if any(claim.id == id_ for claim in each.claims))
    entry = claims._toml(paper.folder / "claims.toml")[id_]
    with World(paper.folder, dict(world)) as lab:
        made = [claims._claim(id_, {**entry, **each}, [*paper.readings], paper.settings) for each in altered or [{}]]
        return [verdicts.judge(paper, claim, lab) for claim in made]


@pytest.mark.parametrize(
    ("id_", "kind", "altered", "other_kind"),
    [
        ("BEEN-02", "reproduced under a reading", {"printed": 70}, "reproduced under a reading"),
        ("BEEN-06", "reproduced", {"with": {"rates": [1e-6, 1e-3], "printed_bytes": [2240, 70]}}, "not reproduced"),
        ("BEEN-22", "reproduced", {"printed": 3}, "in part"),
        ("GEO-10", "impossible as printed", {"value": 2.17}, "reproduced under a reading"),
        ("GEO-20", "impossible as printed", {"printed": 52.46}, "reproduced"),
        ("GEO-21", "impossible as printed", {"printed": 23.78}, "reproduced"),
        ("GEO-31", "reproduced", {"value": 31}, "not reproduced"),
        ("REF-13", "reproduced under a reading", {"value": 80}, "impossible as printed"),
        ("REF-25", "reproduced", {"value": 2}, "not reproduced"),
        ("TIMER-12", "reproduced under a reading", {"printed": 0.3}, "not reproduced"),
        ("HSWA-27", "reproduced under a reading", {"printed": 0.25}, "reproduced"),
    ],
)
def test_another_number_in_print_is_another_verdict(id_, kind, altered, other_kind):
    was, became = real(id_, {}, altered)
    assert (was.kind, became.kind) == (kind, other_kind)
    assert (was.kind, was.reading) != (became.kind, became.reading)


@pytest.mark.parametrize(
    ("id_", "world"),
    [
        ("GEO-17", {"link.geo.delay": "135 ms"}),  # half the distance
        ("GEO-31", {"tcp.ack": {"every": 2}}),
        ("GEO-03", {"tcp.ack.delay": "1 ms"}),  # no delay to save
        ("TIMER-12", {"tcp.ack.every": 1}),  # no ACK waits
        ("TIMER-37", {"link.pass.rate": "2.048 Mbit/s"}),
    ],
)
def test_in_another_world_a_claim_does_not_hold(id_, world):
    (here,), (there,) = real(id_), real(id_, world=world)
    assert here.kind in ("reproduced", "reproduced under a reading")
    assert there.kind == "not reproduced"


@pytest.mark.parametrize("id_", ["BEEN-09", "BEEN-39", "REF-02", "REF-05", "REF-31"])
def test_a_claim_of_a_mechanism_fails_without_it(id_):
    (paper,) = bp.reproduce(only=[id_], falsify=True, jobs=1).papers
    (verdict,) = paper.verdicts
    assert verdict.kind in ("reproduced", "reproduced under a reading")
    assert [part.attack.kind for part in verdict.judged if part.attack.kind != "fails"] == []


def test_a_window_that_no_report_keeps_falls_where_something_arrives():
    paper = claims.paper("been")
    (claim,) = (each for each in paper.claims if each.id == "BEEN-10")
    with Lab(paper.folder, jobs=1) as lab:
        for reading, kind in zip(claim.readings, ("holds", "fails"), strict=True):
            alone = replace(claim, readings=(reading,))
            attack = falsify.attack_claim(paper, verdicts.judge(paper, alone, lab), lab).attack
            assert (attack.reading, attack.kind) == (reading.name, kind)


def test_tracking_does_not_hang_on_the_granularity():
    # The verdict stays the same: the claim names no granularity.
    (verdict,) = real("TIMER-16", {"with": {"granularity": "500 ms"}})
    assert verdict.kind == "reproduced"


def test_the_scale_multiplies_replications_of_sweeps_and_of_single_runs():
    paper = claims.paper("hswa")
    with Lab(paper.folder, jobs=1) as lab:
        lab.scale = 2
        sets = {"duration": "1 s"}
        assert list(lab.seeds(3, 10)) == [1, 2, 3, 4, 5, 6]
        assert len(lab.sweep("bent-pipe", sets, vary={}, replications=2).runs) == 4
        assert len(lab.sweep("bent-pipe", sets, vary={}, replications=1).runs) == 1
        assert len(lab.sweep("bent-pipe", sets, vary={}, replications=2, is_scaled=False).runs) == 2


def test_a_run_keeps_no_text_of_its_events_beside_the_data_frame():
    # The bound on traces counts all kept data. Texts of events would take three times as much, uncounted.
    with Lab(claims.paper("hswa").folder) as lab:
        result = lab.run("bent-pipe", {"duration": "6 s"}, seed=1, series=["events", "cwnd_bytes"])
        assert result.events.height > 1000
        assert isinstance(result.tables._held["events"], pl.DataFrame)
        assert isinstance(result.recorded._held["cwnd_bytes"], pl.DataFrame)
        assert lab._traces_bytes > lab_module.RUN_BYTES + 16 * result.events.height
        assert result.tables.rows("events")[0] == result.events.row(0, named=True)
        assert result.tables.rows("flows") == result.flows.to_dicts()


@pytest.mark.skipif(not ALL, reason="takes a minute: BENTPIPE_ALL=1")
@pytest.mark.skipif(sys.platform == "win32", reason="the system does not report the memory that a process took")
@pytest.mark.parametrize("id_", ["BEEN-33", "HSWA-29"])
def test_a_quick_reproduction_stays_below_a_gigabyte(id_):
    # The claims with the most and with the longest traces. Without the bound they take 2.8 and 1.6 GB.
    lines = [
        "import resource, bentpipe as bp",
        f"bp.reproduce(only=['{id_}'], jobs=1)",
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)",
    ]
    code = "\n".join(lines)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) * (1 if sys.platform == "darwin" else 1024) < 1e9


def test_traces_are_kept_up_to_a_bound(monkeypatch):
    with Lab(claims.paper("hswa").folder) as lab:

        def trace(seed):
            return lab.run("bent-pipe", {"duration": "2 s"}, seed=seed, series=["events"])

        first, second = trace(1), trace(2)
        assert (trace(1), trace(2)) == (first, second), "kept"
        monkeypatch.setattr(lab_module, "TRACES_BYTES_MAX", lab._traces_bytes)
        trace(1)
        trace(3)
        assert trace(1) is first, "asked for last"
        assert trace(2) is not second
        assert lab._traces_bytes == sum(map(lab_module._bytes, lab._traces.values()))


def test_no_measure_has_a_number_of_runs_that_does_not_grow():
    for path in claims.PACKS.glob("*/*.py"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"for (seed|replication) in (\(|\[|range\((1, )?lab\.choose)", text), path


def kept_verdicts(text):
    """Verdicts in the table of a page, by claim."""
    return dict(re.findall(r"^\| \[([A-Z]+-\d+)\].* \| ([^|]+) \|$", text, re.MULTILINE))


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.name)
def test_the_pages_in_the_documentation_are_of_what_is_here(paper):
    text = (ROOT / "docs" / "papers" / f"{paper.name}.md").read_text(encoding="utf-8")
    assert f"`{fingerprint.fingerprint(paper)}`" in text, f"stale; run: python -m validation.papers {paper.name}"
    # A page names its scale. Full scale is for releases.
    assert re.search(rf"`bentpipe reproduce {paper.name} --(full|quick) --falsify`", text)
    headline = r"^\*\*\d+ of \d+ claims hold together in one possible network; \d+ of \d+ hold in some reading\.\*\*"
    assert re.search(headline, text, re.MULTILINE)
    assert kept_verdicts(text).keys() == {claim.id for claim in paper.claims}


def test_a_fingerprint_is_of_all_that_decides(tmp_path, monkeypatch):
    folder = shutil.copytree(claims.PACKS / "geo", tmp_path / "geo", ignore=shutil.ignore_patterns("__pycache__"))
    judging = [Path(shutil.copy(path, tmp_path)) for path in fingerprint.DECIDING]
    monkeypatch.setattr(fingerprint, "DECIDING", judging)
    prints = {fingerprint.fingerprint(claims.paper("geo"))}
    paper = claims.paper(folder)
    assert fingerprint.fingerprint(paper) in prints

    changed = [folder / name for name in ("claims.toml", "paper.toml", "measures.py", "scenarios/errors.toml")]
    for path in [*changed, *judging]:
        path.write_text(path.read_text(encoding="utf-8") + "# changed\n", encoding="utf-8")
        prints.add(fingerprint.fingerprint(paper))
    (folder / "notes.md").write_text("other")
    assert fingerprint.fingerprint(paper) in prints
    monkeypatch.setattr(fingerprint, "RESULTS", -1)
    prints.add(fingerprint.fingerprint(paper))
    assert len(prints) == 2 + len(changed) + len(judging)


def test_one_claim_is_measured_alone_and_nothing_written(tmp_path):
    result = bp.reproduce(only=["geo-31", "HSWA-27"], folder=tmp_path)
    assert [each.claim.id for paper in result.papers for each in paper.verdicts] == ["GEO-31", "HSWA-27"]
    assert [path.name for path in tmp_path.iterdir()] in ([], ["runs"])
    with pytest.raises(BentpipeError, match="'HSWA-99' is not a claim of these papers"):
        bp.reproduce(only=["HSWA-99"])
    with pytest.raises(BentpipeError, match="'HSWA-24' is not a claim of these papers"):
        bp.reproduce(["geo"], only=["HSWA-24"])


def test_slow_start_that_all_have_says_nothing_about_scps():
    """Reno and SACK also take a seventh of the run to fill the path. HSWA-06 claims more than that."""
    others = [{"readings": [{"name": cc, "cc": cc}]} for cc in ("reno", "sack")]
    found, *fillers = real("HSWA-06", {}, *others)
    assert [verdict.kind for verdict in fillers] == ["not reproduced"] * 2
    # SCPS-TP's default window is Reno's: the claim needs Vegas'.
    assert found.text == "reproduced under 1 of 2 readings: SCPS-TP with Vegas' window"


def test_a_mean_over_what_is_not_printed_is_neither_impossible_nor_reproduced():
    (verdict,) = real("HSWA-18")
    assert verdict.kind == "undecided"
    states = {each.reading.name: (bool(each.contradiction), each.holds) for each in verdict.found}
    assert states["mean over 1e-8 to 1e-1"] == (True, False)
    assert states["mean over 1e-5 to 1e-2"] == (True, False)
    assert states["mean over 1e-5 to 1e-1"] == (False, None)
    assert "56 % takes 20 Mbit/s there" in next(
        each.finding.note for each in verdict.found if each.reading.name == "mean over 1e-5 to 1e-1"
    )


def test_packets_of_another_size_or_another_path_keep_windows_and_queues_of_one_product():
    formulas, runs = (loading.module(claims.paper("hswa"), name) for name in ("formulas", "runs"))
    assert runs.path() == {}
    large = runs.path(segment_bytes=6000)
    assert (large["tcp.smss"], large["link.uplink.queue"]) == ("6000 B", "1061 packets")
    short = runs.settings("hswa", rate=1e-3, is_open=True, rtt_ms=50, handshake=False)
    assert short["link.uplink.delay"] == "10 ms"
    assert (short["tcp.cc"]["cwnd_lim"], short["tcp.handshake"]) == (625, False)
    # Other controls keep their published settings. Packets and path are the same for all.
    other = runs.settings("reno", rate=1e-3, is_open=True, rtt_ms=50, recovery="rack", handshake=False)
    assert other["tcp.cc"] == "reno"
    assert other["tcp.receive_buffer"] == "625024 B"
    assert "tcp.recovery" not in other
    for rate in (1e-5, 1e-4, 1e-3):
        left = 1 / (1 + rate * formulas.packets_needed(rate) / 2)
        assert formulas.HSWA_BPS[1e-8] * left == pytest.approx(formulas.HSWA_BPS[rate])


def test_the_terminal_says_what_is_claimed_and_in_which_unit():
    result = bp.reproduce(only=["GEO-20", "HSWA-27", "HSWA-09"])
    console = Console(width=100, file=io.StringIO())
    for part in render.reproduction(result, None):
        console.print(part)
    text = " ".join(console.file.getvalue().split())
    assert "Arithmetic: twice the distance at the speed of light" in text, "claims are shown at length"
    rows = {cells[0]: cells[1:] for each in result.papers for v in each.verdicts for cells in pages.list_compared(v)}
    assert rows["HSWA-27"] == (
        "The round trip between an earth station and the geostationary …",
        "500 ms",
        "480 ms",
        "reproduced under 1 of 2 readings: both legs, from station to station",
    )
    assert rows["GEO-20"][1:3] == ("47.53 %", "52.5 %")
    assert rows["HSWA-09"][1] == "more aggressive, less aggressive; above 1"


class Watched(Lab):
    """A laboratory that records the requested experiments."""

    def __init__(self, folder, **more):
        super().__init__(folder, **more)
        self.asked = set()

    def load(self, name, sets=None, *, case=None):
        self.asked.add(json.dumps([name, dict(sets or {}), case]))
        return super().load(name, sets, case=case)


def sources(paper):
    """Digest of all sources that can change the meaning of a setting."""
    return fingerprint.digest([*sorted(SOURCES), *paper.files, *fingerprint.DECIDING])


def is_unchanged(paper):
    path = RECORDED / f"{paper.name}.json"
    return path.is_file() and json.loads(path.read_text(encoding="utf-8")).get("sources") == sources(paper)


def recorded(paper):
    """The record by claim: verdict, whether it has a reason, parts with their readings, experiments, digest."""
    path = RECORDED / f"{paper.name}.json"
    if not path.is_file():
        return {}
    kept = json.loads(path.read_text(encoding="utf-8"))
    settings = kept["settings"]
    asked = [json.dumps([name, dict(settings[at] for at in sets), case]) for name, sets, case in kept["experiments"]]
    return {
        id_: {**entry, "experiments": [asked[at] for at in entry["experiments"]]}
        for id_, entry in kept["claims"].items()
    }


def record(paper, entries, *, is_whole=True):
    """Write the record, with a line for each setting, each experiment and each claim.

    A record that is not whole is not of the current sources.
    """
    asked = sorted({each for entry in entries.values() for each in entry["experiments"]})
    experiments = [json.loads(each) for each in asked]
    settings = sorted({json.dumps(each) for _, sets, _ in experiments for each in sets.items()})
    experiments = [
        json.dumps([name, [settings.index(json.dumps(each)) for each in sets.items()], case])
        for name, sets, case in experiments
    ]
    rows = {
        claim.id: {
            **entries[claim.id],
            "experiments": sorted(asked.index(each) for each in entries[claim.id]["experiments"]),
        }
        for claim in paper.claims
        if claim.id in entries
    }
    lines = [f'"{id_}": {json.dumps(row, ensure_ascii=False)}' for id_, row in rows.items()]
    text = (
        f'{{"sources": "{sources(paper) if is_whole else ""}",\n"settings": [\n'
        + ",\n".join(settings)
        + '\n],\n"experiments": [\n'
        + ",\n".join(experiments)
    )
    text += '\n],\n"claims": {\n' + ",\n".join(lines) + "\n}}\n"
    RECORDED.mkdir(exist_ok=True)
    (RECORDED / f"{paper.name}.json").write_text(text, encoding="utf-8")


def deciding(paper, claim, asked, known):
    """Digest of everything that decides a claim's verdict: engine, judging, measures, claim, features, experiments."""
    # Texts do not change verdicts.
    said = {"why": {}, "statement": "", "how": "", "parts": ()}
    parts = [
        asdict(replace(part, **said, without=part.without and replace(part.without, what="", why="")))
        for part in claim.parts or (claim,)
    ]
    missing = [verdicts.missing(part.needs) for part in claim.parts or (claim,)]
    experiments = []
    for each in sorted(asked):
        if each not in known:
            name, sets, case = json.loads(each)
            try:
                scenario = Lab(paper.folder).load(name, sets, case=case)
                # A case is not a sweep.
                points = Grid(scenario).points if case is None else []
                known[each] = [scenario.digest, scenario.seed, [point.digest for point in points]]
            except BentpipeError:
                known[each] = ["refused"]
        experiments.append(known[each])
    code = [path for path in paper.files if path.suffix == ".py" and path.stem != loading.FIGURES]
    settings = list(map(asdict, paper.settings))
    return fingerprint.digest([*code, *fingerprint.DECIDING], json.dumps([parts, missing, experiments, settings]))


def measured(paper, claim, store, known):
    """The verdict on a claim, in the form of the record."""
    with Watched(paper.folder, store=store, settings=paper.settings) as lab:
        verdict = falsify.attack_claim(paper, verdicts.judge(paper, claim, lab), lab)
    return {
        "digest": deciding(paper, claim, lab.asked, known),
        "verdict": verdict.text,
        "says_why": bool(verdict.detail),
        "parts": [
            {
                "verdict": part.text,
                "readings": {found.reading.name: found.holds for found in part.found},
                "worlds": {
                    found.reading.name: {key: list(value) for key, value in found.world.items()} for found in part.found
                },
                "without": part.attack.kind,
            }
            for part in verdict.judged
        ],
        "experiments": sorted(lab.asked),
    }


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.name)
def test_quick_verdicts_are_those_recorded(paper, tmp_path, record_property):
    kept, known, made = recorded(paper), {}, {}
    is_same = is_unchanged(paper)
    for claim in paper.claims:
        entry = kept.get(claim.id)
        is_stale = entry is None or not (
            is_same or entry["digest"] == deciding(paper, claim, entry["experiments"], known)
        )
        if ALL or is_stale or claim.id in SAMPLE:
            made[claim.id] = measured(paper, claim, STORES / paper.name if STORES else tmp_path, known)
            if BLESS:
                # Record immediately, since a long test may be interrupted.
                record(paper, kept | made, is_whole=False)
    record_property("measured", len(made))
    if BLESS:
        record(paper, kept | made)
        kept = recorded(paper)

    def verdict(entry):
        return {key: value for key, value in entry.items() if key not in ("digest", "experiments")}

    assert kept.keys() == {claim.id for claim in paper.claims}, "BLESS=1 pytest tests/test_papers.py"
    changed = {id_: (verdict(kept[id_]), verdict(entry)) for id_, entry in made.items()}
    assert {id_: pair for id_, pair in changed.items() if pair[0] != pair[1]} == {}


def test_a_record_is_stale_where_what_decides_has_changed(tmp_path, monkeypatch):
    folder = shutil.copytree(claims.PACKS / "geo", tmp_path / "geo", ignore=shutil.ignore_patterns("__pycache__"))
    asked = recorded(claims.paper("geo"))["GEO-17"]["experiments"]

    def digest(**changes):
        paper = claims.paper(folder)
        claim = next(claim for claim in paper.claims if claim.id == "GEO-17")
        return deciding(paper, replace(claim, **changes), asked, {})

    def change(name, old, new):
        path = folder / name
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new), encoding="utf-8")
        return digest()

    first = digest()
    assert first == recorded(claims.paper("geo"))["GEO-17"]["digest"], "BLESS=1 pytest tests/test_papers.py"
    # Texts, other scenarios and figures do not change verdicts.
    assert digest(statement="Other.", why={}) == first
    assert change("scenarios/dumbbell.toml", "title = ", "# Words.\ntitle = ") == first
    assert change("scenarios/errors.toml", 'delay = "270 ms"', 'delay = "27 ms"') == first
    assert change("figures.py", "figure_2", "figure_3") == first
    digests = [first, digest(value=0.1), digest(needs=("cc:no-such-sender",))]
    digests.append(change("scenarios/dumbbell.toml", 'rate = "10 Mbit/s"', 'rate = "9 Mbit/s"'))
    digests.append(change("measures.py", "import", "import  "))
    monkeypatch.setattr(fingerprint, "RESULTS", -1)
    digests.append(digest())
    monkeypatch.setattr(fingerprint, "DECIDING", ())
    digests.append(digest())
    assert len(set(digests)) == len(digests)


HOLDS, FAILS = ("reproduced",), ("not reproduced", "impossible as printed")


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.name)
def test_quick_runs_do_not_contradict_the_pages_in_the_documentation(paper):
    kept = kept_verdicts((ROOT / "docs" / "papers" / f"{paper.name}.md").read_text(encoding="utf-8"))
    for id_, entry in recorded(paper).items():
        both = entry["verdict"], kept[id_]
        contradicts = any(text.startswith(HOLDS) for text in both) and any(text.startswith(FAILS) for text in both)
        assert not contradicts, f"{id_}: {both}"


def test_where_nothing_arrives_at_all_nothing_falls_to_nothing():
    left, right = recorded(claims.paper("hswa"))["HSWA-14"]["parts"]
    for reading in ("errors per bit", "errors per byte"):
        assert left["readings"][reading] is True
        assert right["readings"][reading] is not True


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Pages of a few claims and figures of some papers; with BENTPIPE_ALL, of all papers, which takes minutes."""
    folder = tmp_path_factory.mktemp("papers")
    if ALL:
        return bp.reproduce(folder=folder), folder
    few = [part_of(name, claims_, figure) for name, claims_, figure in WRITTEN]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reproduce, "_chosen", lambda *_: few)
        return bp.reproduce(folder=folder), folder


WRITTEN = [("geo", ("GEO-10", "GEO-17"), "figure-2"), ("refwa", ("REF-25",), "figure-2")]


def part_of(name, ids, figure):
    paper = claims.paper(name)
    few = tuple(claim for claim in paper.claims if claim.id in ids)
    return replace(paper, claims=few, figures=tuple(each for each in paper.figures if each.name == figure))


def test_pages_say_what_was_measured(written):
    result, folder = written
    for each in result.papers:
        made = (folder / f"{each.paper.name}.md").read_text(encoding="utf-8")
        assert f"`{fingerprint.fingerprint(each.paper)}`" in made
        assert f"\n| all | {len(each.verdicts)} | |\n" in made
        assert all(made.count(f"]({each.paper.name}/{figure.name}.png)") == 1 for figure in each.figures)
        order = re.findall(r"^### (.*)$", made, re.MULTILINE)
        assert order == [verdict.claim.id for verdict in each.verdicts]
        # The page links all scenarios.
        assert all(
            f"/{each.paper.name}/{path.relative_to(each.paper.folder).as_posix()})" in made for path in each.paper.files
        )
        assert not re.search(r"\de[+]\d", made), "a number in an unusual form"


def test_a_reproduction_is_written_down_whole(written):
    result, folder = written
    with (folder / "claims.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    claimed = [claim.id for each in result.papers for claim in each.paper.claims]
    assert list(dict.fromkeys(row["claim"] for row in rows)) == claimed
    assert json.loads((folder / "claims.json").read_text())["claims"][0]["claim"] == claimed[0]
    for each in result.papers:
        assert sum(each.counts.values()) == len(each.verdicts)
        for figure in each.figures:
            assert (folder / each.paper.name / f"{figure.name}.svg").stat().st_size > 1000


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.name)
def test_nothing_that_can_be_measured_is_open(paper):
    kept = recorded(paper)
    for claim in paper.claims:
        entry = kept[claim.id]
        if entry["verdict"] in ("not reproduced", "in part"):
            assert entry["says_why"], f"{claim.id} has no reason"
        for part, found in zip(claim.parts or (claim,), entry["parts"], strict=True):
            # A claim is open only for missing features.
            missing = verdicts.missing(part.needs)
            assert bool(found["readings"]) or bool(missing), claim.id
            if found["verdict"].startswith("needs"):
                assert found["verdict"] == f"needs {', '.join(missing)}", claim.id


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.name)
def test_every_claim_names_its_mechanism_or_says_why_it_has_none(paper):
    parts = [part for claim in paper.claims for part in claim.parts or (claim,) if part.by == claims.RUNS]
    assert [f"{part.id} {part.part}" for part in parts if part.without is None] == []


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.name)
def test_no_claim_holds_without_its_mechanism_unless_it_says_why(paper):
    kept = recorded(paper)
    for claim in paper.claims:
        for part, found in zip(claim.parts or (claim,), kept[claim.id]["parts"], strict=True):
            kind = found.get("without", "not attacked; run BLESS=1 pytest tests/test_papers.py")
            reason = part.without.why if part.without is not None else ""
            assert falsify.Attack(kind, note=reason).is_explained, f"{claim.id} {part.part}: {kind}"
            assert kind != falsify.UNNAMED, f"{claim.id} {part.part}"


def test_a_paper_that_is_not_there_is_said():
    with pytest.raises(BentpipeError, match="did you mean 'refwa'"):
        bp.reproduce(["refw"])


def test_the_command_names_the_papers_unless_it_is_all_of_them():
    assert pages.command(["geo"], is_full=False) == "bentpipe reproduce geo --quick"
    assert pages.command(claims.names(), is_full=True) == "bentpipe reproduce --full"
