"""Readers of measurements: right numbers from right files, and an error with a place from all others."""

import gzip
import json
import lzma
import os
import random

import numpy as np
import pytest

import bentpipe as bp
from bentpipe.errors import FitError
from bentpipe.fitting import readers
from bentpipe.fitting.faults import Faults
from bentpipe.fitting.readers.opening import Asked
from tests import measurements


def read(path, kind=None, **asked):
    faults = Faults()
    found = readers.read(path, kind, Asked(**asked), faults)
    faults.refuse()
    return found


def put(folder, name, text):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_a_stamp_of_ping_is_the_arrival_and_a_missing_number_is_a_loss(tmp_path):
    (probes,) = read(put(tmp_path, "ping.txt", measurements.ping())).probes
    assert len(probes.send_s) == measurements.TRIPS
    assert set(np.flatnonzero(probes.is_lost) + 1) == measurements.LOST
    # The interval is constant at the sender, and the round trips are not.
    assert np.diff(probes.send_s) == pytest.approx(0.1, abs=2e-6)
    assert np.nanmin(probes.rtt_s) == pytest.approx(0.050)


def test_numbers_of_ping_go_on_after_65535(tmp_path):
    lines = [
        f"[{1e9 + number * 0.01 + 0.05:.3f}] 64 bytes from a: icmp_seq={number % 65536} ttl=1 time=50 ms"
        for number in range(65_400, 65_700)
        if number != 65_550
    ]
    (probes,) = read(put(tmp_path, "ping.txt", "\n".join(lines))).probes
    assert (len(probes.send_s), probes.is_lost.sum()) == (300, 1)


def test_probes_at_the_end_without_an_answer_are_lost(tmp_path):
    (probes,) = read(put(tmp_path, "ping.txt", measurements.ping(lost={198, 199, 200}))).probes
    assert list(np.flatnonzero(probes.is_lost)) == [197, 198, 199]


def test_a_ping_without_stamps_needs_its_interval(tmp_path):
    text = "\n".join(line.partition("] ")[2] or line for line in measurements.ping().splitlines())
    path = put(tmp_path, "ping.txt", text)
    with pytest.raises(FitError, match=r"no time stamps\n  expected the output of ping -D, or the time between probes"):
        read(path)
    (probes,) = read(path, interval_s=0.1).probes
    assert np.diff(probes.send_s) == pytest.approx(0.1)


def test_irtt_tells_the_direction_of_losses_and_delays(tmp_path):
    found = read(put(tmp_path, "irtt.json", measurements.irtt()))
    (probes,) = found.probes
    assert set(np.flatnonzero(probes.lost_forward)) == measurements.LOST
    assert not probes.lost_reverse.any()
    assert np.nanmin(probes.forward_s) == pytest.approx(np.nanmin(probes.reverse_s))
    assert "clocks differ by -5 ms" in found.notes[0]


def test_iperf3_in_reverse_goes_towards_the_terminal(tmp_path):
    (load,) = read(put(tmp_path, "iperf3.json", measurements.iperf3())).loads
    assert (load.direction, load.mss, load.cc) == ("forward", 1448, "cubic")
    assert load.rate_bps == pytest.approx(9e6)
    assert load.srtt_s[0] == pytest.approx(0.050)
    assert load.cwnd_bytes[0] == 100_000


def test_without_the_server_a_download_has_no_window(tmp_path):
    content = json.loads(measurements.iperf3())
    del content["server_output_json"]
    content["server_output_text"] = "- - - -"
    found = read(put(tmp_path, "iperf3.json", json.dumps(content)))
    assert (found.loads[0].cwnd_bytes, found.loads[0].srtt_s) == (None, None)
    assert any("its JSON needs iperf3 -s -J" in note for note in found.notes)


def test_the_client_has_the_window_of_an_upload_with_all_its_streams(tmp_path):
    content = json.loads(measurements.iperf3())
    content["intervals"] = content.pop("server_output_json")["intervals"]
    content["start"]["test_start"] |= {"reverse": 0, "num_streams": 2}
    for each in content["intervals"]:
        each["streams"] *= 2
    content["end"]["sum_received"] = {"bytes": 33_000_000, "seconds": 30.2}
    (load,) = read(put(tmp_path, "iperf3.json", json.dumps(content))).loads
    assert (load.direction, load.streams, load.cwnd_bytes[0]) == ("reverse", 2, 200_000)
    # Its rows are writes of 128 KiB.
    assert (load.block, load.received) == (131072, (33_000_000, 30.2))


def test_writes_without_the_total_of_the_receiver_are_refused_with_the_command(tmp_path):
    content = json.loads(measurements.iperf3())
    content["intervals"] = content.pop("server_output_json")["intervals"]
    content["start"]["test_start"] |= {"reverse": 0}
    faults = Faults()
    readers.read(put(tmp_path, "iperf3.json", json.dumps(content)), None, Asked(), faults)
    with pytest.raises(FitError, match=r"writes of the sender, not what arrived\n  expected .*--get-server-output"):
        faults.refuse()


def test_an_upload_has_the_rows_of_the_receiver_if_the_server_prints_them(tmp_path):
    content = json.loads(measurements.iperf3())
    of_sender = content["server_output_json"]["intervals"]
    content["server_output_json"]["intervals"] = content["intervals"]
    content["intervals"] = of_sender
    content["start"]["test_start"] |= {"reverse": 0}
    (load,) = read(put(tmp_path, "iperf3.json", json.dumps(content))).loads
    assert (load.direction, load.block) == ("reverse", 0)
    assert load.cwnd_bytes[10] == 120_000


def test_both_directions_of_bidir_are_read(tmp_path):
    content = json.loads(measurements.iperf3())
    of_sender = content.pop("server_output_json")["intervals"]
    for mine, theirs in zip(of_sender, content["intervals"], strict=True):
        mine["sum_bidir_reverse"] = {**theirs["sum"], "bytes": 2 * theirs["sum"]["bytes"]}
        mine["streams"] += theirs["streams"]
    content["intervals"] = of_sender
    content["end"]["sum_received"] = {"bytes": 33_000_000, "seconds": 30.2}
    up, down = read(put(tmp_path, "iperf3.json", json.dumps(content))).loads
    assert (up.direction, up.block, up.cwnd_bytes[0], round(float(up.srtt_s[0]), 6)) == (
        "reverse",
        131072,
        100_000,
        0.05,
    )
    assert (down.direction, down.block, down.srtt_s) == ("forward", 0, None)
    assert down.bytes.sum() == 2 * up.bytes.sum()


def test_an_interrupted_test_has_its_rows_until_then(tmp_path):
    content = {**json.loads(measurements.iperf3()), "error": "interrupt - the client has terminated"}
    content["end"] = {}
    found = read(put(tmp_path, "iperf3.json", json.dumps(content)))
    assert len(found.loads[0].bytes) == 60
    assert any("interrupted" in note for note in found.notes)


@pytest.mark.parametrize(
    "line",
    [
        "From 192.0.2.9 icmp_seq=90 Packet filtered",
        "[1734546428.1] From 192.0.2.9 icmp_seq=90 Redirect Host(New nexthop: 192.0.2.8)",
        "[1734546428.1] no answer yet for icmp_seq=90",
        "[1734546428.1] From 192.0.2.9 icmp_seq=90 Destination Host Unreachable",
    ],
)
def test_a_line_of_a_router_is_no_answer(tmp_path, line):
    (probes,) = read(put(tmp_path, "ping.txt", f"{measurements.ping()}{line}\n")).probes
    assert set(np.flatnonzero(probes.is_lost) + 1) == measurements.LOST


def test_busybox_names_the_number_seq(tmp_path):
    text = measurements.ping().replace("icmp_seq=", "seq=")
    (probes,) = read(put(tmp_path, "ping.txt", text)).probes
    assert set(np.flatnonzero(probes.is_lost) + 1) == measurements.LOST


def test_the_last_line_of_a_killed_ping_may_be_cut(tmp_path):
    lines = measurements.ping(lost=set()).splitlines()[: measurements.TRIPS]
    for cut in ("", " 5", " 54.0", " 54.0 m"):
        text = "\n".join([*lines, f"[1734546439.05] 64 bytes from a: icmp_seq=200 ttl=55 time={cut.strip()}"])
        found = read(put(tmp_path, "ping.txt", text))
        assert len(found.probes[0].send_s) == measurements.TRIPS - 1
        assert found.notes == ["ping.txt: the last line is cut; left out"]
        with pytest.raises(FitError, match=r"ping.txt:201: .*\n  expected an?"):
            read(put(tmp_path, "ping.txt", text + "\n"))


@pytest.mark.parametrize(("unit", "size"), [("Mbps", 1), ("mbps", 1), ("MBPS", 1), ("MBps", 8), ("kBps", 8e-3)])
def test_capitals_tell_bytes_per_second_from_bits_per_second(tmp_path, unit, size):
    rows = [f"{number},10,{50 + number % 3}" for number in range(200)]
    path = put(tmp_path, "a.csv", "\n".join([f"t_s,download_{unit},rtt_ms", *rows]))
    assert read(path).loads[0].rate_bps == pytest.approx(1e7 * size)
    path = put(tmp_path, "b.csv", "\n".join(["t_s,fast,rtt_ms", *rows]))
    assert read(path, columns={"fast": f"download:{unit}"}).loads[0].rate_bps == pytest.approx(1e7 * size)


@pytest.mark.parametrize(
    ("head", "value", "said"),
    [
        ("t_s,rtt_s", "{0},{1}", "round trips have a median of 51 s"),
        ("t_s,rtt_ns", "{0},{1}", "round trips have a median of 5.1e-08 s"),
        ("t_s,rtt_ms", "{0},{2}", "and reach 1e\\+297 s"),
        ("t_s,rtt_ms", "1{0:012d},{1}", "times reach from 1e\\+12 s"),
        ("t_s,rtt_ms", "{0}00000,{1}", "times reach from 0 s to 19900000 s"),
        ("t_s,rtt_ms,download_gbps", "{0},{1},100", "the mean rate is 1e\\+11 bit/s"),
    ],
)
def test_numbers_that_no_path_has_are_a_wrong_unit(tmp_path, head, value, said):
    rows = [value.format(at, 50 + at % 3, 1e300 if at == 7 else 50) for at in range(200)]
    with pytest.raises(FitError, match=rf"^a.csv: .*{said}.*\n  expected .*; check the unit$"):
        read(put(tmp_path, "a.csv", "\n".join([head, *rows])))


def test_numbers_in_a_column_of_times_need_a_unit_once(tmp_path):
    path = put(tmp_path, "a.csv", measurements.csv().replace("t_s", "Time"))
    with pytest.raises(FitError, match=r"^a.csv:1: column Time has no unit\n  [^\n]*: Time=s$"):
        read(path)
    assert read(path, columns={"Time": "s"}).probes[0].send_s[-1] == pytest.approx(119.85, abs=0.1)


def test_a_transfer_without_data_is_left_out(tmp_path):
    rows = [f"{at},{50 + at % 3},9,0" for at in range(200)]
    found = read(put(tmp_path, "a.csv", "\n".join(["t_s,rtt_ms,download_mbps,upload_mbps", *rows])))
    assert [each.direction for each in found.loads] == ["forward"]
    assert "a.csv: a transfer from the terminal carried no data; left out" in found.notes


def test_times_that_go_back_are_one_problem(tmp_path):
    rows = [f"{at if at < 100 else 200 - at},50" for at in range(200)]
    with pytest.raises(FitError, match=r"^back.csv: 99 of 200 times go back\n  [^\n]*$"):
        read(put(tmp_path, "back.csv", "\n".join(["t_s,rtt_ms", *rows])))


def test_missing_values_of_flent_are_no_losses(tmp_path):
    found = read(put(tmp_path, "flent.json", measurements.flent()))
    (probes,), (load,) = found.probes, found.loads
    assert not probes.is_lost.any()
    assert not probes.has_losses
    assert len(probes.rtt_s) == measurements.TRIPS - 1
    assert load.rate_bps == pytest.approx(9e6)


def test_ss_gives_windows_in_bytes_and_round_trips_in_seconds(tmp_path):
    (load,) = read(put(tmp_path, "ss.txt", measurements.ss())).loads
    assert load.rate_bps == pytest.approx(9e6)
    assert load.cwnd_bytes[0] == 71 * 1448
    assert load.srtt_s[0] == pytest.approx(0.0515)
    assert load.retransmits.sum() == 5


def test_rates_of_a_dish_are_no_capacity(tmp_path):
    found = read(put(tmp_path, "dish.csv", measurements.dish()))
    assert len(found.probes) == 1
    assert not found.loads
    assert any("used rates, not the capacity" in note for note in found.notes)


@pytest.mark.parametrize("packed", [gzip.compress, lzma.compress])
def test_compressed_files_are_as_good(tmp_path, packed):
    plain = read(put(tmp_path, "plain.csv", measurements.csv())).probes[0]
    (probes,) = read(put(tmp_path, "packed", packed(measurements.csv().encode()))).probes
    assert np.array_equal(probes.rtt_s, plain.rtt_s, equal_nan=True)


def test_a_truncated_compressed_file_is_refused_and_its_start_can_be_asked_for(tmp_path):
    draw = random.Random(1)
    rows = [f"{number / 10},{draw.uniform(10, 90):.3f}" for number in range(5000)]
    content = gzip.compress("\n".join(["t_s,rtt_ms", *rows]).encode())
    path = put(tmp_path, "cut.csv.gz", content[: len(content) // 2])
    with pytest.raises(FitError, match=r"truncated\n  expected a whole file; the first .* bytes are readable"):
        read(path)
    (probes,) = read(path, is_partial=True).probes
    assert 1000 < len(probes.rtt_s) < 5000


def test_a_file_that_grows_beyond_the_ratio_is_refused_before_it_is_whole(tmp_path):
    path = put(tmp_path, "bomb.csv.xz", lzma.compress(b"t_s,rtt_ms\n" + b"0" * (100 << 20)))
    with pytest.raises(FitError, match=r"become more than .*\n  expected .* a ratio of at most 200"):
        read(path)


@pytest.mark.parametrize("name", ["rtt", "latency", "Delay", "rtt_min"])
def test_a_column_without_a_unit_is_asked_for_and_never_guessed(tmp_path, name):
    path = put(tmp_path, "a.csv", measurements.csv().replace("rtt_ms", name))
    with pytest.raises(FitError) as refused:
        read(path)
    assert "a.csv:1" in str(refused.value)
    assert "unit" in str(refused.value) or "no column" in str(refused.value)
    (probes,) = read(path, columns={name: "rtt:us"}).probes
    assert np.nanmin(probes.rtt_s) == pytest.approx(50e-6)


@pytest.mark.parametrize(("unit", "size"), [("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)])
def test_units_are_taken_as_written(tmp_path, unit, size):
    rows = [f"{number},{0.05 / size:g}" for number in range(200)]
    (probes,) = read(put(tmp_path, "a.csv", "\n".join([f"t_s,rtt_{unit}", *rows]))).probes
    assert np.nanmin(probes.rtt_s) == pytest.approx(0.05)


def test_all_faults_of_all_files_come_at_one_time(tmp_path):
    one = put(tmp_path, "one.csv", measurements.csv().replace(",50\n", ",0\n").replace(",51\n", ",fast\n"))
    two = put(tmp_path, "two.txt", measurements.ping().replace("time=53.0 ms", "time=53.0 lightyears"))
    with pytest.raises(FitError) as refused:
        bp.fit([one, two, tmp_path / "none.txt"])
    text = str(refused.value)
    for part in (
        "one.csv:2: rtt_ms is 0\n",
        "one.csv:3: rtt_ms is fast\n",
        "two.txt:",
        "none.txt",
        "nothing was written",
    ):
        assert part in text


def test_column_names_that_no_file_has_are_refused(tmp_path):
    with pytest.raises(FitError, match="no file has a column lag\n  known: "):
        bp.fit(put(tmp_path, "a.csv", measurements.csv()), columns={"lag": "rtt:ms"}, check=False)


JSON_DEEP = '{"round_trips": ' + "[" * 100 + "]" * 100 + "}"
MALFORMED = {
    "empty": b"",
    "spaces": b" \n\n",
    "zeros": bytes(1000),
    "binary": bytes(range(256)) * 40,
    "no format": b"hello world\n" * 200,
    "pcap": b"\xd4\xc3\xb2\xa1" + bytes(100),
    "pcapng": b"\x0a\x0d\x0d\x0a" + bytes(100),
    "gz head only": b"\x1f\x8b",
    "gz damaged": gzip.compress(measurements.csv().encode())[:60] + bytes(100),
    "xz head only": b"\xfd7zXZ\x00",
    "xz damaged": lzma.compress(measurements.csv().encode())[:60] + bytes(100),
    "json deep": JSON_DEEP,
    "json very deep": '{"round_trips": ' + "[" * 200_000,
    "json cut": measurements.irtt()[:5000],
    "json number": "17",
    "json list": "[1, 2]",
    "json nan": measurements.irtt().replace("20000000", "NaN", 1),
    "json infinite": measurements.irtt().replace("50000000", "1e999"),
    "json large": measurements.irtt().replace("50000000", "9" * 5000),
    "irtt text": json.dumps({"round_trips": "many"}),
    "irtt empty": json.dumps({"round_trips": []}),
    "irtt numbers": json.dumps({"round_trips": list(range(200))}),
    "irtt without rtt": measurements.irtt().replace('"rtt"', '"ttr"'),
    "irtt negative": measurements.irtt().replace('"rtt": 50', '"rtt": -50'),
    "irtt lost": measurements.irtt().replace('"false"', '"perhaps"'),
    "irtt without times": measurements.irtt().replace('"wall"', '"clock"'),
    "irtt short": measurements.irtt(50),
    "ping short": measurements.ping(50, set()),
    "ping lost": measurements.ping(lost=set(range(3, 201))),
    "ping without unit": measurements.ping().replace(" ms", ""),
    "ping negative": measurements.ping().replace("time=5", "time=-5"),
    "ping zero": measurements.ping().replace("time=53.0", "time=0"),
    "ping words": measurements.ping().replace("time=53.0", "time=soon"),
    "ping commas": measurements.ping().replace("time=53.0", "time=53,0,1"),
    "ping stamps": measurements.ping().replace("[17345464", "[yesterday"),
    "ping half stamped": measurements.ping().replace("[1734546420", "", 1),
    "ping backwards": "\n".join(reversed(measurements.ping().splitlines())),
    "ping numbers": measurements.ping().replace("icmp_seq=150", "icmp_seq=900000000"),
    "ping long line": "icmp_seq=1 " * 1_000_000,
    "csv short": measurements.csv(50),
    "csv head only": "t_s,rtt_ms\n",
    "csv no unit": measurements.csv().replace("rtt_ms", "rtt"),
    "csv time without unit": measurements.csv().replace("t_s", "time"),
    "csv unknown unit": measurements.csv().replace("rtt_ms", "rtt_min"),
    "csv twice": measurements.csv().replace("t_s,rtt_ms", "rtt_ms,rtt_ms"),
    "csv no time": measurements.csv().replace("t_s", "speed"),
    "csv ragged": measurements.csv().replace("\n", ",1\n", 5).replace("rtt_ms,1", "rtt_ms"),
    "csv words": measurements.csv().replace(",50\n", ",slow\n"),
    "csv nan": measurements.csv().replace(",50\n", ",nan\n"),
    "csv infinite": measurements.csv().replace(",50\n", ",inf\n"),
    "csv negative": measurements.csv().replace(",50\n", ",-50\n"),
    "csv lost": measurements.csv(lost=set(range(measurements.TRIPS))),
    "csv backwards": "t_s,rtt_ms\n" + "\n".join(reversed(measurements.csv().splitlines()[1:])),
    "csv no times": "t_s,rtt_ms\n" + "5,50\n" * 300,
    "csv quote": measurements.csv().replace(",50\n", ',"50\n', 1),
    "csv huge cell": "t_s,rtt_ms\n1," + "9" * 200_000 + "\n",
    "csv rates without unit": "t_s,download\n" + "\n".join(f"{number},5" for number in range(100)),
    "csv seq": "t_s,seq,rtt_ms\n" + "\n".join(f"{number},{number / 2},5" for number in range(200)),
    "csv seq far": "t_s,seq,rtt_ms\n" + "\n".join(f"{number},{number * 10**9},5" for number in range(200)),
    "iperf3 error": json.dumps({"start": {}, "intervals": [], "end": {}, "error": "unable to connect"}),
    "iperf3 short": measurements.iperf3(5),
    "iperf3 text": json.dumps({"start": {}, "intervals": "all", "end": {}}),
    "iperf3 no sums": json.dumps({"start": {}, "intervals": [{}] * 30, "end": {}}),
    "iperf3 seconds": measurements.iperf3().replace('"seconds": 0.5', '"seconds": 0'),
    "iperf3 protocol": measurements.iperf3().replace('"TCP"', '"SCTP"'),
    "iperf3 udp": measurements.iperf3().replace('"TCP"', '"UDP"'),
    "flent no unit": measurements.flent().replace("ms", "min").replace("(min)", ""),
    "flent other length": measurements.flent().replace("9.0, ", "", 1),
    "flent words": measurements.flent().replace("54.0", '"slow"'),
    "flent other series": measurements.flent().replace("Ping", "Pong").replace("download", "sideways"),
    "flent axis": measurements.flent().replace('"x_values": [0.0', '"x_values": ["a"'),
    "ss without times": "\n".join(
        line for line in measurements.ss().splitlines() if "." in line and not line[:3].isdigit()
    ),
    "ss without rtt": measurements.ss().replace("rtt:", "rrt:"),
    "ss short": measurements.ss(10),
    "ss without bytes": measurements.ss().replace("bytes_acked", "bytes_lacked"),
    "dish no unit": measurements.dish().replace("latency_ms", "latency"),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_file_is_an_error_with_a_place_and_a_remedy(tmp_path, name):
    path = put(tmp_path, "given.data", MALFORMED[name])
    with pytest.raises(FitError) as refused:
        bp.fit(path, check=False)
    first, second = str(refused.value).splitlines()[:2]
    assert first.startswith("given.data") or "no file has round trips" in first
    assert second.startswith("  ")
    assert len(MALFORMED) >= 60


@pytest.mark.parametrize("name", measurements.EVERY)
def test_a_cut_or_changed_file_is_an_error_or_has_the_same_units(tmp_path, name):
    """Cut at 20 places, and with random changes of a byte: no other exception, and no number of another size."""
    whole = measurements.EVERY[name]()
    whole = whole if isinstance(whole, bytes) else whole.encode()
    draw = random.Random(name)
    variants = [whole[: len(whole) * part // 20] for part in range(20)]
    for _ in range(60 if os.environ.get("BENTPIPE_ALL") else 20):
        place = draw.randrange(len(whole))
        variants.append(whole[:place] + bytes([draw.randrange(256)]) + whole[place + 1 :])
    for variant in variants:
        try:
            found = read(put(tmp_path, name, variant))
        except FitError:
            continue
        for probes in found.probes:
            assert 0.03 < np.nanmedian(probes.rtt_s) < 0.07
        for load in found.loads:
            assert 5e6 < np.median(load.rate_bps) < 20e6


def test_addresses_appear_in_no_output(tmp_path):
    paths = [put(tmp_path, "ping.txt", measurements.ping()), put(tmp_path, "ss.txt", measurements.ss())]
    found = bp.fit(paths, check=False)
    for address in ("192.0.2.1", "198.51.100.9"):
        assert address not in json.dumps(found.to_dict())


OTHERS = [
    *("{}", "[]", "3", '{"start": 1, "intervals": 2, "end": 3}'),
    *('{"start": {}, "error": 5}', '{"round_trips": 1}', "a,b\n1,2\n"),
]


@pytest.mark.parametrize("kind", readers.KINDS)
@pytest.mark.parametrize("text", OTHERS)
def test_a_file_of_another_kind_than_asked_for_is_refused(tmp_path, kind, text):
    with pytest.raises(FitError, match=r"^other(:\d+)?: "):
        bp.fit(put(tmp_path, "other", text), kind=kind)


def test_the_parts_that_a_file_lacks_are_named(tmp_path):
    with pytest.raises(FitError, match="other: has no intervals and no end\n  expected an object with start, "):
        bp.fit(put(tmp_path, "other", '{"start": {}}'), kind="iperf3")


def test_headers_of_version_6_count(tmp_path):
    content = json.loads(measurements.iperf3())
    content["start"]["connected"] = [{"local_host": "2001:db8::1", "local_port": 5}]
    (load,) = read(put(tmp_path, "iperf3.json", json.dumps(content))).loads
    assert load.headers == 72
    (load,) = read(put(tmp_path, "ss.txt", measurements.ss().replace("192.0.2.1:", "[2001:db8::1]:"))).loads
    assert load.headers == 72
    assert read(put(tmp_path, "ss.txt", measurements.ss())).loads[0].headers == 52


def test_the_numbers_of_waiting_bytes_do_not_tell_connections_of_ss_apart(tmp_path):
    """Real `ss -tin` beside iperf3: a control connection, and Send-Q that changes in each state."""
    lines = []
    for number in range(60):
        lines += [
            f"{1734546419 + 0.5 * number:.3f}",
            "State Recv-Q Send-Q Local Address:Port Peer Address:Port Process",
        ]
        lines += ["ESTAB 0      0      [::ffff:10.9.0.1]:5201 [::ffff:10.9.0.2]:46156"]
        lines += ["\t bbr wscale:10,10 rto:276 rtt:73.181/19.192 ato:40 mss:1448 cwnd:14 bytes_acked:4"]
        lines += [f"ESTAB 0      {640016 + 1448 * number} [::ffff:10.9.0.1]:5201 [::ffff:10.9.0.2]:46170"]
        lines += [
            f"\t bbr wscale:10,10 rto:328 rtt:125.7/5.1 ato:40 mss:1448 cwnd:94 bytes_acked:{500_000 * number + 1}"
        ]
    (load,) = read(put(tmp_path, "ss.txt", "\n".join(lines))).loads
    assert len(load.bytes) == 59
    assert load.rate_bps == pytest.approx(np.full(59, 8e6))
    assert load.cc == "bbr"
    # Addresses of IPv4 within those of IPv6 have its headers.
    assert load.headers == 52
