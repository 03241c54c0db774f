"""Facts about targets, for the API, the command and the page."""

from __future__ import annotations

from typing import Annotated

from lanescope.app.kit.enumerations import Target
from lanescope.app.kit.fact import Description, copy_fact, fact
from lanescope.app.kit.question import declare_question, word_field
from lanescope.app.kit.target import parse_optional_target
from lanescope.blackwell.tmem import COLUMNS
from lanescope.blackwell.tmem.placement import count_exclusive_columns
from lanescope.names.form_names import find_issued_kind
from lanescope.ptx import catalog
from lanescope.ptx.architectures import (
    PORTABLE_CLUSTER,
    STATIC_SHARED_MEMORY,
    find_substitutes,
    get_architecture,
    has_tensor_memory,
    list_families,
    list_targets_with,
)
from lanescope.ptx.instruction import Instruction
from lanescope.ptx.overview import fold_shapes, get_section
from lanescope.ptx.table.newer import list_newer_forms
from lanescope.ptx.targets import TARGETS, list_least, strip_suffix

CALLED = {name: " · ".join([name, *get_architecture(name).gpus[:1]]) for name in TARGETS}


@declare_question
class TargetQuestion:
    """One target, or all of them."""

    target: str = word_field(
        TARGETS,
        "GPU or target",
        "One target; every target when left out.",
        "",
        parse=parse_optional_target,
        called=CALLED,
    )


@fact
class UnmappedForm:
    """A form that ptxas assembles and that has no map here."""

    name: str
    ptx: Annotated[str, Description("The PTX release that brought it.", ("9.4",))]
    does: str
    missing: Annotated[str, Description("What is not documented, or why no map shows it.")]
    source: str


@fact
class TargetLimits:
    """A target: its first CUDA release, its features, and the limits of a block."""

    target: Target
    gpus: Annotated[tuple[str, ...], Description("Some GPUs of this architecture.")]
    ptx: Annotated[str, Description("The first PTX release with this target.", ("8.0",))]
    families: Annotated[tuple[str, ...], Description("Families with at least one form that ptxas assembles for it.")]
    shared_memory_bytes: Annotated[
        int | None, Description("Most bytes of one block that opts in. null if it is not documented.")
    ]
    oversized_above_bytes: Annotated[
        int | None,
        Description("Beyond so many bytes a kernel must allow oversized shared memory. null: no such bytes."),
    ]
    static_shared_memory_bytes: Annotated[int, Description("Most bytes of one block that does not opt in.")]
    sm_shared_memory_bytes: Annotated[int, Description("Most bytes of the blocks of one SM.")]
    tensor_memory_columns: Annotated[int, Description("Columns that tcgen05.alloc may take; 0: no tensor memory.")]
    exclusive_columns: Annotated[int, Description("Columns that tcgen05.alloc.exclusive (PTX 9.4) may take.")]
    max_cluster: Annotated[int, Description("Blocks of the largest documented cluster; 1: no clusters.")]
    unmapped: Annotated[
        tuple[UnmappedForm, ...], Description("What newer PTX has for it and no map here shows, with what is open.")
    ]
    portable_cluster: Annotated[int, Description("Blocks of a cluster that needs no attribute of the function.")]


@fact
class FamilySupport:
    """A family on a target: number of forms, types and shapes; or the families to use instead."""

    family: str
    called: str
    forms: int
    of: int
    types: tuple[str, ...]
    missing_types: Annotated[tuple[str, ...], Description("Types of the family on other targets.")]
    shapes: tuple[str, ...]
    elsewhere: Annotated[tuple[str, ...], Description("Of each architecture the target that has it.")]
    same_gpu: Annotated[str, Description("A target of the same GPU that has it.")]
    instead: Annotated[tuple[str, ...], Description("Families of this target that do the same work.")]


def list_targets(question: TargetQuestion) -> tuple[TargetLimits, ...]:
    """Return every target that ptxas lists, with its families and the limits of a block."""
    return tuple(_describe_target(name) for name in ([question.target] if question.target else TARGETS))


def _describe_target(name: str) -> TargetLimits:
    row = get_architecture(name)
    return TargetLimits(
        target=name,
        gpus=row.gpus,
        ptx=row.get_ptx(name),
        families=list_families(name),
        shared_memory_bytes=row.block_shared_memory,
        oversized_above_bytes=row.oversized_above or None,
        static_shared_memory_bytes=STATIC_SHARED_MEMORY,
        sm_shared_memory_bytes=row.sm_shared_memory,
        tensor_memory_columns=COLUMNS if has_tensor_memory(name) else 0,
        exclusive_columns=count_exclusive_columns(name) if has_tensor_memory(name) else 0,
        unmapped=tuple(copy_fact(UnmappedForm, newer_form) for newer_form in list_newer_forms(name)),
        max_cluster=row.cluster,
        portable_cluster=min(row.cluster, PORTABLE_CLUSTER),
    )


def list_support(target: str) -> tuple[FamilySupport, ...]:
    """Return the support of every family by a target, in the catalogue's order."""
    forms: dict[str, list[Instruction]] = {name: [] for name in catalog.FAMILY_NAMES}
    for instruction in catalog.instructions():
        forms[instruction.family.name].append(instruction)
    return tuple(_describe_family(name, every, target) for name, every in forms.items())


def _describe_family(name: str, every: list[Instruction], target: str) -> FamilySupport:
    supported = [i for i in every if target in catalog.get_target_support(i).targets]
    products = [i for i in every if i.family.multiplies]
    kinds = dict.fromkeys(_name_type(i) for i in products or every)  # wmma: its products, not its loads
    supported_types = {_name_type(i) for i in supported}
    having = list_targets_with(name)
    return FamilySupport(
        family=name,
        called=get_section(every[0].family).partition(".load")[0],
        forms=len(supported),
        of=len(every),
        types=tuple(kind for kind in kinds if kind in supported_types),
        missing_types=tuple(kind for kind in kinds if kind not in supported_types),
        shapes=tuple(fold_shapes(dict.fromkeys(i.shape for i in products if i in supported))),
        elsewhere=tuple(list_least(having)),
        same_gpu=next((name for name in having if strip_suffix(name) == strip_suffix(target)), ""),
        instead=find_substitutes(target, name),
    )


def _name_type(i: Instruction) -> str:
    """Return the kind of a tcgen05.mma, the type of A of another product, or the shape of a data movement."""
    return find_issued_kind(i) if i.family.issue else i.types.get("a") or next(iter(i.types.values()), i.shape)
