"""Collects the lines of `tc` in a script: devices, and the disciplines that a packet passes in each device."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from bentpipe.errors import BentpipeError
from bentpipe.tc.qdiscs import Classful, Netem, read_class, read_qdisc
from bentpipe.tc.shell import UNKNOWN, read_commands

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bentpipe.tc.qdiscs import Qdisc
    from bentpipe.tc.shell import Command

_INNER = re.compile(r"\btc\s+(?:-\S+\s+)*(?:qdisc|class|filter)\b")
_REPLACING = ("replace", "change", "chg")


class Note(NamedTuple):
    """A part of the lines that the scenario leaves out or changes.

    Attributes
    ----------
    line : int
        Line of the script, from 1; 0 for the whole script.
    text : str
        The part, and its effect.
    """

    line: int
    text: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.text}" if self.line else self.text


@dataclass
class Placed:
    """A discipline or class with its line."""

    line: int
    parent: str
    what: Qdisc


@dataclass
class Device:
    """A device with its disciplines by handle, and its classes."""

    name: str
    qdiscs: dict[str, Placed] = field(default_factory=dict)
    """Disciplines by their parent: `root`, or a class such as `1:10`."""
    handles: dict[str, str] = field(default_factory=dict)
    """Parent of the discipline of each handle."""
    classes: dict[str, Placed] = field(default_factory=dict)
    flows: list[str] = field(default_factory=list)
    """Classes that filters name, in order."""
    source: str = ""
    """For an `ifb`, the device whose arriving packets it receives."""

    def chain(self, notes: list[Note]) -> list[Placed]:
        """Return the disciplines that a packet passes, the outermost first."""
        found: list[Placed] = []
        place = "root"
        while place in self.qdiscs and len(found) < 20:
            placed = self.qdiscs[place]
            handle = next((handle for handle, at in self.handles.items() if at == place), "")
            if isinstance(placed.what, Classful):
                name = self._choose_class(placed.what, handle, notes)
                found += self._class_chain(name)
                place = name
            else:
                found.append(placed)
                # The only class of other disciplines: its name is that of the handle, with any number.
                place = next((parent for parent in self.qdiscs if handle and parent.startswith(f"{handle}:")), "")
        return found

    def _choose_class(self, of: Classful, handle: str, notes: list[Note]) -> str:
        """Choose the class that packets take: with a netem if there is one, else the default."""
        parents = {placed.parent for placed in self.classes.values()}
        leaves = [name for name in self.classes if name.startswith(f"{handle}:") and name not in parents]
        leaves += [name for name in self.qdiscs if name.startswith(f"{handle}:") and name not in self.classes]
        default = f"{handle}:{of.default:x}" if of.default is not None else ""
        if of.default and default not in leaves and of.kind == "htb":
            notes.append(
                Note(self.qdiscs[self.handles[handle]].line, f"class {default}, the default of htb, is missing")
            )
        netems = [name for name in leaves if isinstance(getattr(self.qdiscs.get(name), "what", None), Netem)]
        wanted = [name for name in self.flows if name in leaves]
        ranked = [name for name in (default, *wanted) if name in netems] + netems
        ranked += [name for name in (*wanted, default) if name in leaves] + leaves
        if not ranked:
            return ""
        chosen = ranked[0]
        for name in dict.fromkeys(leaves):
            if name != chosen:
                line = self.classes[name].line if name in self.classes else self.qdiscs[name].line
                notes.append(Note(line, f"class {name} has other packets than class {chosen}: left out"))
        if chosen in self.flows:
            notes.append(Note(0, f"all packets take class {chosen} here; the filters of {self.name} are not read"))
        return chosen

    def _class_chain(self, name: str) -> list[Placed]:
        """Return the classes from the outermost to this one."""
        found: list[Placed] = []
        while name in self.classes and self.classes[name] not in found:
            found.insert(0, self.classes[name])
            name = self.classes[name].parent
        return found


class Tree:
    """The devices of a script, in order, with notes about what was left out."""

    def __init__(self) -> None:
        self.devices: dict[str, Device] = {}
        self.notes: list[Note] = []

    @classmethod
    def read(cls, text: str, arguments: Sequence[str] = (), values: Mapping[str, str] | None = None) -> Tree:
        """Read a script.

        Raises
        ------
        BentpipeError
            No line of the script is of `tc`, or `tc` would refuse one.
        """
        tree = cls()
        count = 0
        for command in _find_tc(read_commands(text, arguments, values)):
            count += 1
            try:
                tree._do(command)
            except BentpipeError as error:
                shown = " ".join(command.words).replace(UNKNOWN, "")
                raise BentpipeError(f"line {command.line}: {error.text()}\n  in: tc {shown}") from None
            except ValueError:
                raise BentpipeError(
                    f"line {command.line}: tc {' '.join(command.words)} cannot be read\n"
                    "  expected a line that tc accepts"
                ) from None
        if not count:
            raise BentpipeError(
                "no line of tc was found\n  expected tc qdisc add dev DEVICE root netem delay 270ms, or a script"
            )
        return tree

    def _do(self, command: Command) -> None:
        words = [word for word in command.words if not (word.startswith("-") and len(word) == 2)]
        what, verb = words[0], words[1] if len(words) > 1 else "show"
        if verb not in ("add", *_REPLACING):
            # A scenario has no time before these lines and after them.
            return
        names, rest = _read_place(words[2:])
        device = self.devices.setdefault(_clean(names.get("dev", "eth0")), Device(_clean(names.get("dev", "eth0"))))
        if what == "qdisc":
            self._add_qdisc(command.line, verb, device, names, rest)
        elif what == "class":
            if rest[:1] == ["htb"]:
                parent, name = _handle(names.get("parent", "")), _handle(names.get("classid", names.get("handle", "")))
                self._keep(device.classes, name, Placed(command.line, parent, read_class(rest[1:])), verb)
            else:
                self.notes.append(Note(command.line, f"a class of {(rest or ['?'])[0]} has no equivalent"))
        elif what == "filter":
            self._add_filter(command.line, device, rest)

    def _add_qdisc(self, line: int, verb: str, device: Device, names: dict[str, str], rest: list[str]) -> None:
        kind = rest[0] if rest else "pfifo"
        if "ingress" in (kind, names.get("parent")) or kind == "clsact":
            return
        parent = _handle(names.get("parent", "root")) or "root"
        found = read_qdisc(kind, rest[1:])
        if found is None:
            self.notes.append(Note(line, f"{' '.join(rest)} has no equivalent: left out"))
            return
        if self._keep(device.qdiscs, parent, Placed(line, parent, found), verb) and "handle" in names:
            device.handles[_handle(names["handle"]).rstrip(":")] = parent

    def _keep(self, places: dict[str, Placed], name: str, placed: Placed, verb: str) -> bool:
        """Put a discipline or class in its place. As in Linux, `add` does not replace an earlier discipline."""
        before = places.get(name)
        if before is not None and before.what != placed.what:
            used, other = (placed, before) if verb in _REPLACING else (before, placed)
            self.notes.append(Note(other.line, f"line {used.line} sets the same place and is read instead: left out"))
        if before is None or verb in _REPLACING:
            places[name] = placed
            return True
        return False

    def _add_filter(self, line: int, device: Device, rest: list[str]) -> None:
        for key, value in pairwise(rest):
            if key in ("flowid", "classid"):
                device.flows.append(_handle(value))
            elif key == "dev" and "redirect" in rest:
                other = self.devices.setdefault(_clean(value), Device(_clean(value)))
                other.source = device.name
        if "police" in rest:
            self.notes.append(
                Note(line, "police has no equivalent: left out; the key link.path.reverse.policer is one")
            )


def _find_tc(commands: Sequence[Command]) -> Iterator[Command]:
    """Return the commands of tc without their first word; also those in a text for another shell."""
    from bentpipe.tc.shell import Command

    for command in commands:
        words = command.words
        place = next((place for place, word in enumerate(words) if word == "tc" or word.endswith("/tc")), None)
        if place is not None and {*words[place + 1 : place + 6]} & {"qdisc", "class", "filter"}:
            begin = next(at for at in range(place + 1, len(words)) if words[at] in ("qdisc", "class", "filter"))
            named = words[words.index("exec") + 1] if "exec" in words[:place] else ""
            rest = [*words[begin:]]
            if named and "dev" in rest and rest.index("dev") + 1 < len(rest):
                # Devices of several namespaces have the same name.
                rest[rest.index("dev") + 1] = f"{rest[rest.index('dev') + 1]} of {named}"
            yield Command(command.line, tuple(rest))
            continue
        for word in words:
            if _INNER.search(word):
                inner = read_commands(word)
                yield from _find_tc([Command(command.line, each.words) for each in inner])


def _read_place(words: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Split the words into those that name a place, and those of the discipline, class or filter."""
    names: dict[str, str] = {}
    place = 0
    while place < len(words):
        word = words[place]
        if word in ("root", "ingress", "clsact") and "parent" not in names:
            names["parent"] = word
            place += 1
        elif word in (
            "dev",
            "parent",
            "handle",
            "classid",
            "protocol",
            "prio",
            "pref",
            "preference",
        ) and place + 1 < len(words):
            if word == "handle" and "protocol" in names:
                break
            if word == "prio" and not words[place + 1].isdigit():
                break
            names[word] = words[place + 1]
            place += 2
        else:
            break
    return names, [*words[place:]]


def _handle(word: str) -> str:
    """Return a handle or class in one form: `1:` for `1:0` and `1`, and `1:1` for `1:01`."""
    major, _, minor = word.partition(":")
    if word in ("root", "ingress", "clsact", ""):
        return word
    number = int(minor, 16) if minor else 0
    return f"{int(major, 16):x}:{number:x}" if number else f"{int(major, 16) if major else 0:x}:"


def _clean(name: str) -> str:
    return name.replace(UNKNOWN, "")
