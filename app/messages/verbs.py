"""The command explain."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lanescope.app.kit.terminal import AsJson, print_answer, read_text

if TYPE_CHECKING:
    from lanescope.app.messages.facts import MessageAnswer, MessageFact, MessageName

_LONGEST_NAME = 200  # characters of a file's name
app = typer.Typer(rich_markup_mode=None)


@app.command()
def explain(
    message: Annotated[
        str, typer.Argument(metavar="FILE|TEXT", help="What the tool printed, or a file with it; - for standard input.")
    ] = "-",
    as_json: AsJson = False,
) -> None:
    """Explain a message of ptxas, cuTensorMapEncode or CuTe: its reason, the change, and the smallest program. Exit
    status 1 if no message is known; the most similar ones are listed.
    """
    from lanescope.app.messages.facts import MessageQuestion, answer_message

    is_file = len(message) < _LONGEST_NAME and "\n" not in message and Path(message).is_file()
    text = read_text(message) if message == "-" or is_file else message
    answer = answer_message(MessageQuestion(text=text))
    print_answer(answer, format_answer, as_json, bool(answer.found or answer.numbers or answer.listed))


def format_answer(answer: MessageAnswer) -> Iterator[str]:
    """Yield the lines of an answer."""
    from lanescope.app.messages.facts import NUMBER_NOTICE

    for number, message in enumerate(answer.found):
        if number:
            yield ""
        yield from format_message(message.message, message.code)
    if answer.numbers:
        yield NUMBER_NOTICE
        yield from map(format_name, answer.numbers)
    if not (answer.found or answer.numbers or answer.listed):
        yield "No known message of ptxas, cuTensorMapEncode or CuTe is in this text." + (
            " Most similar:" if answer.nearest else " Paste the whole line, as the tool printed it."
        )
        yield from map(format_name, answer.nearest)
    yield from map(format_name, answer.listed)


def format_message(message: MessageFact, code: str) -> Iterator[str]:
    """Yield the lines of a message."""
    yield f"{message.title}{f' ({code})' if code else ''}"
    yield f"  Why: {message.reason}"
    yield f"  Change: {message.change}"
    if message.wrong:
        yield "  Raised by:"
        yield from (f"    {line}" for line in message.wrong.splitlines())
        yield "  Silent:"
        yield from (f"    {line}" for line in message.right.splitlines())
    yield from (f"  {line}" for line in (message.proof, message.page) if line)


def format_name(message: MessageName) -> str:
    """Return a message as a list item."""
    return f"  {message.title}: {message.page}"
