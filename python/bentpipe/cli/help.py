"""Formats help: a section with examples, and colour on terminals."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TypeVar

import click

from bentpipe.catalog import unknown
from bentpipe.cli.printing import is_coloured, style_text
from bentpipe.errors import BentpipeError, Interrupted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

Function = TypeVar("Function", bound="Callable[..., Any]")


class Formatter(click.HelpFormatter):
    """Formats headings in bold and names in colour. Click removes both for other outputs than terminals."""

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        before, prefix = len(self.buffer), prefix or "Usage:"
        super().write_usage(prog, args, prefix + " ")
        # Styled afterwards: older versions of Click count invisible letters.
        self.buffer[before:] = ["".join(self.buffer[before:]).replace(prefix, style_text(prefix, bold=True), 1)]

    def write_heading(self, heading: str) -> None:
        self.write(f"{'':>{self.current_indent}}{style_text(heading + ':', bold=True)}\n")

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        super().write_dl([(style_text(name, fg="cyan"), text) for name, text in rows], col_max, col_spacing)


class Context(click.Context):
    """Context of a command, whose help follows NO_COLOR."""

    formatter_class = Formatter

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.color is None:
            self.color = is_coloured(sys.stdout)


class Argument(click.Argument):
    """An argument that is explained in the help: older versions of Click explain options only."""

    def __init__(self, declared: Sequence[str], *, help: str, **settings: Any) -> None:
        super().__init__(declared, **settings)
        self.help = help


def argument(name: str, *, help: str, **settings: Any) -> Callable[[Function], Function]:
    """Decorate a command with an `Argument`, as `click.argument` does."""
    return click.argument(name, cls=Argument, help=help, **settings)


class Command(click.Command):
    """A command with examples at the end of its help.

    Parameters
    ----------
    examples : sequence of str
        Lines as one types them, without `bentpipe`.
    aliases : mapping, optional
        By parameter of the library, the option that stands for it under another name.
    """

    context_class = Context

    def __init__(
        self, *args: Any, examples: Sequence[str], aliases: Mapping[str, str] | None = None, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.aliases = aliases or {}
        self.examples = [f"bentpipe {example}" for example in examples]
        # Four spaces mark code for generators of pages.
        self.epilog = "Examples:\n\n" + "\n".join(f"    {example}" for example in self.examples)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, and attach its options to errors, which name parameters.

        Raises
        ------
        Interrupted
            Ctrl-C during the work. It reports that there is no figure, if `--plot` asked for one.
        """
        try:
            return super().invoke(ctx)
        except Interrupted as interrupt:
            if ctx.params.get("plot") is None:
                raise
            raise Interrupted(f"{interrupt}; no figure was drawn") from None
        except BentpipeError as error:
            error.options = self.options  # type: ignore[attr-defined]
            raise

    @property
    def options(self) -> dict[str, str]:
        """Maps parameters of the library to options."""
        given = [each for each in self.params if isinstance(each, click.Option)]
        return {**{str(each.name): max(each.opts, key=len) for each in given}, **self.aliases}

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        if explained := [each for each in self.get_params(ctx) if isinstance(each, Argument)]:
            with formatter.section("Positional arguments"):
                formatter.write_dl([(each.make_metavar(ctx), str(each.help)) for each in explained])
        self.format_options(ctx, formatter)
        self.format_epilog(ctx, formatter)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Examples"):
            for example in self.examples:
                # Never wrapped: examples are copied.
                formatter.write(f"{'':>{formatter.current_indent}}{example}\n")


class Group(click.Group):
    """Commands under one name; for a name that is unknown it suggests the nearest."""

    context_class = Context

    @property
    def examples(self) -> list[str]:
        """The first example of each command."""
        return [command.examples[0] for command in self.commands.values() if isinstance(command, Command)]

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        known = self.list_commands(ctx)
        if args[0] not in known and not args[0].startswith("-") and not ctx.resilient_parsing:
            what = "a command" if ctx.parent is None else f"a command of {ctx.info_name}"
            raise BentpipeError(unknown(args[0], what, known))
        return super().resolve_command(ctx, args)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if self.examples:
            with formatter.section("Examples"):
                for example in self.examples:
                    formatter.write(f"{'':>{formatter.current_indent}}{example}\n")
