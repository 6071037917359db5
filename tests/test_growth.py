"""Work grows with the size of a scenario, not with its square: four times of each kind take about four times as long.

Times are of the processor, and two of the same run are compared: a busy machine slows both.
"""

import time
from itertools import count

import pytest

import bentpipe as bp

FILE = {"kind": "file", "size": "10 kB"}
LINK = {"from": "a", "to": "b", "rate": "1 Gbit/s", "delay": "1 ms"}


def write(link, flow, **more):
    return {"duration": "1 s", "link": link, "flow": flow, **more}


def make_links(n):
    leaf = {**LINK, "from": "hub", "to": "leaf{n}", "count": n}
    return write({"l": leaf}, {"f": {"from": "hub", "to": "leaf{n}", "count": n, "app": FILE}})


def make_flows(n):
    return write({"l": LINK}, {"f": {"from": "a", "to": "b", "count": n, "app": FILE}})


def make_series(n):
    return {**make_flows(n), "record": {"series": ["cwnd_bytes", "srtt_s", "goodput_bps"], "interval": "0.1 s"}}


def make_tables(n):
    links = {f"l{i}": {**LINK, "from": "hub", "to": f"leaf{i}"} for i in range(n)}
    return write(links, {f"f{i}": {"from": "hub", "to": f"leaf{i}", "app": FILE} for i in range(n)})


def make_terminals(n):
    medium = {"kind": "mf-tdma", "symbol_rate": "1 Mbaud", "carriers": 80, "controller": "gateway"}
    access = {"constant": "16 kbit/s", "rate_based": "512 kbit/s", "volume_based": True}
    link = {"from": "gateway", "to": "terminal{n}", "count": n, "delay": "250 ms", "queue": "100 packets"}
    link |= {"forward": {"rate": "40 Mbit/s"}, "reverse": {"medium": "up", "es_n0": "9 dB", "access": access}}
    poisson = {"kind": "poisson", "rate": "80 kbit/s", "size": "472 B"}
    flow = {"from": "terminal{n}", "to": "gateway", "count": n, "app": poisson}
    return write({"user": link}, {"f": flow}, medium={"up": medium})


def make_places(n):
    place = {f"p{i}": {"latitude": i / n, "longitude": 10} for i in range(n)}
    flow = {f"f{i}": {"from": f"p{i}", "to": "Frankfurt", "app": FILE} for i in range(n)}
    return {"duration": "60 s", "sky": {"over": {"geo": 19.2}, "place": place}, "flow": flow}


def make_cases(n):
    case = {f"c{i}": {"tcp": {"initial_window": f"{i + 1} segments"}} for i in range(n)}
    return {**make_flows(1), "case": case}


def measure(work):
    began = time.process_time()
    found = work()
    return time.process_time() - began, found


@pytest.mark.parametrize(
    ("make", "size"),
    [
        (make_links, 200),
        (make_flows, 200),
        (make_series, 200),
        (make_tables, 150),
        (make_terminals, 150),
        (make_places, 20),
        (make_cases, 100),
    ],
)
def test_four_times_as_much_takes_four_times_as_long(make, size, tmp_path):
    folders = (tmp_path / str(number) for number in count())

    def measure_steps(content):
        read, scenario = measure(lambda: bp.Scenario(content))
        cases, _ = measure(lambda: scenario.cases)
        run, result = measure(lambda: bp.run(next(iter(scenario.cases.values()), scenario), progress=False))
        save, _ = measure(lambda: result.save(next(folders)))
        plain, _ = measure(result.to_dict)
        return {"read": read, "cases": cases, "run": run, "save": save, "to_dict": plain}

    small, large = ([measure_steps(make(n)) for _ in range(3)] for n in (size, 4 * size))
    for step in small[0]:
        least = min(each[step] for each in small), min(each[step] for each in large)
        # The square would be sixteen times. Steps of a few milliseconds are not compared.
        assert least[1] < 8 * least[0] + 0.01, (step, least)
