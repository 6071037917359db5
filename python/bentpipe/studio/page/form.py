"""The form: a field per key of the scenario. It writes into the text, whose comments and order stay."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from nicegui import ui

from bentpipe.errors import BentpipeError
from bentpipe.scenario import editing
from bentpipe.studio.page.fields import Field, Group, groups

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bentpipe.studio.page.session import Session

LONG = 16
"""Letters of a value that its field shows beside its name."""
FOUND_MAX = 40
"""Fields that a search shows."""


class Form:
    """All groups; each is built when it is opened."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._rows: dict[str, Row] = {}
        self._searched: dict[str, Row] = {}
        self._open: set[str] = {"scenario"}
        self._shape: list[str] = []
        search = ui.input(placeholder="Search keys", on_change=lambda event: self._search(str(event.value or "")))
        search.props('dense clearable outlined aria-label="Search keys"').classes("page-search").mark("search")
        self._found = ui.column().classes("page-fields")
        self._groups = ui.column().classes("page-fields")
        session.on("checked", self.refresh)
        self.refresh()

    def refresh(self) -> None:
        """Show the present text: in the fields that there are, or in other ones if its keys have changed."""
        found = groups(self._session.text, self._session.scenario)
        shape = [field.key for group in found for field in group.fields]
        if shape != self._shape:
            self._shape = shape
            self._build(found)
        for group in found:
            for field in group.fields:
                for rows in (self._rows, self._searched):
                    if field.key in rows:
                        rows[field.key].show(field)

    def _build(self, found: list[Group]) -> None:
        self._rows.clear()
        self._groups.clear()
        with self._groups:
            if not found:
                ui.label("The text is not TOML: repair it first.")
            for group in found:
                self._group(group)

    def _group(self, group: Group) -> None:
        title, is_filled = group.title, list[bool]()

        def fill() -> None:
            if expansion.value:
                self._open.add(title)
            else:
                self._open.discard(title)
            if expansion.value and not is_filled:
                is_filled.append(True)
                with place:
                    self._fields(self._select_fields(title))

        count = sum(bool(field.value) for field in group.fields)
        expansion = ui.expansion(title, caption=f"{count} set", value=title in self._open, on_value_change=fill)
        expansion.props("dense").classes("page-group")
        with expansion:
            place = ui.column().classes("page-fields")
        fill()

    def _select_fields(self, title: str) -> list[Field]:
        found = groups(self._session.text, self._session.scenario)
        return next((group.in_order for group in found if group.title == title), [])

    def _fields(self, fields: Iterable[Field]) -> None:
        for field in fields:
            self._rows[field.key] = Row(self._session, field)

    def _search(self, words: str) -> None:
        self._found.clear()
        self._searched.clear()
        self._groups.set_visibility(not words.strip())
        if not words.strip():
            return
        all_ = [field for group in groups(self._session.text, self._session.scenario) for field in group.in_order]
        found = sorted((field for field in all_ if field.matches(words)), key=lambda field: field.rank(words))
        with self._found:
            for field in found[:FOUND_MAX]:
                self._searched[field.key] = Row(self._session, field, is_whole=True)
            more = len(found) - FOUND_MAX
            ui.label(f"and {more} more" if more > 0 else f"{len(found)} key{'s' * (len(found) != 1)}")


class Row:
    """One field: its name, its value, and the default as the placeholder."""

    def __init__(self, session: Session, field: Field, *, is_whole: bool = False) -> None:
        self._session, self._key, self._is_ours = session, field.key, False
        with ui.element("div").classes("page-field"):
            self._name = ui.label(_broken(field.key if is_whole else field.name)).classes("page-key")
            if field.choices:
                options = {choice.value: choice.value for choice in field.choices}
                self._input: ui.select | ui.input = ui.select(
                    self._with(options, field.value), value=field.value or None, clearable=True, on_change=self._write
                )
            else:
                self._input = ui.input(value=field.value, autocomplete=list(field.examples))
                self._input.on("blur", self._write)
                # Enter ends a value, also a long one in several lines.
                self._input.on("keydown.enter.prevent", self._write)
            self._input.props(f'dense outlined hide-bottom-space aria-label="{field.key}"').mark(f"field-{field.key}")
            with self._name:
                ui.tooltip(_write_tooltip(field)).props("max-width=340px")
            ui.label(_write_tooltip(field)).classes("page-unseen")
        self.show(field)

    def show(self, field: Field) -> None:
        """Show the value and the default of a field."""
        value = field.value or None if field.choices else field.value
        if isinstance(self._input, ui.select) and field.value and field.value not in self._input.options:
            self._input.set_options(self._with(self._input.options, field.value))
        if self._input.value != value:
            self._is_ours = True
            self._input.value = value
            self._is_ours = False
        if not field.choices:
            # A long text, such as a title, has the whole width, and as many lines as it needs.
            is_long = len(field.value) > LONG
            self._input.props(
                "type=textarea autogrow" if is_long else "type=text", remove="" if is_long else "autogrow"
            )
        self._input.props["placeholder" if not field.choices else "label-slot"] = field.default
        if field.choices:
            self._input.props["display-value"] = field.value or f"{field.default or 'none'} (default)"
        self._name.classes(add="page-strong") if field.value else self._name.classes(remove="page-strong")
        self._field = field
        self._input.update()

    @staticmethod
    def _with(options: object, value: str) -> dict[str, str]:
        known = dict(options) if isinstance(options, dict) else {}
        return known if not value or value in known else {**known, value: value}

    def _write(self) -> None:
        if self._is_ours:
            return
        literal = str(self._input.value or "").strip()
        if literal == self._field.value:
            return
        self._field = replace(self._field, value=literal)
        try:
            self._session.put_value(self._key, literal)
        except BentpipeError:
            self._write_table(literal)

    def _write_table(self, literal: str) -> None:
        """Write below a value that names a kind: it becomes a table with this kind."""
        parent, _, name = self._key.rpartition(".")
        kind = next((field for field in self._parents(parent)), "")
        try:
            text = (
                editing.edit_text(self._session.text, parent, f'{{ kind = "{kind}" }}') if kind else self._session.text
            )
            self._session.edit(editing.edit_text(text, f"{parent}.{name}", literal))
            self._session.tell("opened")
        except BentpipeError as error:
            self._session.notify(str(error), "negative")

    def _parents(self, parent: str) -> list[str]:
        found = [field for group in groups(self._session.text, self._session.scenario) for field in group.fields]
        return [field.value or field.default for field in found if field.key == parent]


def _broken(key: str) -> str:
    """A key that a narrow column breaks after its dots and underscores."""
    return key.replace(".", ".\u200b").replace("_", "_\u200b")


def _write_tooltip(field: Field) -> str:
    choices = "\n".join(f"{choice.value}: {choice.meaning}" for choice in field.choices[:12])
    default = f"Default: {field.default}." if field.default else ""
    return "\n".join(filter(None, [field.meaning, default, choices]))
