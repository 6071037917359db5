"""Texts of a figure: the note below it, and the names of its lines in a legend or at their ends."""


def note_of(figure):
    """Return the note below a figure, in one line; empty without one."""
    texts = [text.get_text() for axes in figure.axes for text in axes.texts if text.get_gid() == "note"]
    return " ".join(" ".join(texts).split())


def ends_of(axes):
    """Return the names at the ends of the lines of a panel, with their colours."""
    return {text.get_text(): text.arrow_patch.get_edgecolor() for text in axes.texts if _is_end(text)}


def names_of(axes):
    """Return the names that a panel explains, at the ends of lines or in its legend."""
    legend = axes.get_legend()
    return [*ends_of(axes), *([text.get_text() for text in legend.get_texts()] if legend else [])]


def _is_end(text):
    return getattr(text, "arrow_patch", None) is not None and bool(text.get_text())
