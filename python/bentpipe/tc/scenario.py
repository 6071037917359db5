"""Makes a scenario from lines of `tc`: a link whose directions have the delays, losses and rates of devices."""

from __future__ import annotations

import json
import math
import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bentpipe import files
from bentpipe.errors import BentpipeError
from bentpipe.scenario.scenario import loads
from bentpipe.tc.amounts import write_rate, write_share, write_size, write_time
from bentpipe.tc.chance import compute_correlated, compute_quantiles, make_bursts
from bentpipe.tc.qdiscs import Bucket, Netem, Waiting
from bentpipe.tc.tree import Note, Tree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bentpipe.scenario.scenario import Scenario
    from bentpipe.tc.tree import Device, Placed

DEVICE_RATE_BPS = 1e9
"""Rate of a device whose lines set none: Gigabit Ethernet."""
ETHERNET = 14
"""Bytes of the Ethernet header, which rates of Linux count."""
FULL = 1514
"""Bytes of a full packet with that header."""
LEAST_LOSS = 1e-7
"""Share of lost packets below which none is lost here."""
_DEVICE_QUEUE = "1000 packets"
"""Queue of an Ethernet device."""
_HOLD_S = 1e-3
"""Time for which a varying delay holds, where no rate gives a time."""


@dataclass
class Direction:
    """Keys of one direction of the link, and the faults for a middlebox in front of it."""

    keys: dict[str, Any] = field(default_factory=dict)
    impair: dict[str, Any] = field(default_factory=dict)
    origin: list[str] = field(default_factory=list)
    """Lines of `tc` behind this direction, for a comment."""


@dataclass(frozen=True)
class Translation:
    """A scenario made of lines of `tc`.

    Attributes
    ----------
    text : str
        The scenario, with comments.
    notes : list of str
        Parts of the lines that the scenario leaves out or changes.
    """

    text: str
    notes: list[str]

    @property
    def scenario(self) -> Scenario:
        """The scenario of the text."""
        return loads(self.text)


def from_tc(source: str) -> Translation:
    """Make a scenario from lines of `tc`, or from a script with such lines. The script is read, never run.

    Parameters
    ----------
    source : str
        Lines of `tc`; or the name of a script, with its arguments as on a command line. `NAME=VALUE` among them sets a
        variable.

    Raises
    ------
    BentpipeError
        The script cannot be read, `tc` would refuse a line, or a value is known to the shell only.
    """
    text, arguments, values, name = _open(source)
    tree = Tree.read(text, arguments, values)
    notes = tree.notes
    devices = [device for device in tree.devices.values() if device.qdiscs]
    if not devices:
        raise BentpipeError(
            "no line of tc adds a discipline\n  expected add, replace or change: tc qdisc add dev eth0 root netem ..."
        )
    directions = _choose_directions(devices, notes)
    made = {way: _make_direction(device.chain(notes), notes) for way, device in directions.items()}
    netems = [placed.what for device in devices for placed in device.qdiscs.values()]
    seed = next((each.seed for each in netems if isinstance(each, Netem) and each.seed is not None), None)
    notes = list(dict.fromkeys(notes))
    notes.sort(key=lambda note: note.line)
    text = _write(name, directions, made, seed, [str(note) for note in notes])
    return Translation(text, [str(note) for note in notes])


def _open(source: str) -> tuple[str, list[str], dict[str, str], str]:
    """Return the text, its arguments and variables, and a name for it."""
    try:
        words = shlex.split(source)
    except ValueError:
        words = []
    if words and not Path(words[0]).is_file() and len(words) == 1 and not any(sign in source for sign in " \n"):
        raise BentpipeError(f"no file is named {source!r}\n  expected a script, or a line such as: tc qdisc add ...")
    if not words or not Path(words[0]).is_file():
        return source, [], {}, "lines of tc"
    path = Path(words[0])
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = files.reason(error) if isinstance(error, OSError) else "it is not text"
        raise BentpipeError(f"{path} cannot be read: {reason}\n  expected a shell script with lines of tc") from error
    values = dict(word.split("=", 1) for word in words[1:] if word.partition("=")[0].isidentifier() and "=" in word)
    return text, [word for word in words[1:] if word.partition("=")[0] not in values], values, str(path)


def _choose_directions(devices: Sequence[Device], notes: list[Note]) -> dict[str, Device]:
    """Choose the device of each direction: `both` for the loopback device, else `forward` and `reverse`."""
    loopback = next((device for device in devices if device.name.split(" ", maxsplit=1)[0] == "lo"), None)
    leaving = [device for device in devices if not device.source and device is not loopback]
    arriving = [device for device in devices if device.source]
    found: dict[str, Device] = {}
    if loopback is not None and not leaving and not arriving:
        return {"both": loopback}
    if arriving:
        found["reverse"] = arriving[0]
    if leaving:
        found["forward"] = leaving[0]
    if len(leaving) > 1 and "reverse" not in found:
        found["reverse"] = leaving[1]
        notes.append(Note(0, f"{leaving[1].name} is read as the way back of {leaving[0].name}"))
    for device in devices:
        if device not in found.values():
            notes.append(Note(0, f"{device.name} is a third device: left out"))
    return found


def _make_direction(chain: Sequence[Placed], notes: list[Note]) -> Direction:
    made = Direction()
    netems = [(placed.line, placed.what) for placed in chain if isinstance(placed.what, Netem)]
    buckets = [(placed.line, placed.what) for placed in chain if isinstance(placed.what, Bucket)]
    for placed in chain:
        for unread in placed.what.unread:
            notes.append(Note(placed.line, unread if "read as" in unread else f"{unread} has no equivalent: left out"))
    # Of several rates in a row, the lowest decides.
    buckets.sort(key=lambda each: each[1].rate_bps)
    rates = [netem.rate_bps for _, netem in netems if netem.rate_bps]
    rate_bps = min([*rates, DEVICE_RATE_BPS])
    made.keys["rate"] = write_rate(rate_bps)
    made.keys["delay"] = "0 s"
    line, bucket = buckets[0] if buckets else (0, None)
    if bucket is not None and bucket.rate_bps < rate_bps:
        made.keys["shaper"] = {"rate": write_rate(bucket.rate_bps), "burst": write_size(max(bucket.burst, FULL))}
        if bucket.burst < FULL:
            notes.append(Note(line, f"burst {bucket.burst:.10g} B is below a full packet: 1514 B here"))
        rate_bps = bucket.rate_bps
    for line, netem in netems:
        _add_netem(line, netem, made, rate_bps, notes)
    made.keys["queue"] = _choose_queue(chain, rate_bps, notes)
    made.origin = [f"line {placed.line}" for placed in chain]
    return made


def _choose_queue(chain: Sequence[Placed], rate_bps: float, notes: list[Note]) -> Any:
    """Return the queue of the innermost discipline, which has the waiting packets."""
    if not chain:
        return _DEVICE_QUEUE
    placed, what = chain[-1], chain[-1].what
    if isinstance(what, Waiting):
        return what.queue
    if isinstance(what, Bucket):
        return write_size(max(what.limit, FULL)) if what.limit is not None else _DEVICE_QUEUE
    assert isinstance(what, Netem), "all others have been returned"
    # Packets in their delay are in the queue of Linux, and under way in the scenario.
    under_way = math.ceil(rate_bps * what.delay_s / 8 / FULL)
    has_rate = rate_bps < DEVICE_RATE_BPS
    if under_way >= what.limit:
        most = write_rate(float(f"{what.limit * FULL * 8 / what.delay_s:.3g}"))
        notes.append(
            Note(
                placed.line,
                f"limit {what.limit}: packets in their delay count in Linux, which drops full packets above {most}."
                " The scenario does not",
            )
        )
        return f"{what.limit} packets"
    if has_rate and under_way:
        text = (
            f"limit {what.limit}: in Linux it counts packets in their delay, {under_way} full ones at this rate. The"
            " others are the queue"
        )
        notes.append(Note(placed.line, text))
    return f"{what.limit - under_way} packets"


def _add_netem(line: int, netem: Netem, made: Direction, rate_bps: float, notes: list[Note]) -> None:
    if netem.rate_bps:
        overhead = ETHERNET + netem.overhead
        framing: dict[str, Any] = {"kind": "frames", "overhead": write_size(max(overhead, 0))}
        if overhead < 0:
            notes.append(Note(line, f"a packet overhead of {netem.overhead} B is below 0: read as -14 B"))
        if netem.cell:
            framing |= {"payload": write_size(netem.cell), "cell": write_size(netem.cell + netem.cell_overhead)}
        made.keys["framing"] = framing
    _add_losses(line, netem, made, notes)
    share, correlation = netem.duplicate
    if share:
        made.impair["duplicate"] = write_share(_thin_out(line, "duplicate", share, correlation, notes))
    _add_delay(line, netem, made, rate_bps, notes)


def _thin_out(line: int, name: str, share: float, correlation: float, notes: list[Note]) -> float:
    """Return the share of a correlated fault, which has no bursts in a scenario."""
    found, _ = compute_correlated(share, correlation)
    if correlation:
        notes.append(
            Note(
                line,
                f"{name} {write_share(share)} with correlation {write_share(correlation)}: {_rare(found)}. Here"
                " packets are independent",
            )
        )
    return found


def _rare(share: float) -> str:
    """Describe the share that a correlation leaves."""
    made = write_share(share) if share else "practically none"
    return f"correlated numbers of Linux are rarely small, and make it {made}"


def _add_losses(line: int, netem: Netem, made: Direction, notes: list[Note]) -> None:
    bursts = None
    if netem.loss:
        kind, numbers = netem.loss
        bursts = make_bursts(kind, numbers)
        if kind == "random" and numbers[1]:
            found = bursts.share if bursts and bursts.share >= LEAST_LOSS else 0.0
            notes.append(
                Note(
                    line,
                    f"loss {write_share(numbers[0])} with correlation {write_share(numbers[1])}: {_rare(found)}. The"
                    " scenario has the same. For bursts of a known length use loss gemodel",
                )
            )
        if kind == "state" and (numbers[2] or numbers[4]):
            notes.append(
                Note(
                    line,
                    "loss state with p32 or p14: share of lost packets and mean burst are the same. The order in a"
                    " burst is random",
                )
            )
    share, correlation = netem.corrupt
    if share:
        share = _thin_out(line, "corrupt", share, correlation, notes)
    if bursts is None or bursts.share < LEAST_LOSS:
        if share:
            made.keys["error"] = {"kind": "packet", "rate": write_share(share), "effect": "corrupt"}
        return
    if share:
        notes.append(Note(line, "corrupt beside loss: corrupted packets count as lost here"))
    good, bad = (1 - (1 - rate) * (1 - share) for rate in (bursts.rate_good, bursts.rate_bad))
    if good == bad:
        made.keys["error"] = {"kind": "packet", "rate": write_share(good), "effect": "lose"}
        return
    made.keys["error"] = {
        "kind": "gilbert-elliott",
        "unit": "packet",
        "mean_good": f"{round(bursts.mean_good, 6)} packets",
        "mean_bad": f"{round(bursts.mean_bad, 6)} packets",
        "rate_good": write_share(good),
        "rate_bad": write_share(bad),
        "effect": "lose",
    }


def _add_delay(line: int, netem: Netem, made: Direction, rate_bps: float, notes: list[Note]) -> None:
    """Write the delay: as a delay of the link, its variation, and the packets that leave early."""
    delay_s, jitter_s = netem.delay_s, netem.jitter_s
    if jitter_s and netem.delay_correlation:
        # The numbers are means of several, which vary less.
        factor = math.sqrt((1 - netem.delay_correlation) / (1 + netem.delay_correlation))
        jitter_s *= factor
        notes.append(
            Note(
                line,
                f"delay with correlation {write_share(netem.delay_correlation)}: correlated numbers of Linux vary"
                f" {factor:.2f} times as much, and so does the scenario. Here packets are independent",
            )
        )
    early = _find_early(line, netem, notes)
    is_ordered = netem.rate_bps is not None or netem.distribution != "uniform"
    if jitter_s and is_ordered:
        _add_jitter(netem, made, delay_s, jitter_s, rate_bps)
        if netem.rate_bps is None:
            notes.append(
                Note(
                    line,
                    f"distribution {netem.distribution}: a delay holds for 1 ms here, and packets keep their order. In"
                    " Linux each packet has its own delay, and packets overtake",
                )
            )
        if early:
            notes.append(Note(line, "reorder beside a varying delay: left out, packets keep their order here"))
        return
    if not jitter_s and not early:
        made.keys["delay"] = write_time(delay_s)
        return
    # Each packet has its own delay, and packets overtake: a middlebox holds them.
    base_s = 0.0 if early else max(0.0, delay_s - jitter_s)
    held = (1 - early) * min(1.0, (delay_s + jitter_s) / (2 * jitter_s) if jitter_s else 1.0)
    made.keys["delay"] = write_time(base_s)
    made.impair["reorder"] = write_share(held)
    least_s, most_s = max(0.0, delay_s - jitter_s) - base_s, delay_s + jitter_s - base_s
    made.impair["hold"] = (
        write_time(delay_s) if not jitter_s else {"uniform": [write_time(least_s), write_time(most_s)]}
    )


def _find_early(line: int, netem: Netem, notes: list[Note]) -> float:
    """Return the share of the packets that leave without the delay."""
    share, correlation = netem.reorder
    if not share:
        return 0.0
    share = _thin_out(line, "reorder", share, correlation, notes)
    if netem.gap > 1:
        notes.append(Note(line, f"gap {netem.gap}: as many packets leave early here, at random places"))
        return 1 / (netem.gap - 1 + 1 / share)
    return share


def _add_jitter(netem: Netem, made: Direction, delay_s: float, jitter_s: float, rate_bps: float) -> None:
    every_s = max(1e-6, FULL * 8 / rate_bps) if netem.rate_bps is not None else _HOLD_S
    if netem.distribution == "uniform":
        low_s, high_s = -jitter_s, jitter_s
        points = None
    else:
        quantiles = compute_quantiles(netem.distribution)
        low_s, high_s = quantiles[0][1] * jitter_s, quantiles[-1][1] * jitter_s
        points = [(share, value * jitter_s) for share, value in quantiles]
    base_s = max(0.0, delay_s + low_s)
    shift_s = delay_s - base_s
    distribution: dict[str, Any]
    if points is None:
        distribution = {
            "kind": "uniform",
            "from": write_time(max(0.0, shift_s + low_s)),
            "to": write_time(shift_s + high_s),
        }
    else:
        pairs = [[write_share(share), write_time(round(max(0.0, shift_s + value), 9))] for share, value in points]
        distribution = {"kind": "quantiles", "points": pairs}
    made.keys["delay"] = write_time(round(base_s, 9))
    made.keys["jitter"] = {"delay": distribution, "every": write_time(float(f"{every_s:.4g}"))}


def _write(
    name: str, directions: dict[str, Device], made: dict[str, Direction], seed: int | None, notes: Sequence[str]
) -> str:
    """Write the scenario, with its notes as comments."""
    lines = [f"# Made of {name}. The server is the machine of these lines.", "#"]
    for way, device in directions.items():
        target = {"both": "[link.path]", "forward": "[link.path.forward]", "reverse": "[link.path.reverse]"}[way]
        lines.append(f"# {target} is {device.name}{f', arrivals of {device.source}' if device.source else ''}.")
    if notes:
        lines += ["#", "# Parts that are different here, or left out:", *(f"# - {note}" for note in notes)]
    lines += ["", f"title = {json.dumps(f'As set by {name}')}", 'duration = "60 s"']
    lines += [f"seed = {seed}"] if seed is not None else []
    first, last = "server", "client"
    nodes = []
    forward = made.get("forward") or made.get("both") or Direction()
    reverse = made.get("reverse") or made.get("both") or Direction()
    if forward.impair:
        first = "netem"
        nodes.append(("server", "netem", forward.impair | {"direction": "to-receiver"}))
    if reverse.impair:
        last = "netem-back"
        nodes.append(("netem-back", "client", reverse.impair | {"direction": "to-sender"}))
    for source, destination, impair in nodes:
        node = source if source != "server" else destination
        lines += ["", f"[node.{node}]", f"middlebox = [{_toml({'kind': 'impair', **impair})}]"]
        lines += ["", f"[link.{node}-host]", f'from = "{source}"', f'to = "{destination}"']
        lines += ['rate = "100 Gbit/s"', 'delay = "0 s"', 'queue = "unlimited"']
    lines += ["", "[link.path]", f'from = "{first}"', f'to = "{last}"']
    plain = {"rate": write_rate(DEVICE_RATE_BPS), "delay": "0 s", "queue": _DEVICE_QUEUE}
    if "both" in made:
        lines += [f"{key} = {_toml(value)}" for key, value in made["both"].keys.items()]
    else:
        for way in ("forward", "reverse"):
            keys = made[way].keys if way in made else plain
            lines += ["", f"[link.path.{way}]", *(f"{key} = {_toml(value)}" for key, value in keys.items())]
    lines += ["", "[flow.bulk]", 'from = "server"', 'to = "client"', 'app = "greedy"', ""]
    return "\n".join(lines)


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml(each)}" for key, each in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value)
