"""Targets: the instructions that a GPU has and lacks, and the limits of a block."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from lanescope.app.kit.feature import Entry, Feature, Tool
from lanescope.app.kit.terminal import print_json
from lanescope.app.targets import facts
from lanescope.app.targets.facts import TargetLimits, TargetQuestion
from lanescope.errors import LayoutError
from lanescope.inputs import join_words
from lanescope.ptx import catalog

DEFAULT = "sm_90a"
OVERSIZED = "cudaSharedMemoryModeAllowOversizedSharedMemory"  # depends on the kernel or its launch


def build_target_context(question: TargetQuestion, answer: tuple[TargetLimits, ...]) -> dict[str, Any]:
    """Return the template's variables: every family, and every target in one table.

    The page shows one target: the one that it opens with if the address has an empty one.
    """
    (limits,) = answer if question.target else facts.list_targets(TargetQuestion(target=DEFAULT))
    support = facts.list_support(limits.target)
    sections = {row.family: row.called for row in support}
    return {
        "limits": limits,
        "present": [row for row in support if row.forms],
        "lacking": [row for row in support if not row.forms],
        "name_families": lambda names: join_words([sections[name] for name in names], "or"),
        "every": facts.list_targets(TargetQuestion(target="")),
        "families": [(name, sections[name]) for name in catalog.FAMILY_NAMES],
        "assembler": catalog.get_assembler_release(),
        "oversized": OVERSIZED,
    }


def format_size(size: int | None) -> str:
    """Return bytes in KB, or that the number is not documented.

    >>> format_size(232448), format_size(None)
    ('227 KB', 'not documented')
    """
    return f"{size // 1024} KB" if size else "not documented"


def _format_support(target: str) -> Iterator[str]:
    """Yield a line for each family: how many of its forms a target has, or the targets that have them."""
    support = facts.list_support(target)
    names = {family.family: family.called for family in support}
    for family in support:
        if family.forms:
            yield f"  ✓ {family.called:18} {family.forms:3} of {family.of:3} forms: {', '.join(family.types)}"
        else:
            where = f"compile for {family.same_gpu}" if family.same_gpu else f"only {', '.join(family.elsewhere)}"
            instead = join_words([names[name] for name in family.instead], "or")
            yield f"  ✗ {family.called:18} {where}" + (f"; {instead} instead" if instead else "")


def format_targets(question: TargetQuestion, answer: tuple[TargetLimits, ...]) -> Iterator[str]:
    """Yield a line for each target; for one alone its limits and families."""
    if not question.target:
        yield f"{'target':8}  {'PTX':4}  {'block':14}  {'columns':7}  {'cluster':7}  GPUs"
        for row in answer:
            memory = format_size(row.shared_memory_bytes)
            yield (
                f"{row.target:8}  {row.ptx:4}  {memory:14}  {row.tensor_memory_columns:7}  {row.max_cluster:7}  "
                f"{', '.join(row.gpus)}".rstrip()
            )
        return
    row = answer[0]
    yield " · ".join([row.target, *([", ".join(row.gpus)] if row.gpus else []), f"PTX {row.ptx} or later"])
    yield f"  shared memory of a block: 48 KB, {format_size(row.shared_memory_bytes)} when it opts in"
    if row.oversized_above_bytes:
        yield f"    beyond {format_size(row.oversized_above_bytes)}: {OVERSIZED}"
    yield f"  shared memory of an SM: {format_size(row.sm_shared_memory_bytes)}"
    exclusive = f", {row.exclusive_columns} of an exclusive allocation (PTX 9.4)" if row.exclusive_columns else ""
    columns = row.tensor_memory_columns
    yield f"  tensor memory: {columns} columns{exclusive}" if columns else "  no tensor memory"
    larger = f"; {row.max_cluster} where the kernel allows it" if row.max_cluster > row.portable_cluster else ""
    yield f"  clusters: up to {row.portable_cluster} blocks{larger}" if row.max_cluster > 1 else "  no clusters"
    yield from _format_support(row.target)
    for form in row.unmapped:
        yield f"  ? {form.name} (PTX {form.ptx}): {form.missing}"


def run_targets(
    words: dict[str, Any],
    *,
    name: Annotated[str, typer.Argument(help="One target, as --target.", metavar="[target]")] = "",
    as_json: bool,
) -> None:
    """Print the features of a target, or of all targets."""
    option = words.get("target", name)
    if name and option != name:
        raise LayoutError("bad_usage", f"Two targets: '{name[:20]}' and '{option[:20]}'.", "Give one.", "target")
    question, found = TARGETS_TOOL.ask(words | ({"target": name} if name else {}))
    if as_json:
        print_json(found)
    else:
        print("\n".join(format_targets(question, found)))


TARGETS_TOOL = Tool(
    question=TargetQuestion,
    answer=facts.list_targets,
    api="targets",
    page="/targets",
    template="targets/page.html",
    context=build_target_context,
    opening={"target": DEFAULT},
    command="targets",
    lines=format_targets,
    run=run_targets,
    examples=tuple(
        (title, {"target": target})
        for title, target in (
            ("H100, H200", "sm_90a"),
            ("B200", "sm_100a"),
            ("Rubin", "sm_107a"),
            ("RTX 50", "sm_120a"),
            ("DGX Spark", "sm_121a"),
        )
    ),
)
FEATURE = Feature(
    tools=(TARGETS_TOOL,),
    menu=(Entry("Instructions", 2, "What my GPU has", "/targets", "families, types, shapes and limits of a target"),),
    examples={"/api/v1/targets": "/api/v1/targets?target=sm_120a"},
)
