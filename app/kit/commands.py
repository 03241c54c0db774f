"""Commands: those that tools declare, and those that a feature's verbs.py defines."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from lanescope.app.kit.terminal import AsJson, drop_empty, parse_pairs, print_json

if TYPE_CHECKING:
    from lanescope.app.kit.feature import Feature, Tool
    from lanescope.app.kit.question import Option

Commands = partial(typer.Typer, rich_markup_mode=None)  # plain help prints in half the time


class Verb(NamedTuple):
    """A command, or a part of a command group of that name."""

    name: str
    group: bool
    commands: typer.Typer
    help: str | None


def list_verbs(folder: str, feature: Feature, help: str) -> Iterator[Verb]:
    """Yield the commands of a feature. help: of its tools' command or command group."""
    for tool in feature.tools:
        if tool.command:
            name, _, below = tool.command.partition(" ")
            commands = Commands()
            commands.command(below or name, help=tool.help if below else help)(_make_function(tool))
            yield Verb(name, bool(below), commands, help)
    if "verbs" in feature.written:
        yield from list_written_verbs(folder)


def list_written_verbs(folder: str) -> Iterator[Verb]:
    """Yield the commands that a feature's verbs.py defines."""
    written = import_module(f"lanescope.app.{folder}.verbs").app
    for command in written.registered_commands:
        commands = Commands()
        commands.registered_commands.append(command)
        yield Verb(command.name or command.callback.__name__, False, commands, None)
    for group in written.registered_groups:
        yield Verb(group.name, True, group.typer_instance, group.typer_instance.info.help)


def add_verbs(command: typer.Typer, verbs: list[Verb]) -> None:
    """Add the verbs that share a name: one command, or the parts of a group."""
    if not verbs[0].group:
        command.add_typer(verbs[0].commands)
        return
    group = Commands(no_args_is_help=True, help=verbs[0].help)
    for verb in verbs:
        group.add_typer(verb.commands)
    command.add_typer(group, name=verbs[0].name)


def make_verb(run: Callable[..., None]) -> Verb:
    """Return the verb for a function that Typer inspects."""
    commands = Commands()
    commands.command()(run)
    return Verb(run.__name__, False, commands, None)


def make_stub_verb(name: str, help: str) -> Verb:
    """Return a verb that only has a help text, for `lanescope --help`."""
    commands = Commands()
    commands.command(name, help=help)(lambda: None)
    return Verb(name, False, commands, help)


def _make_function(tool: Tool[Any, Any]) -> Callable[..., None]:
    """Return a function for Typer, with one option per field of the question."""
    from lanescope.app.kit.question import fields_of, nest_fields, to_python_name

    fields = fields_of(tool.question)

    def run(*, as_json: bool, **typed: Any) -> None:
        words = {name: _format_option(typed.pop(to_python_name(name)), name) for name in fields}
        (tool.run or partial(_answer, tool))(nest_fields(fields, drop_empty(words)), as_json=as_json, **typed)

    parameters = [
        Parameter(
            to_python_name(name),
            Parameter.KEYWORD_ONLY,
            default=_get_default(option),
            annotation=_annotate_option(name, option),
        )
        for name, (_, option) in fields.items()
    ]
    added = inspect.signature(tool.run, eval_str=True).parameters if tool.run else {}
    parameters += [
        value for value in added.values() if value.kind is Parameter.KEYWORD_ONLY and value.name != "as_json"
    ]
    parameters.append(Parameter("as_json", Parameter.KEYWORD_ONLY, default=False, annotation=AsJson))
    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _format_option(typed: Any, name: str) -> Any:
    """Return a typed option as a request spells it: 1 for a switch, an object for name=value."""
    if isinstance(typed, bool):
        return "1" * typed
    return parse_pairs(typed, name) if isinstance(typed, list) else typed


def _answer(tool: Tool[Any, Any], words: dict[str, Any], *, as_json: bool) -> None:
    """Answer a question and print it."""
    question, answer = tool.ask(words)
    if as_json:
        print_json(answer)
    elif tool.lines:
        for line in tool.lines(question, answer):
            print(line)
    if not tool.succeeds(answer):
        raise typer.Exit(1)


def _get_default(option: Option) -> Any:
    if option.argument and not option.required:
        return option.default
    if option.required:
        return inspect.Parameter.empty
    return None if option.parts else False if option.flag else ""


def _annotate_option(name: str, option: Option) -> Any:
    """Return the annotation from which Typer builds the option."""
    if option.argument:
        return Annotated[str, typer.Argument(help=option.command_help, metavar=option.metavar or name)]
    kind: Any = list[str] | None if option.parts else bool if option.flag else str
    metavar = "<int>" if option.numeric else None
    return Annotated[kind, typer.Option(f"--{name.replace('_', '-')}", help=option.command_help, metavar=metavar)]
