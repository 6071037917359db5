"""Compares what a connection remembers with Linux: two episodes one after the other, then a probing phase.

    python -m validation.memory                  # all pairs, core and kernel: some minutes, needs private namespaces
    python -m validation.memory late-many idle   # pairs of these episodes, or of these kinds
    python -m validation.memory --core           # without the kernel: the pairs whose script has changed
    python -m validation.memory --show loss-one late-many         # the script of a pair
    python -m validation.memory --set 'recovery = { kind = "rack", undo_shows_reordering = false }'
    python -m tools.docs memory                  # after that: the page

An episode is a loss, a late packet, a timeout, an idle time, a mark, a new route or a closed window. `Peer` is a
receiver behind a path. It writes a conformance script: the segments of the core are the expectations, and the ACKs of
the receiver are the input. The kernel then runs the same script. `--set` changes a key for the core only, which shows
that the pairs find the fault of a host without it.
"""

from __future__ import annotations

import argparse
import hashlib
import heapq
import itertools
import os
import re
import sys
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from bentpipe import _core
from validation import kept

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

SMSS = 1024
"""Bytes of a segment: a multiple of the unit of windows."""
KEYS = f"""like = "linux-6"
cc = "reno"
smss = "{SMSS} B"
"""
ROUND_TRIP_MS = 100
SPACING_MS = 1
"""Time between two segments at the receiver: the link carries a segment per millisecond."""
DELAYED_ACK_MS = 40
PAUSE_MS = 20
"""Time between the last ACK of an episode and the next one."""
BLOCKS = 3
"""SACK blocks that fit beside timestamps."""
LONGEST_MS = 60_000
ROUNDS = 3
"""Rounds on the kernel for pairs that differ: a busy processor is late."""


@dataclass(frozen=True)
class Episode:
    """Something that happens to a transfer of some segments. Segments and their copies count from 0.

    Attributes
    ----------
    kind : str
        One of the seven kinds.
    about : str
        The event, for the page.
    segments : int
        Segments that the application writes.
    lost : frozenset of (int, int)
        Copies of segments that the path loses.
    late : dict
        Additional delay of copies of segments, in milliseconds. Other segments overtake them.
    marked : frozenset of int
        Segments whose first copy is marked (CE).
    stall_ms : int
        Time from the beginning until segments arrive again, in milliseconds.
    pause_ms : int
        Time without data before the transfer, in milliseconds.
    round_trip_ms : int or None
        The round trip from here on, in milliseconds.
    moved : int
        First segment on the new route.
    closed_ms : int
        Time for which the receiver's window is closed before the transfer, in milliseconds.
    after : int
        Segments of another transfer at the end.
    """

    kind: str
    about: str = ""
    segments: int = 12
    lost: frozenset[tuple[int, int]] = frozenset()
    late: dict[tuple[int, int], int] = field(default_factory=dict)
    marked: frozenset[int] = frozenset()
    stall_ms: int = 0
    pause_ms: int = 0
    round_trip_ms: int | None = None
    moved: int = 0
    closed_ms: int = 0
    after: int = 0


def _lost(*copies: tuple[int, int]) -> frozenset[tuple[int, int]]:
    return frozenset(copies)


EPISODES = {
    "loss-one": Episode("loss", "the third of 12 segments is lost", lost=_lost((2, 0))),
    "loss-several": Episode(
        "loss", "the third, fourth and seventh segment are lost", lost=_lost((2, 0), (3, 0), (6, 0))
    ),
    "loss-again": Episode("loss", "the third segment is lost, and its retransmission", lost=_lost((2, 0), (2, 1))),
    "loss-tail": Episode("loss", "the last segment is lost", lost=_lost((11, 0))),
    "late-few": Episode("late", "two segments overtake the third", late={(2, 0): 2}),
    "late-many": Episode("late", "eight segments overtake the third", late={(2, 0): 8}),
    "timeout-real": Episode(
        "timeout",
        "four segments and the tail loss probe are lost",
        segments=4,
        lost=_lost((0, 0), (1, 0), (2, 0), (3, 0), (3, 1)),
    ),
    "timeout-spurious": Episode("timeout", "nothing arrives for half a second", stall_ms=500),
    "idle-short": Episode("idle", "0.25 s without data before the transfer", pause_ms=250),
    "idle-long": Episode("idle", "1.5 s without data before the transfer", pause_ms=1500),
    # Linux reduces in proportion until an ACK of later data: the transfer after it ends the reduction.
    "mark-one": Episode(
        "mark", "the third segment is marked (CE); a short transfer follows", marked=frozenset({2}), after=2
    ),
    "route-longer": Episode("route", "the round trip becomes 160 ms", round_trip_ms=160),
    "route-shorter": Episode("route", "the round trip becomes 60 ms", round_trip_ms=60),
    "route-overtaking": Episode(
        "route",
        "from the seventh segment, the round trip is 60 ms: six segments overtake six others",
        round_trip_ms=60,
        moved=6,
    ),
    "window-short": Episode("window", "the receiver's window is closed for 0.15 s, less than a timeout", closed_ms=150),
    "window-long": Episode("window", "the receiver's window is closed for 1.2 s, with probes", closed_ms=1200),
}
"""Episodes by name. The first word is the kind."""

KINDS = tuple(dict.fromkeys(each.kind for each in EPISODES.values()))
PROBES = (Episode("late", late={(3, 0): 14}), Episode("loss", segments=24, lost=_lost((23, 0))))
"""Shows what was left behind: the window of reordering, the window, and the timers of the tail."""
UNEXPECTED = re.compile(r"unexpected at ([\d.]+) (\w+): (.*)$")
SECONDS = {"s": Decimal(1), "ms": Decimal("1e-3"), "us": Decimal("1e-6"), "ns": Decimal("1e-9"), "ps": Decimal("1e-12")}


@dataclass(frozen=True)
class Segment:
    """A segment that the core sent: its range, its timestamp, its flags."""

    start: int
    end: int
    stamp: int
    words: frozenset[str]


class Peer:
    """A receiver behind a path, which writes the script of a connection that sends to it."""

    def __init__(self, title: str, keys: str, is_marked: bool) -> None:
        self.lines = [f"= {title}", *(keys + ('ecn = "classic"\n' if is_marked else "")).splitlines()]
        self.is_marked = is_marked
        # The kernel's timeout after a stall is up to 6 % longer: then only its probes and retransmissions are compared.
        self.has_stalled = False
        self.now = self.written = Decimal(0)
        self.events: list[tuple[Decimal, int, Callable[[], None]]] = []
        self.count = itertools.count()
        self.round_trip_ms = ROUND_TRIP_MS
        self.episode, self.began, self.base = Episode(""), self.now, 0
        self.copies: dict[int, int] = {}
        self.offered = self.acked = 0
        self.data_free = self.ack_free = Decimal(0)
        # The receiver.
        self.next, self.blocks, self.recent, self.last_ack = 0, list[tuple[int, int]](), 0, 0
        self.pending, self.echoes, self.window = 0, False, ""
        self.open()

    def open(self) -> None:
        """Lets the connection open."""
        self.line("> syn noack")
        self.now += Decimal(ROUND_TRIP_MS) / 1000
        self.line(f"< syn ack 0{' ece' if self.is_marked else ''} ts 1/0")
        self.take()

    def line(self, text: str) -> None:
        """Adds a line at the present time."""
        self.lines.append(f"+{(self.now - self.written).normalize():f} {text}")
        self.written = self.now

    def at(self, when: Decimal, do: Callable[[], None]) -> None:
        """Does something later."""
        heapq.heappush(self.events, (when, next(self.count), do))

    def ask(self, line: str) -> str:
        """First difference between the core and the script with this line. An empty text means no difference."""
        text = "\n".join([*self.lines, line, ""])
        ((_, difference),) = _core.drill((text, None), False)
        return difference[1] if difference else ""

    def take(self, until: Decimal | None = None) -> bool:
        """Adds the segments that the core sends until a time (default: now). Whether there was one."""
        until = self.now if until is None else until
        difference = self.ask(f"+{until - self.written:f} nothing")
        if not difference:
            return False
        found = UNEXPECTED.search(difference)
        if not found:
            raise RuntimeError(f"{self.lines[0]}: {difference}")
        when, unit, text = found.groups()
        self.now = Decimal(when) * SECONDS[unit]
        words = text.split()
        place = next(n for n, word in enumerate(words) if ":" in word)
        start, end = map(int, words[place].split(":"))
        stamp = int(words[words.index("ts") + 1].split("/")[0]) if "ts" in words else 0
        segment = Segment(start, end, stamp, frozenset(words))
        flags = f" {'cwr' if 'cwr' in words else 'nocwr'}" if self.is_marked else ""
        self.line(f"> {start}:{end}{flags}")
        self.carry(segment)
        return True

    def settle(self) -> None:
        """Lets time pass until everything is acknowledged."""
        limit = self.now + Decimal(LONGEST_MS) / 1000
        while self.events or self.acked < self.offered:
            due = self.events[0][0] if self.events else limit
            if self.take(due):
                continue
            if not self.events or self.now > limit:
                raise RuntimeError(f"{self.lines[0]}: nothing is sent, {self.offered - self.acked} B are missing")
            self.now = due
            heapq.heappop(self.events)[2]()
            while self.take():
                pass

    def write(self, segments: int) -> None:
        """The application writes."""
        self.line(f"write {segments * SMSS}")
        self.offered += segments * SMSS
        while self.take():
            pass

    def carry(self, segment: Segment) -> None:
        """The path carries a segment, or not."""
        half = Decimal(self.round_trip_ms) / 2000
        number, episode = (segment.start - self.base) // SMSS, self.episode
        copy = self.copies.get(segment.start, 0)
        self.copies[segment.start] = copy + 1
        if segment.start == segment.end:
            # A window probe, or the last segment of the handshake.
            if self.window:
                self.at(self.now + half, self.answer)
            return
        if number == episode.moved and episode.round_trip_ms is not None and copy == 0:
            self.round_trip_ms = episode.round_trip_ms
            half = Decimal(self.round_trip_ms) / 2000
            self.data_free = self.now
        if (number, copy) in episode.lost:
            return
        arrives = max(self.now + half, self.data_free, self.began + Decimal(episode.stall_ms) / 1000)
        self.data_free = arrives + Decimal(SPACING_MS) / 1000
        arrives += Decimal(episode.late.get((number, copy), 0)) / 1000
        is_ce = copy == 0 and number in episode.marked and "ect0" in segment.words
        self.at(arrives, lambda: self.receive(segment, is_ce))

    def receive(self, segment: Segment, is_ce: bool) -> None:
        """A segment arrives at the receiver."""
        start, end = segment.start, segment.end
        if "cwr" in segment.words:
            self.echoes = False
        self.echoes |= is_ce
        is_known = end <= self.next or any(left <= start and end <= right for left, right in self.blocks)
        if start <= self.last_ack:
            self.recent = max(self.recent, segment.stamp)
        had_holes = bool(self.blocks)
        if not is_known:
            joined = [block for block in self.blocks if block[0] <= end and start <= block[1]]
            rest = [block for block in self.blocks if block not in joined]
            whole = min([start, *(b[0] for b in joined)]), max([end, *(b[1] for b in joined)])
            self.blocks = [whole, *rest]
            if whole[0] <= self.next:
                self.next, self.blocks = whole[1], rest
        self.pending += 1
        if is_known or had_holes or self.blocks or is_ce or self.pending >= 2:
            self.answer((start, end) if is_known else None)
        else:
            expected = self.next
            later = self.now + Decimal(DELAYED_ACK_MS) / 1000
            self.at(later, lambda: self.answer() if self.pending and self.next == expected else None)

    def answer(self, duplicate: tuple[int, int] | None = None) -> None:
        """The receiver sends an ACK, which arrives half a round trip later."""
        self.pending, self.last_ack = 0, self.next
        blocks = [*([duplicate] if duplicate else []), *self.blocks][:BLOCKS]
        sack = f" sack {','.join(f'{left}:{right}' for left, right in blocks)}" if blocks else ""
        text = f"< ack {self.next}{sack}{self.window}{' ece' if self.echoes else ''}"
        ack, echo = self.next, self.recent
        arrives = max(self.now + Decimal(self.round_trip_ms) / 2000, self.ack_free)
        self.ack_free = arrives
        self.at(arrives, lambda: self.arrive(text, ack, echo))

    def arrive(self, text: str, ack: int, echo: int) -> None:
        """An ACK arrives at the sender."""
        self.acked = max(self.acked, ack)
        self.line(f"{text} ts {int(self.now * 1000)}/{echo}")

    def play(self, episode: Episode) -> None:
        """An episode, from its first segment to its last ACK, and the facts after it."""
        self.now += Decimal(PAUSE_MS + episode.pause_ms) / 1000
        self.episode, self.base, self.began = Episode(""), self.offered, self.now
        if episode.closed_ms:
            self.window = " win 0"
            self.write(2)
            self.settle()
            self.at(self.now + Decimal(episode.closed_ms) / 1000, self.reopen)
            self.base = self.offered
        self.episode = episode
        self.write(episode.segments)
        self.settle()
        self.episode = Episode("")
        if episode.after:
            self.write(episode.after)
            self.settle()
        self.has_stalled |= episode.stall_ms > 0
        self.line(f"? {self.facts('cwnd', 'ssthresh', *([] if self.has_stalled else ['rto']))}")

    def reopen(self) -> None:
        """The receiver's window opens, and the sender learns of it."""
        self.window = ""
        self.answer()

    def facts(self, *names: str) -> str:
        """Facts of the core, in the words of a check."""
        return " ".join(f"{name} {self.ask(f'+0 ? {name} 1').rpartition(' ')[2]}" for name in names)


def short(lines: Iterable[str]) -> list[str]:
    """Joins expectations of consecutive segments at one instant."""
    found: list[tuple[str, int, int, str, int]] = []
    texts: list[str | None] = []
    for line in lines:
        seen = re.fullmatch(r"(\+\S+) > (\d+):(\d+)(.*)", line)
        if not seen:
            texts.append(line)
            continue
        start, end = int(seen[2]), int(seen[3])
        if texts and texts[-1] is None and seen[1] == "+0":
            time, first, last, rest, count = found[-1]
            if last == start and rest == seen[4] and end - start == (last - first) // count:
                found[-1] = time, first, end, rest, count + 1
                continue
        found.append((seen[1], start, end, seen[4], 1))
        texts.append(None)
    runs = iter(found)

    def text(line: str | None) -> str:
        if line is not None:
            return line
        time, first, last, rest, count = next(runs)
        return f"{time} > {first}:{last}{rest}{f' x{count}' if count > 1 else ''}"

    return [text(line) for line in texts]


def script(first: str, second: str, change: str = "") -> str:
    """The script of a pair, with the behaviour of the core. `change` is a key for the core only."""
    pair = EPISODES[first], EPISODES[second]
    title = f"RFC 9293 §3.4  Linux: {first}, then {second}"
    peer = Peer(title, KEYS + (change + "\n" if change else ""), any(each.kind == "mark" for each in pair))
    for episode in (Episode("start", segments=16), *pair, *PROBES):
        peer.play(episode)
    return "\n".join(line for line in short(peer.lines) if not change or line != change) + "\n"


CAUSES = {
    "a": "Congestion avoidance counts ACKs until they fill a window. An undo restores the former count, and "
    "Linux starts it from zero. The next segment of growth comes up to a round trip earlier.",
    "b": "Segments of a shorter route overtake six others, so five count as lost. Linux stops to retransmit "
    "them when an ACK shows that the first one was late. bentpipe retransmits all of them.",
    "c": "A probe repaired the tail. The ACK of later data shows this, and reduces the window. Linux reduces "
    "it again for a loss in that later data. bentpipe counts both as one window of data. If such a probe "
    "still waits for its ACK, Linux keeps the timer of the oldest segment. bentpipe restarts it (RFC 8985"
    " §7.3).",
    "d": "The timer of RACK finds the loss. Linux then counts one segment as delivered, and sends one segment more.",
    "e": "A mark reduces the window in proportion in Linux. bentpipe reduces it immediately.",
    "f": "After a stall of half a second, the timeouts differ by up to 6 %. Idle times that shrink the "
    "window differ with them.",
    "g": "Not explained. After a timeout in recovery and an undone recovery, Linux sends a segment one ACK earlier.",
}
"""Why pairs differ, by letter."""


def cause(pair: str, line: str, what: str) -> str:
    """The letter of the cause of a difference. Empty if it is unknown."""
    first, second = pair.split(", ")
    is_missing = "nothing was sent" in what
    rules = {
        "b": "route-overtaking" in pair and is_missing,
        "a": is_missing and re.search(r"> \d+:\d+( nocwr)? x3$", line),
        "c": first == "loss-tail",
        "e": first in ("timeout-real", "loss-again") and second == "mark-one",
        "d": (first == "timeout-real" and EPISODES[second].kind == "loss") or pair == "late-many, loss-again",
        "f": first == "timeout-spurious",
        "g": pair == "loss-again, late-many",
    }
    return next((letter for letter, applies in rules.items() if applies), "")


def digest(text: str) -> str:
    """A short name of a script, which changes with each segment and each fact of the core."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def facts(text: str) -> list[str]:
    """The facts after each episode, in the words of the script."""
    return [line.partition(" ? ")[2] for line in text.splitlines() if " ? " in line]


def on_kernel(texts: Iterable[str]) -> list[tuple[str, int | None, str]]:
    """Verdicts of scripts of one case each on the kernel: a word, the line that differs, and how."""
    from bentpipe.emulation.emulate import make_report

    found = make_report({"parent": os.getpid(), "scripts": [(text, None) for text in texts]})["drilled"]
    return [(verdict, line, what) for ((_, verdict, line, what, _),) in found]


def compare(scripts: dict[str, str], rounds: int = ROUNDS) -> dict[str, dict[str, Any]]:
    """Runs scripts on the kernel. Each pair has a verdict and, if it differs, the line and the difference."""
    found: dict[str, dict[str, Any]] = {}
    for _ in range(rounds):
        left = [pair for pair in scripts if found.get(pair, {}).get("verdict") != "holds"]
        if not left:
            break
        for pair, (verdict, line, what) in zip(left, on_kernel(scripts[pair] for pair in left), strict=True):
            found[pair] = {"verdict": verdict}
            if line is not None:
                text = scripts[pair].splitlines()[line - 1]
                found[pair] |= {"cause": cause(pair, text, what), "line": text, "what": what}
    return {pair: found[pair] for pair in scripts}


def chosen(names: Iterable[str]) -> list[tuple[str, str]]:
    """Pairs whose episodes or kinds are named. Without names, all pairs."""
    wanted = set(names)
    pairs = [(first, second) for first in EPISODES for second in EPISODES]
    return [pair for pair in pairs if not wanted or all({name, EPISODES[name].kind} & wanted for name in pair)]


def main(arguments: Iterable[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m validation.memory", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join((*KINDS, *EPISODES))}")
    parser.add_argument("--core", action="store_true", help="no kernel: compare with the kept scripts")
    parser.add_argument("--set", default="", metavar="KEY=VALUE", help="change a key for the core only; keep nothing")
    parser.add_argument("--show", nargs=2, metavar="NAME", help="print the script of a pair")
    options = parser.parse_args(arguments if arguments is None else list(arguments))
    if unknown := {*options.names, *(options.show or ())} - {*KINDS, *EPISODES}:
        parser.error(f"not an episode: {', '.join(sorted(unknown))}")
    if options.show:
        first, second = options.show
        print(script(first, second, options.set), end="")
        return 0
    scripts = {", ".join(pair): script(pair[0], pair[1], options.set) for pair in chosen(options.names)}
    stored = kept.load("memory")
    if options.core:
        changed = [pair for pair, text in scripts.items() if digest(text) != stored["pairs"][pair]["digest"]]
        for pair in changed:
            print(f"{pair}: not the script that the kernel ran: python -m validation.memory")
        return int(bool(changed))
    found = compare(scripts)
    for pair, result in found.items():
        if result["verdict"] != "holds":
            print(f"{pair}: {result['verdict']} at {result.get('line', '')}: {result.get('what', '')}")
    print(f"{sum(result['verdict'] == 'holds' for result in found.values())} of {len(found)} pairs hold")
    if not options.set:
        pairs = stored.get("pairs", {})
        for pair, result in found.items():
            pairs[pair] = {"digest": digest(scripts[pair]), "facts": facts(scripts[pair]), **result}
        order = {", ".join(pair): None for pair in itertools.product(EPISODES, repeat=2)}
        kept.save(
            "memory",
            {
                "kernel": os.uname().release.partition("-")[0],
                "pairs": {pair: pairs[pair] for pair in order if pair in pairs},
            },
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
