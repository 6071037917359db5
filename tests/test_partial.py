"""Results of a run in progress: they equal those of an interrupted run, and do not change the run."""

import pytest

import bentpipe as bp

SERIES = ["goodput_bps", "cwnd_bytes", "queue_bytes", "carried_bps", "losses", "decisions"]
SETS = {"duration": "12 s"}


def tables(result):
    return {**result.tables, **result.recorded}


def same(one, other):
    return [name for name, table in tables(one).items() if not table.equals(tables(other)[name], null_equal=True)]


@pytest.mark.parametrize("name", ["geo", "leo", "ship"])
def test_a_run_is_the_same_whether_its_result_is_asked_for_or_not(name):
    parts = []

    asked = bp.run(name, SETS, series=SERIES, progress=lambda state: parts.append(state.result()))
    alone = bp.run(name, SETS, series=SERIES)
    assert same(asked, alone) == []
    assert asked.notes == alone.notes
    *before, last = parts
    assert len(before) >= 2
    for part in before:
        assert part.stop == "interrupted"
        assert part.simulated_s < 12
    assert same(last, alone) == []
    delivered = [part.summary["delivered_packets"][0] for part in parts]
    assert delivered == sorted(delivered)
    # Partial series are the beginning of the final series. The last rate of a part covers its end between two samples.
    for series, rest_s in (("goodput_bps", 0.2), ("cwnd_bytes", 0.0)):
        rows = before[-1].series(series)
        rows = rows.filter(rows["time_s"] <= before[-1].simulated_s - rest_s)
        assert rows.height > 0
        assert rows.equals(asked.series(series).head(rows.height), null_equal=True)


def test_what_is_known_so_far_is_a_whole_result(tmp_path):
    kept = []
    bp.run(
        "leo", SETS, series=SERIES, progress=lambda state: kept.append(state.result()) if state.share > 0.5 else None
    )
    part = kept[0]
    part.save(tmp_path / "part")
    assert bp.RunResult.load(tmp_path / "part").flows.equals(part.flows)
    assert part.estimate("goodput").value > 0
    flow = part.scenario.flow_names[0]
    assert (
        part.why(flow, start=1, end=2).summary == bp.run("leo", SETS, series=SERIES).why(flow, start=1, end=2).summary
    )


def test_after_the_end_it_is_the_result_itself():
    states = []
    result = bp.run("geo", SETS, progress=states.append)
    assert states[-1].result() is result


class Slow(bp.CongestionControl):
    """A window that grows by a segment per ACK."""

    def on_ack(self, ack, path):
        self.cwnd += path.smss // 10


def test_a_class_in_python_is_copied():
    parts = []
    asked = bp.run("leo", SETS, cc=Slow, progress=lambda state: parts.append(state.result()))
    assert parts
    assert asked.flows.equals(bp.run("leo", SETS, cc=Slow).flows, null_equal=True)


class Shut(Slow):
    """A window whose object refuses to be copied."""

    def __deepcopy__(self, memo):
        raise RuntimeError("no copy")


def test_a_class_that_cannot_be_copied_costs_the_partial_result_only():
    errors = []

    def ask(state):
        try:
            state.result()
        except bp.errors.BentpipeError as error:
            errors.append(error)

    scenario = bp.load("leo", {**SETS, "tcp.spurious_detection": "off"})
    asked = bp.run(scenario, cc=Shut, progress=ask)
    assert errors
    assert "no copy" in str(errors[0])
    assert asked.flows.equals(bp.run(scenario, cc=Shut).flows, null_equal=True)
