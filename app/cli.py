"""The lanescope command: a loop over the commands of app/features.py. A command loads its own feature only."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from functools import lru_cache
from io import TextIOWrapper
from typing import Annotated, Any, NoReturn

import typer

from lanescope.app.features import FEATURES, load_feature
from lanescope.app.kit.commands import (
    Commands,
    Verb,
    add_verbs,
    list_verbs,
    list_written_verbs,
    make_stub_verb,
    make_verb,
)
from lanescope.app.kit.serve import serve
from lanescope.app.kit.terminal import AsJson, print_json

# The order of --help; other verbs come last.
ORDER = (
    "serve list show diagram export chain deliver reuse compare banks smem descriptor dump capture check lsp emulate"
    " kernel steps matrix-steps gpu read tiles cute convert feeds idesc tmem scale-factors metadata"
).split()


def export(
    folder: Annotated[str, typer.Argument(help="Where the site goes; made when missing.")],
    family: Annotated[list[str] | None, typer.Option(help="Only these families.")] = None,
    as_json: AsJson = False,
) -> None:
    """Write a self-contained site: pages, JSON, SVG and scripts with relative links, no server. Unchanged files are
    not written again.
    """
    from lanescope.app.kit.extras import require_extra

    require_extra("web")

    from lanescope.app import export as site

    summary = site.export_site(folder, family or [], sys.stderr.isatty())
    (
        print_json(summary)
        if as_json
        else print(
            f"{folder}: {summary['pages']} pages, {summary['written']} of {summary['files']} files written,"
            f" {summary['bytes'] / 1e6:.1f} MB, {summary['seconds']:.1f} s"
        )
    )


OWN: dict[str, Callable[..., None]] = {"serve": serve, "export": export}  # verbs that belong to no feature


def _print_version(requested: bool) -> None:
    if requested:
        from lanescope.app.kit.release import describe_release, format_release

        print(*format_release(describe_release()), sep="\n")
        raise typer.Exit


def _run_no_verb(
    version: Annotated[
        bool, typer.Option("--version", help="Print version, PTX, ptxas and evidence.", callback=_print_version)
    ] = False,
) -> None:
    """Read the options before a verb."""


def build_cli() -> typer.Typer:
    """Return the command with all its verbs."""
    return _build_command(tuple(_list_verb_names()), False)


def _list_verb_names() -> list[str]:
    """Return all verbs in the order of --help."""
    names = dict.fromkeys([*OWN, *(verb for verbs in FEATURES.values() for verb in verbs)])
    return sorted(names, key=lambda verb: ORDER.index(verb) if verb in ORDER else len(ORDER))


def _build_command_for(words: list[str]) -> typer.Typer:
    """Return the command with the verbs that a command line needs: one, or all with their help texts."""
    if words and words[0] in _list_verb_names():
        return _build_command((words[0],), False)
    return build_cli() if "_LANESCOPE_COMPLETE" in os.environ else _build_command(tuple(_list_verb_names()), True)


@lru_cache(maxsize=64)
def _build_command(names: tuple[str, ...], for_help: bool) -> typer.Typer:
    """Return the command with these verbs. for_help: a verb with a help text in app/features.py is not loaded."""
    command = Commands(
        no_args_is_help=True,
        add_completion=True,
        callback=_run_no_verb,
        help="Tensor-core fragment layouts: which lane and register owns which element.",
    )
    for name in names:
        own_verbs = [make_verb(OWN[name])] if name in OWN else []
        add_verbs(command, own_verbs or [verb for folder in FEATURES for verb in _list_verbs(folder, name, for_help)])
    return command


def _list_verbs(folder: str, name: str, for_help: bool) -> list[Verb]:
    """Return the commands that a feature adds to a verb."""
    if name not in FEATURES[folder]:
        return []
    help = FEATURES[folder][name]
    if help and for_help:
        return [make_stub_verb(name, help)]
    verbs = list_written_verbs(folder) if not help else list_verbs(folder, load_feature(folder), help)
    return [verb for verb in verbs if verb.name == name]


def main() -> None:
    """Run the command. An error in the input is printed, with exit status 2."""
    from lanescope.errors import LayoutError, refuse_deep_recursion

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # × in a terminal without UTF-8
    try:
        for word in sys.argv[1:]:
            if not word.isprintable() and any("\ud800" <= letter <= "\udfff" for letter in word):
                raise LayoutError("bad_usage", f"{word[:60]!a} is not UTF-8 text.", "Write the argument in UTF-8.", "")
        with refuse_deep_recursion():
            _build_command_for(sys.argv[1:])(prog_name="lanescope")
    except LayoutError as error:
        _print_refusal(error)
    except ModuleNotFoundError as error:
        if (error.name or "lanescope").startswith("lanescope"):
            raise
        from lanescope.app.kit.extras import refuse_module

        _print_refusal(refuse_module(error.name or ""))
    except OSError as error:
        file_name = f"'{error.filename}': " if error.filename else ""
        _print_refusal(
            LayoutError(
                "bad_usage", f"{file_name}{error.strerror or error}.", "Choose another file or folder.", "output"
            )
        )


def _print_refusal(error: Any) -> NoReturn:
    if "--json" in sys.argv:
        print(json.dumps({"error": error.to_json()}))
    else:
        name, inside, _ = error.field.partition(".")
        option = f"--{name.replace('_', '-')}"
        given = any(word.partition("=")[0] == option for word in sys.argv[1:])
        where = f"{option}: " if inside and given and not error.message.startswith(f"{name} ") else ""
        print(f"lanescope: {where}{error.message}\n  {error.hint}", file=sys.stderr)
    raise SystemExit(2)


if __name__ == "__main__":
    main()
