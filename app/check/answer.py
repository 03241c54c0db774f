"""POST /check: the source files of a request, each checked with those of them that it includes."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated

from lanescope.app.check import suppress
from lanescope.app.check.defines import find_target, list_unused, make_choices, parse_defines
from lanescope.app.check.facts import CheckReport, SourceText, decode_source
from lanescope.app.check.includes import join_includes
from lanescope.app.check.merging import merge_reports
from lanescope.app.check.running import SourceReport, check_source
from lanescope.app.kit.fact import Description, Json
from lanescope.app.kit.question import declare_question, list_field, raw_field, text_field
from lanescope.app.kit.target import target_field
from lanescope.inputs import require_object
from lanescope.workbench.results import LONGEST

SECONDS = 4.0  # for all files of a request; the server itself ends a request after 5 s
MOST_FILES = 64


@declare_question
class CheckFile:
    """A source file."""

    name: str = text_field("kernel.cu", "Name", "As its includes name it.", most=200)
    text: str = text_field("", "Text", "", most=LONGEST, required=True)


@declare_question
class CheckBody:
    """Source files that belong together."""

    files: tuple[CheckFile, ...] = list_field(CheckFile, "Files", "", least=1, most=MOST_FILES, required=True)
    target: str = target_field()
    define: Json = raw_field(
        "Defined",
        "",
        {},
        type=Annotated[dict[str, str | int], Description("Values for what the files leave open, as -D gives them.")],
        examples=({"BK": 64},),
    )


def answer_check(question: CheckBody) -> CheckReport:
    """Return the errors of matrix descriptors, tensor maps and instructions in source files, with their places;
    undetermined ones are counted with the reason. Each file is read with those of the others that it includes.
    """
    values = require_object(question.define, "define", "Give {name: value}.")
    defines = parse_defines(f"{name}={value}" for name, value in values.items())
    target = question.target or find_target(defines)
    sources = [decode_source(file.name, file.text.encode("utf-8", "surrogatepass")) for file in question.files]
    checked = check_within(sources, make_choices(defines), target)
    texts = {source.name: source.text for source in sources}
    report = replace(merge_reports(report for _, report in checked), unused=list(list_unused(defines, texts.values())))
    return suppress.apply_comments(report, texts)


def check_within(
    sources: Sequence[SourceText], choices: Mapping[str, str], target: str, seconds: float | None = None
) -> Iterator[tuple[SourceText, SourceReport]]:
    """Yield each source joined with those that it includes, and its report.

    seconds: time limit for all sources; SECONDS if None.
    """
    end = time.monotonic() + (SECONDS if seconds is None else seconds)
    for source in sources:
        joined = join_includes(source, sources)
        yield joined, check_source(joined, max(round(end - time.monotonic(), 1), 0.1), choices, target)
