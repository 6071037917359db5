"""Adds documentation to the core's classes at run time, from `_core.pyi`. Editors read the same file.

The compiled classes have no texts. Hooks become functions with the signature and the text of the stub. Fields and other
methods are used for every packet, and would be slower as Python properties and functions. Instead, the text of their
class lists them.
"""

from __future__ import annotations

import ast
import inspect
from functools import cache
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

T = TypeVar("T", bound=type)

STUB = Path(__file__).parents[1] / "_core.pyi"


def document(*classes: type) -> None:
    """Give classes of the core the text of the stub, with every field and method."""
    for cls in classes:
        node = _stub()[cls.__name__]
        cls.__doc__ = f"{ast.get_docstring(node)}{_section('Attributes', _fields(node))}{_methods(node)}"


def extending(base: type, hooks: Sequence[str]) -> Callable[[T], T]:
    """Decorate a class that extends a class of the core: its hooks get texts, and its own text lists the methods."""
    node = _stub()[base.__name__]
    document(base)
    for name, function in _functions(base, [each for each in _list_functions(node) if each.name in hooks]).items():
        setattr(base, name, function)

    def decorate(cls: T) -> T:
        cls.__doc__ = f"{inspect.cleandoc(cls.__doc__ or '')}{_methods(node, hooks)}"
        return cls

    return decorate


@cache
def _stub() -> dict[str, ast.ClassDef]:
    tree = ast.parse(STUB.read_text(encoding="utf-8"))
    return {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}


def _list_functions(node: ast.ClassDef) -> Iterator[ast.FunctionDef]:
    """Methods and properties."""
    for each in node.body:
        if isinstance(each, ast.FunctionDef) and not each.name.startswith("_"):
            yield each


def _fields(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    """Section of the fields: name, type and text of each."""
    for each, below in zip(node.body, [*node.body[1:], None], strict=True):
        if isinstance(each, ast.AnnAssign):
            text = below.value.value if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant) else ""
            yield f"{ast.unparse(each.target)} : {ast.unparse(each.annotation)}", str(text)
    for function in _list_functions(node):
        if function.decorator_list and function.returns is not None:
            yield f"{function.name} : {ast.unparse(function.returns)}", ast.get_docstring(function) or ""


def _methods(node: ast.ClassDef, hooks: Sequence[str] = ()) -> str:
    """Section of the methods that are not hooks."""
    found = [each for each in _list_functions(node) if not each.decorator_list and each.name not in hooks]
    return _section("Methods", ((_write_call(each), ast.get_docstring(each) or "") for each in found))


def _write_call(stub: ast.FunctionDef) -> str:
    arguments = ast.unparse(stub.args).removeprefix("self").removeprefix(", ")
    return f"{stub.name}({arguments})" + (f" -> {ast.unparse(stub.returns)}" if stub.returns else "")


def _section(head: str, entries: Iterator[tuple[str, str]]) -> str:
    lines = [f"{name}\n{indent(text, '    ')}".rstrip() for name, text in entries]
    return "\n\n{}\n{}\n{}".format(head, "-" * len(head), "\n".join(lines)) if lines else ""


def _functions(cls: type, stubs: list[ast.FunctionDef]) -> dict[str, Any]:
    """Functions, by name, with the signatures and the texts of the stubs. They call the core's."""
    originals = {f"core_{each.name}": vars(cls)[each.name] for each in stubs}
    future = ast.ImportFrom("__future__", [ast.alias("annotations")], 0)
    module = ast.fix_missing_locations(ast.Module([future, *map(_calling, stubs)], []))
    space: dict[str, Any] = {"__name__": cls.__module__, **originals}
    exec(compile(module, str(STUB), "exec"), space)
    for each in stubs:
        space[each.name].__qualname__ = f"{cls.__qualname__}.{each.name}"
    return {each.name: space[each.name] for each in stubs}


def _calling(stub: ast.FunctionDef) -> ast.FunctionDef:
    """The function of a stub, its text before a call of the core's."""
    given: list[ast.expr] = [ast.Name(each.arg, ast.Load()) for each in stub.args.args]
    call = ast.Return(ast.Call(ast.Name(f"core_{stub.name}", ast.Load()), given, []))
    body = [*stub.body[: ast.get_docstring(stub) is not None], call]
    return ast.FunctionDef(stub.name, stub.args, body, [], stub.returns)
