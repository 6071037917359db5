"""The text of the scenario: an editor with its problems marked and listed, each with its repair."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from nicegui import ui

from bentpipe.errors import BentpipeError, Problem
from bentpipe.scenario import editing
from bentpipe.studio.folders import ChangedError

if TYPE_CHECKING:
    from bentpipe.studio.folders import Opened
    from bentpipe.studio.page.session import Session
    from bentpipe.studio.page.view import View

LISTED_MAX = 30
"""Problems in the list; all are marked."""
FOLDED_LINES = 8
"""Longer lists are folded."""
THEMES: dict[bool, Any] = {False: "vscodeLight", True: "githubDark"}
"""Themes of the editor on light and dark pages whose colours have enough contrast."""
BUNDLED_SUFFIX = "-mine.toml"


class TextPanel:
    """The editor."""

    def __init__(self, session: Session, view: View) -> None:
        self._session, self._view = session, view
        self._is_ours = False
        self._is_in_browser = False
        keymap: dict[str, Any] = {"Mod-s": self.save, "Mod-Enter": lambda: session.start_run()}
        with ui.row().classes("page-tools"):
            self._file = ui.label().classes("page-file").mark("file")
            self._fold = ui.switch("Fold", value=True, on_change=self._mark).props("dense").tooltip("Fold long lists")
            ui.button("Save", on_click=self.save).props("flat dense no-caps").mark("save")
        self.editor = (
            ui.codemirror(
                on_change=self._handle_typing, language="TOML", theme=THEMES[False], keymap=keymap, line_wrapping=False
            )
            .classes("page-editor")
            .props('aria-label="Text of the scenario"')
            .mark("editor")
        )
        # An update of any property would replace the text in the editor by the older one of the server.
        self.editor._update_method = None
        ui.context.client.on_connect(self._arrive)
        session.on("scheme", lambda: self.editor.set_theme(THEMES[session.is_dark]))
        session.on("opened", self._show)
        session.on("checked", self._mark)
        session.on("saved", self._name)
        session.on("text", self._name)

    def _arrive(self) -> None:
        self._is_in_browser = True

    def _handle_typing(self) -> None:
        if not self._is_ours:
            self._session.edit(self.editor.value)

    def _show(self) -> None:
        """Show the text of the session, which another panel has changed."""
        session = self._session
        if self.editor.value != session.text:
            self._is_ours = True
            self.editor.value = session.text
            self._is_ours = False
            # The first text comes with the page: a message would arrive later, and replace newer text.
            if self._is_in_browser:
                self.editor.run_method("setEditorValue", session.text)
        if not self._is_in_browser:
            # The scripts keep unsaved text under this name until the page has a connection.
            self.editor._props["data-name"] = session.name
        self.editor.set_enabled(not session.is_fixed)
        self._name()

    def _name(self) -> None:
        session = self._session
        state = " (too large to edit here)" if session.is_fixed else " (changed)" if session.is_changed else ""
        bundled = "" if session.mark else ", bundled"
        self._file.text = f"{session.name}{bundled}{state}"

    def _mark(self) -> None:
        text, problems = self._session.text, self._session.problems
        if self.editor.value != text:
            return
        decorations, tips = [], dict[int, list[str]]()
        for problem in problems:
            start, end = editing.offsets(text, problem)
            if problem.line is None:
                continue
            # A problem of a whole text has no width; its line is marked.
            kind = f"page-{problem.severity}"
            if end > start:
                decorations.append({"kind": "mark", "from": start, "to": end, "class": kind})
            else:
                decorations.append({"kind": "line", "line": problem.line, "class": f"{kind}-line"})
            tips.setdefault(problem.line, []).append(problem.message)
        self.editor.decorations = [*decorations, *(self._folds(text) if self._fold.value else [])]
        self.editor._props["line-tooltips"] = {line: "\n".join(tip) for line, tip in tips.items()}
        self._view.call("mark", self.editor.id, text)

    def _folds(self, text: str) -> list[dict[str, object]]:
        """Long lists as one sign each, unless they have a problem."""
        lines = {problem.line for problem in self._session.problems if problem.line}
        return [
            {"kind": "replace", "from": start, "to": end, "text": f" … {count} lines … "}
            for start, end, count, first in long_lists(text)
            if not any(first <= line <= first + count for line in lines)
        ]

    async def save(self) -> None:
        """Save; a bundled scenario under another name, over another content after a question."""
        session = self._session
        name = session.name if session.mark else await _ask_name(session.name + BUNDLED_SUFFIX)
        if not name:
            return
        try:
            try:
                session.save(name)
            except ChangedError:
                there = session.studio.folder.open(name)
                choice = await self._choose(there)
                if choice == "theirs":
                    session.take(there)
                if choice != "mine":
                    return
                session.save(name, over=there)
            ui.notify(f"saved {session.name}", type="positive")
        except BentpipeError as error:
            ui.notify(str(error), type="negative", multi_line=True)

    async def _choose(self, there: Opened) -> str:
        """Ask which text the file is to have: `mine` or `theirs`; neither if the answer is empty."""
        session, name = self._session, there.name
        is_other = name != session.name
        said = f"{name} exists already." if is_other else f"{name} was changed elsewhere since it was opened here."
        with ui.dialog() as dialog, ui.card().classes("page-both"):
            ui.label(said).classes("page-strong")
            with ui.row().classes("page-versions"):
                for title, text in (("Here", session.text), ("In the file", there.text)):
                    with ui.column():
                        ui.label(title)
                        ui.textarea(value=text).props("readonly outlined").classes("page-version").mark(title)
            with ui.row():
                mine = "Replace the file" if is_other else "Keep mine"
                ui.button(mine, on_click=lambda: dialog.submit("mine")).props("no-caps")
                if not is_other:
                    ui.button("Take the file", on_click=lambda: dialog.submit("theirs")).props("no-caps")
                ui.button("Cancel", on_click=lambda: dialog.submit("")).props("flat no-caps")
        choice = await dialog
        dialog.delete()
        return str(choice or "")


async def _ask_name(proposal: str) -> str:
    with ui.dialog() as dialog, ui.card():
        ui.label("A bundled scenario is saved in your folder.")
        field = ui.input("Name of the file", value=proposal)
        with ui.row():
            save = ui.button("Save", on_click=lambda: dialog.submit(field.value)).props("no-caps").mark("save-name")
            save.bind_enabled_from(field, "value", backward=lambda name: bool(name and name.strip()))
            ui.button("Cancel", on_click=lambda: dialog.submit("")).props("flat no-caps")
    name = await dialog
    await asyncio.sleep(0)
    dialog.delete()
    return str(name or "").strip()


class ProblemList:
    """The problems below the editor."""

    def __init__(self, session: Session, text: TextPanel) -> None:
        self._session, self._text = session, text
        self._list = (
            ui.column().classes("page-problems").props('role="region" aria-label="Problems" aria-live="polite"')
        )
        session.on("checked", self._show)

    def _show(self) -> None:
        session = self._session
        self._list.clear()
        with self._list:
            if not session.errors and session.scenario is not None:
                ui.label(_summary(session)).classes("page-valid").mark("valid")
            for problem in session.problems[:LISTED_MAX]:
                self._row(problem)
            if len(session.problems) > LISTED_MAX:
                ui.label(f"and {len(session.problems) - LISTED_MAX} more")

    def _row(self, problem: Problem) -> None:
        session = self._session
        with ui.row().classes(f"page-problem page-problem-{problem.severity}").mark("problem"):
            if problem.line is not None:
                line = problem.line
                ui.button(str(line), on_click=lambda: self._text.editor.reveal_line(line)).props(
                    f'flat dense aria-label="Go to line {line}"'
                )
            with ui.column().classes("page-words"):
                ui.label(problem.message)
                hint = "; ".join(filter(None, [problem.expected, _write_known(problem)]))
                if hint:
                    ui.label(hint).classes("page-hint")
            if editing.repair_text(session.text, problem) is not None:
                ui.button(f"Use {problem.suggestion}", on_click=lambda: session.repair(problem)).props(
                    "dense no-caps outline"
                ).mark("repair")


def _write_known(problem: Problem) -> str:
    return f"known: {', '.join(problem.known)}" if problem.known else ""


def _summary(session: Session) -> str:
    scenario = session.scenario
    assert scenario is not None
    flows, notes = len(scenario.flow_names), len(session.problems)
    end = f", {notes} note{'s' * (notes > 1)}" if notes else ""
    return f"No problem: {flows} flow{'s' * (flows != 1)}, {scenario.duration_s:g} s{end}"


def long_lists(text: str) -> list[tuple[int, int, int, int]]:
    """Find long lists, which the editor folds: begin and end of the inside, number of its lines, and its first line."""
    found, depth, start, quote, at, line, first = [], 0, 0, "", 0, 1, 1
    while at < len(text):
        sign = text[at]
        if quote:
            if sign == "\\" and quote == '"':
                at += 1
            elif sign == quote or sign == "\n":
                quote = ""
        elif sign in "\"'":
            quote = sign
        elif sign == "#":
            at = (text.find("\n", at) % (len(text) + 1)) - 1
        elif sign == "[":
            if depth == 0:
                start, first = at + 1, line
            depth += 1
        elif sign == "]" and depth:
            depth -= 1
            if depth == 0 and line - first > FOLDED_LINES:
                found.append((start, at, line - first, first))
        if text[at : at + 1] == "\n":
            line += 1
        at += 1
    return found
