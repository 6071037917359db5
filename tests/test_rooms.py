"""The drawings of the Python rooms are true, and their arrows only go up."""

import ast
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "python" / "bentpipe"
DRAWINGS = ("python/bentpipe", "python/bentpipe/experiment")
AS_USERS = {"papers.packs", "studio.lessons"}
# The package: users import it, and modules inside must not.
FACADE = "bentpipe"


def drawn(of):
    """Return the rooms that each room imports, in the order of the drawing."""
    text = (ROOT / "docs" / "develop" / "architecture.md").read_text(encoding="utf-8")
    drawings = [each.split("```")[0].splitlines() for each in text.split("```house\n")[1:]]
    ((_, *lines),) = [each for each in drawings if each[0] == of]
    rows = [line.partition("<-") for line in lines]
    return {name.strip(): set(others.split()) for name, _, others in rows}


def room_of(parts):
    """Return the room of a module. Rooms of `AS_USERS` are separate: they have code as users write it."""
    name = ".".join(parts[:2])
    return name if name in AS_USERS else parts[0] if parts else FACADE


def is_for_types(node):
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)


def imported(tree):
    """List every module that is loaded, also inside functions. Imports for type checkers load nothing."""
    found, open_ = set(), [tree]
    while open_:
        node = open_.pop()
        if is_for_types(node):
            open_ += node.orelse
            continue
        open_ += ast.iter_child_nodes(node)
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


@cache
def arrows(of):
    """Return the rooms of the same folder that each room imports."""
    folder = ROOT / of
    whole = (FACADE, *folder.relative_to(PACKAGE).parts)
    modules = {path: path.relative_to(folder).with_suffix("").parts for path in folder.rglob("*.py")}
    rooms = {}
    for path, parts in modules.items():
        inside = parts[:-1] if parts[-1] == "__init__" else parts
        own = rooms.setdefault(room_of(inside), set())
        for name in imported(ast.parse(path.read_text(encoding="utf-8"))):
            parts = tuple(name.split("."))
            if parts[: len(whole)] == whole:
                own.add(room_of(parts[len(whole) :]))
    names = {*rooms, FACADE}
    return {room: {each for each in others if each in names} - {room} for room, others in rooms.items()}


@pytest.mark.parametrize("of", DRAWINGS)
def test_each_room_imports_what_its_line_in_the_drawing_names_and_nothing_else(of):
    # A test below is about imports of the package itself.
    found = {room: others - {FACADE} for room, others in arrows(of).items() if room != FACADE}
    assert found == drawn(of)


@pytest.mark.parametrize("of", DRAWINGS)
def test_every_line_of_the_drawing_names_rooms_above_it_only(of):
    above = {FACADE}
    for room, others in drawn(of).items():
        assert others <= above, f"{room} imports {sorted(others - above)}, which are below it"
        above.add(room)


def test_nothing_inside_imports_the_package_itself_but_code_as_users_write_it():
    assert {room for room, others in arrows("python/bentpipe").items() if FACADE in others} <= AS_USERS


def test_only_the_command_line_writes_error_before_a_text():
    """A caller who shows the text of an exception would show the word twice."""
    edge = {"__main__.py", "cli/excerpt.py"}
    found = [
        (str(path.relative_to(PACKAGE)), node.value)
        for path in PACKAGE.rglob("*.py")
        if path.relative_to(PACKAGE).as_posix() not in edge
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("error: ")
    ]
    assert found == []
