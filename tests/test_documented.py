"""Documentation at run time: `help` of everything public, compiled classes included."""

from __future__ import annotations

import inspect
import re

import pytest

import bentpipe as bp
from bentpipe.own import middlebox, sender

FACTS = [getattr(module, name) for module in (sender, middlebox) for name in module.__all__]
NO_TEXT = ("__version__", "ScenarioDict")
"""A text itself, and a type whose text is the schema."""


def public(owner):
    return sorted(name for name in dir(owner) if not name.startswith("_"))


def is_documented(owner, name):
    """Whether a member has a text, or the text of its class has an entry of it with a text."""
    member = inspect.getattr_static(owner, name)
    if not (callable(member) or inspect.isdatadescriptor(member) or isinstance(member, (classmethod, staticmethod))):
        return True
    own = inspect.getdoc(member)
    if own and own != inspect.getdoc(type(member)):
        return True
    text = "\n".join(inspect.cleandoc(each.__doc__ or "") for each in owner.__mro__)
    return re.search(rf"^(.*, )?{name}(, [\w, ]+)?( :|\().*\n    \S", text, re.MULTILINE) is not None


@pytest.mark.parametrize("name", sorted(set(bp.__all__) - set(NO_TEXT)))
def test_everything_public_has_a_text(name):
    found = getattr(bp, name)
    assert inspect.getdoc(found)
    if isinstance(found, type):
        assert [each for each in public(found) if not is_documented(found, each)] == []
    if inspect.ismodule(found):
        members = [getattr(found, each) for each in public(found)]
        # A room of modules, such as the statistics.
        members += [getattr(each, name) for each in members if inspect.ismodule(each) for name in public(each)]
        own = [
            each
            for each in members
            if callable(each) and (getattr(each, "__module__", None) or "").startswith(found.__name__)
        ]
        assert own
        assert [each for each in own if not inspect.getdoc(each)] == []


@pytest.mark.parametrize("cls", FACTS, ids=lambda cls: cls.__name__)
def test_every_field_and_method_that_hooks_are_given_has_a_text(cls):
    assert [each for each in public(cls) if not is_documented(cls, each)] == []


def test_a_hook_has_its_signature_and_does_what_the_core_does():
    hook = bp.CongestionControl.on_rto
    assert list(inspect.signature(hook).parameters) == ["self", "first", "path"]
    assert "RFC 5681" in hook.__doc__
    control = bp.CongestionControl.__new__(bp.CongestionControl)
    control.set_window(3000.0, 5000.0)
    assert (control.cwnd, control.ssthresh) == (3000.0, 5000.0)
    control.limit_cwnd(2500.0)
    assert control.cwnd == 2500.0


def test_hooks_of_the_base_class_are_not_taken_for_overridden(small):
    class Plain(bp.CongestionControl):
        """Overrides nothing."""

    class Calling(bp.CongestionControl):
        """Overrides with the methods of the base."""

        def on_ack(self, ack, path):
            super().on_ack(ack, path)

        def on_congestion(self, why, path):
            super().on_congestion(why, path)

    plain, calling = (bp.run(small, cc=cls).flows.drop("cc") for cls in (Plain, Calling))
    assert plain.equals(calling)


def test_the_check_finds_what_has_no_text():
    class Silent:
        """A class.

        Attributes
        ----------
        told : int
            With a text.
        """

        told = property(lambda self: 1)
        field = property(lambda self: 1)

        def method(self): ...

    assert [each for each in public(Silent) if not is_documented(Silent, each)] == ["field", "method"]
