"""Helpers of the command line: JSON, tables, files, storages, completion."""

from __future__ import annotations

import inspect
import json
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import is_dataclass
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

if TYPE_CHECKING:
    from lanescope.app.kit.picture import DrawingJob

Verb = TypeVar("Verb", bound=Callable[..., None])
AsJson = Annotated[bool, typer.Option("--json", help="Print what the HTTP API answers.")]
TargetOption = Annotated[str, typer.Option(help="What ptxas compiles for; any when left out.")]


def make_verb_group(name: str, help_text: str) -> tuple[typer.Typer, typer.Typer]:
    """Return a feature's Typer app, and the command group `name` in it."""
    app = typer.Typer(rich_markup_mode=None)
    group = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help=help_text)
    app.add_typer(group, name=name)
    return app, group


def make_option(help: str, **settings: Any) -> Any:
    """Return the annotation of an option with a text."""
    return Annotated[str, typer.Option(help=help, **settings)]


def make_flag(name: str, help: str) -> Any:
    """Return the annotation of a switch."""
    return Annotated[bool, typer.Option(f"--{name}", help=help)]


def take_options(
    parameter: str, options: Mapping[str, Any], make: Callable[[dict[str, Any]], Any] = dict
) -> Callable[[Verb], Verb]:
    """Replace a parameter of a command by options: {name: annotation}. The command gets what `make` returns for their
    values.
    """

    def replace(verb: Verb) -> Verb:
        @wraps(verb)
        def run_verb(*arguments: Any, **values: Any) -> None:
            taken = {name: values.pop(name) for name in options}
            verb(*arguments, **values, **{parameter: make(taken)})

        added = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=kind.__origin__(), annotation=kind)
            for name, kind in options.items()
        ]
        parameters: list[inspect.Parameter] = []
        for own in inspect.signature(verb, eval_str=True).parameters.values():
            is_option = hasattr(own.annotation, "__metadata__")  # Typer passes it by its name
            parameters += added if own.name == parameter else [own.replace(kind=own.KEYWORD_ONLY) if is_option else own]
        run_verb.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run_verb.__annotations__ = {}
        return run_verb  # type: ignore[return-value]

    return replace


def print_warnings(warnings: Iterable[Any]) -> None:
    """Print warnings, one line per field."""
    for warning in warnings:
        print(f"  ! {warning.field}: {warning.message}")


def drop_empty(options: Mapping[str, Any]) -> dict[str, Any]:
    """Drop the options that were omitted, whose value is ""."""
    return {name: value for name, value in options.items() if value}


def parse_sizes(text: str) -> list[str] | None:
    """Parse the sizes of a tile or tensor, `64x128` or `64,128`; None if the option was left out."""
    return text.replace("x", ",").replace("×", ",").split(",") if text else None


def print_answer(answer: Any, lines: Callable[[Any], Iterable[str]], as_json: bool, good: bool) -> None:
    """Print an answer as JSON, or as lines for people. Exit status 1 if it is not good."""
    if as_json:
        print_json(answer)
    else:
        print("\n".join(lines(answer)))
    if not good:
        raise typer.Exit(1)


def read_text(file: str) -> str:
    """Read a text file ("-" is stdin); LayoutError if it is not text."""
    from pathlib import Path

    from lanescope.errors import LayoutError

    try:
        return sys.stdin.read() if file == "-" else Path(file).read_text()
    except UnicodeDecodeError:
        raise LayoutError("bad_text", f"'{file[:60]}' is not UTF-8 text.", "Give a text file.", "file") from None
    except ValueError:  # not a possible file name
        raise LayoutError("bad_text", f"{file[:60]!a} is not a file name.", "Name a text file.", "file") from None
    except OSError as error:
        hint = "Name a text file, or -, and give the text on standard input."
        raise LayoutError("bad_usage", f"'{file[:200]}': {error.strerror}.", hint, "file") from None


def read_json(file: str) -> dict[str, Any]:
    """Read an object from a JSON file; LayoutError if it contains anything else."""
    from lanescope.errors import LayoutError

    try:
        content = json.loads(read_text(file))
    except json.JSONDecodeError as error:
        raise LayoutError(
            "bad_json", f"'{file[:60]}' is not JSON: {error.msg}.", "Give a JSON object.", "loop"
        ) from None
    if not isinstance(content, dict):
        raise LayoutError("bad_json", f"'{file[:60]}' holds no object.", "Give a JSON object.", "loop")
    return content


def print_json(content: Any) -> None:
    import numpy as np

    from lanescope.app.kit.fact import fact_to_json

    def convert(value: Any) -> Any:
        if isinstance(value, np.ndarray) and value.dtype.kind == "f" and not np.isfinite(value).all():
            values = value.astype(object)
            values[~np.isfinite(value)] = None  # JSON has no NaN
            return values.tolist()
        return (
            value.tolist()
            if isinstance(value, np.ndarray | np.generic)
            else fact_to_json(value)
            if is_dataclass(value)
            else str(value)
        )

    print(json.dumps(content, default=convert))


def print_table(head: list[str], rows: list[list[str]]) -> None:
    """Print a table for people: colours and rules, lanes distinguished by alternating rows."""
    from rich.console import Console
    from rich.table import Table

    table = Table(
        *head, row_styles=["", "dim"] if len(rows) > 8 else None, header_style="bold cyan", box=None, pad_edge=False
    )
    for row in rows:
        table.add_row(*row)
    Console().print(table, markup=False)


def complete_ptx(incomplete: str) -> list[str]:
    """Complete PTX texts for a shell."""
    from lanescope.ptx import catalog

    texts = (text for i in catalog.instructions() for text in (i.ptx, i.ptx.replace(".sync.aligned", "")))
    return [text for text in texts if text.startswith(incomplete)]


def parse_picture_form(output: str) -> str:
    """Return the picture format that a file's extension selects."""
    from lanescope.app.kit.media import FORMS
    from lanescope.errors import LayoutError

    form = "svg" if output == "-" else output.rpartition(".")[2].lower()
    if form not in FORMS or (output != "-" and "." not in output):
        raise LayoutError(
            "bad_usage",
            f"'{output}' is not a known output format.",
            f"End it in {', '.join('.' + form for form in FORMS)}.",
            "output",
        )
    return form


def read_bytes(
    name: str,
    field: str,
    most: int,
    code: str = "bad_usage",
    hint: str = "Name a file.",
    *,
    head: int = 0,
    extent: Callable[[bytes], int] | None = None,
) -> bytes:
    """Read a file's first `most` + 1 bytes, so that the caller can tell whether it is longer.

    If the first `head` bytes give its size, `extent` returns that, and no more are read. A pipe is read once.
    LayoutError if the file cannot be read.
    """
    from pathlib import Path

    from lanescope.errors import LayoutError

    try:
        with Path(name).open("rb") as file:
            if extent is None:
                return file.read(most + 1)
            first = file.read(head)
            return first + file.read(max(min(extent(first), most + 1) - len(first), 0))
    except LayoutError:
        raise
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise LayoutError(code, f"{field}: '{name[:200]}' cannot be read: {reason}.", hint, field) from None


def write_picture(picture: str | bytes | DrawingJob, output: str) -> None:
    """Write a picture to a file, or to standard output if it is "-"."""
    from lanescope.app.kit.picture import DrawingJob

    content = picture.render() if isinstance(picture, DrawingJob) else picture
    write_output(content.encode() if isinstance(content, str) else content, output)


def write_output(content: bytes, output: str) -> None:
    from pathlib import Path

    from lanescope.errors import LayoutError

    if output == "-":
        sys.stdout.buffer.write(content)
        return
    try:
        Path(output).write_bytes(content)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise LayoutError(
            "bad_usage", f"{output[:200]!a} cannot be written: {reason}.", "Choose another file.", "output"
        ) from None
    print(f"{output}  {len(content)} bytes", file=sys.stderr)


_NEXT = re.compile(r"[,\s]+(?=[a-z_0-9]+=)")  # a CuTe layout has commas, too, but no `name=`


def parse_pairs(items: Iterable[str], field: str) -> dict[str, str]:
    """Parse name=value options into an object: one per option, or several separated by commas."""
    from lanescope.errors import LayoutError
    from lanescope.inputs import shorten_value

    found: dict[str, str] = {}
    for item in [part for text in items for part in _NEXT.split(text)]:
        name, equals, value = item.partition("=")
        if not equals:
            raise LayoutError(
                f"bad_{field}",
                f"'{shorten_value(item)}' is not a {field} option.",
                "Write name=value, e.g. swizzle=128B.",
                field,
            )
        if name.strip() in found:
            raise LayoutError(
                f"bad_{field}",
                f"'{shorten_value(name)}' occurs twice.",
                "Give every name once.",
                f"{field}.{shorten_value(name)}",
            )
        found[name.strip()] = value.strip()
    return found


def parse_storage_options(items: list[str] | None, major: str) -> dict[str, str]:
    """Parse name=value options into a storage."""
    spec = parse_pairs(items or ["kind=canonical"], "storage")
    spec.setdefault("kind", "canonical")
    contiguous = {"canonical": "major", "rows": "inner", "atoms": "inner"}.get(spec["kind"])
    if contiguous:
        spec.setdefault(contiguous, major)
    return spec


def format_storage_options(spec: Mapping[str, object]) -> str:
    """Return a storage as an option that `parse_storage_options` reads back, quoted for a shell."""
    texts = {name: hex(int(str(value), 0)) if name == "base" else value for name, value in spec.items()}
    return "--storage " + shlex.quote(",".join(f"{name}={value}" for name, value in texts.items()))


Ptx = Annotated[
    str,
    typer.Argument(
        help="PTX, with or without .sync.aligned, or a name: 'mma.m16n8k16 bf16'.", autocompletion=complete_ptx
    ),
]
InstructionDescriptor = Annotated[
    str,
    typer.Option(
        "--idesc", help="The instruction descriptor of a tcgen05.mma: its word, or fields such as m=128,n=64,a=bf16."
    ),
]
