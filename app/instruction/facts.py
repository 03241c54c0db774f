"""Facts about an instruction for pages, the API and the command line, built from the engine."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from lanescope.app.instruction.evidence import Evidence, list_evidence
from lanescope.app.instruction.wmma import WmmaMemory, build_memory, check_pointer
from lanescope.app.kit.enumerations import ElementType, Word32
from lanescope.app.kit.fact import (
    ByThread,
    Description,
    IntegerArray,
    Numbers,
    copy_fact,
    fact,
    make_optional_field,
    make_spread_field,
)
from lanescope.app.kit.rows import CatalogueRow, build_row
from lanescope.errors import LayoutError
from lanescope.names import lookup
from lanescope.ptx import catalog, instruction as engine, qualifiers
from lanescope.ptx.digits import DigitTerm
from lanescope.ptx.targets import parse_target_name


@fact
class PatternTerm:
    """A digit of a mixed-radix number: `weight` times a name that runs from 0 to size − 1."""

    name: str
    size: int
    weight: int


@fact
class Formula:
    """The map in PTX's words: thread and value → row and column, and back."""

    forward: str
    inverse: str


@fact
class Sparsity:
    """Of every `group` elements of a row `kept` are stored; an index of `index_bits` bits selects each."""

    kept: int
    group: int
    index_bits: int
    selectors: int
    index: Annotated[str, Description("The pattern of the indices.")]


@fact
class Operand:
    """One fragment: its sizes, registers, pattern, and the facts derived from the pattern."""

    name: str
    rows: int
    cols: int
    stored_cols: Annotated[int, Description("Columns in registers: fewer than cols where A is sparse.")]
    axes: tuple[str, ...]
    dims: tuple[str, ...]
    threads: int
    values: Annotated[int, Description("Elements one thread holds.")]
    element_type: ElementType
    element_bits: int
    container_bits: int
    registers: int
    register_type: str
    register_bits: int
    pattern: Annotated[str, Description(examples=("(g:8 t:4) (j:2 i:2 e:2) -> (i g) (j t e)",))]
    cute: Annotated[
        str, Description("The CuTe layout of the same map.", examples=("((4,8),(2,2,2)):((32,1),(16,8,128))",))
    ]
    linear_layout: Annotated[
        dict[str, list[list[int]]] | None,
        Description("Triton's bases by register, lane and warp; null if there are none."),
    ]
    formula: Formula
    terms: Annotated[dict[str, tuple[PatternTerm, ...]], Description("The digits of thread, value and each axis.")]
    copies: Annotated[int, Description("How many (thread, value) hold each element.")]
    sparsity: Sparsity | None
    source: str
    evidence: tuple[Evidence, ...]


@fact
class OperandMap(Operand):
    """The operand and its map, each [thread][value]: `row` and `col` of the element, its `register` and first `bit`.

    m8n8k4 with .f16 adds `product`; ldmatrix and stmatrix `matrix`; a sparse A its metadata, its `col` being the dense
    column while every index keeps the first positions.
    """

    stored_col: ByThread | None = make_optional_field()
    group_col: Annotated[ByThread | None, Description("The first dense column of the element's group.")] = (
        make_optional_field()
    )
    meta_thread: Annotated[ByThread | None, Description("The lane that supplies the element's index.")] = (
        make_optional_field()
    )
    meta_bit: Annotated[ByThread | None, Description("The index's first bit in that lane's metadata.")] = (
        make_optional_field()
    )
    group_size: int | None = make_optional_field()
    selector: int | None = make_optional_field()
    matrix: ByThread | None = make_optional_field()
    row: ByThread | None = make_optional_field()
    col: ByThread | None = make_optional_field()
    product: ByThread | None = make_optional_field()
    from_lane: Annotated[
        ByThread | None, Description("The lane whose row it holds after the instruction, where rows move.")
    ] = make_optional_field()
    columns: Annotated[int | None, Description("32-bit columns of tensor memory that it spans.")] = (
        make_optional_field()
    )
    places: Mapping[str, Any] = make_spread_field(lambda: sorted(_list_axes() - {"matrix", "row", "col", "product"}))
    register: ByThread
    bit: ByThread


@fact
class ScaleMap:
    """The supplier of each scale factor: `thread` and `byte` are [row][block] for scale_a, [col][block] for scale_b."""

    name: str
    element_type: ElementType
    blocks: int
    block_k: Annotated[int, Description("Elements of K that share a factor.")]
    byte_id: int
    byte_ids: Annotated[tuple[int, ...], Description("The byte-ids that are legal.")]
    thread_id: int
    thread_ids: Annotated[tuple[int, ...], Description("The thread-ids that are legal.")]
    pattern: str
    thread: Annotated[Numbers, IntegerArray(2)]
    byte: Annotated[Numbers, IntegerArray(2)]
    source: str


@fact
class AddressMap:
    """By lane: the matrix and row whose address it supplies, −1 if it supplies none."""

    name: str
    pattern: str
    lanes: int
    matrix: Annotated[Numbers, IntegerArray(1)]
    row: Annotated[Numbers, IntegerArray(1)]


@fact
class Detail(CatalogueRow):
    """One instruction and each of its operands without the element arrays."""

    operands: tuple[Operand, ...]
    note: str
    deprecated: str
    convergence: Annotated[str, Description("What .sync and .aligned require of the threads.")]
    source: str
    scales: tuple[ScaleMap, ...]
    address: AddressMap | None
    operands_elsewhere: Annotated[
        dict[str, str], Description("Operands that are not in registers, and where they are.")
    ]
    memory: Annotated[WmmaMemory | None, Description("wmma.load and wmma.store only.")]
    open: Annotated[str | None, Description("What the text of a tcgen05.mma leaves to its instruction descriptor.")] = (
        make_optional_field()
    )
    idesc: Annotated[Word32 | None, Description("The instruction descriptor that bound it.")] = make_optional_field()
    layout: Annotated[
        str | None, Description("PTX's letter of the data-path layout of a bound tcgen05.mma.", ("D",))
    ] = make_optional_field()
    share: Annotated[str | None, Description("What one CTA of a pair holds.")] = make_optional_field()
    operands_open: Annotated[dict[str, str] | None, Description("Operands whose place is open, and why.")] = (
        make_optional_field()
    )


def find_instruction(ptx: str, word: str = "", target: str = "") -> engine.Instruction:
    """Find the instruction of a text; with a word, or fields of one, the bound product. LayoutError if a target lacks
    it.
    """
    instruction = lookup.find(ptx)
    require_target(instruction, target)
    if not word.strip():
        return instruction
    from lanescope.blackwell.bound import bind

    return bind(instruction, word, parse_target_name(target, "target") if target.strip() else "")


def require_target(instruction: engine.Instruction, target: str) -> None:
    """Raise LayoutError for an unknown target, or one that lacks an instruction; "" is any target."""
    if target.strip():
        from lanescope.ptx.architectures import require_instruction

        require_instruction(instruction, parse_target_name(target, "target"))


def build_detail(instruction: engine.Instruction, pointer: str = "", ldm: str = "") -> Detail:
    """Build the row and the facts of each operand without the element arrays.

    pointer, ldm: of a wmma.load or wmma.store, judged under `memory`.
    """
    check = check_pointer(instruction, pointer, ldm)
    memory = build_memory(instruction)
    return copy_fact(
        Detail,
        build_row(instruction),
        operands=tuple(build_operand(instruction, op) for op in instruction.operands.values()),
        note=instruction.family.note,
        deprecated=instruction.family.deprecated,
        convergence=qualifiers.describe_convergence(instruction),
        source=str(instruction.family.source),
        scales=tuple(build_scale_map(instruction, name) for name in instruction.scales),
        address=build_address_map(instruction) if instruction.address else None,
        operands_elsewhere=dict(instruction.family.elsewhere),
        memory=dataclasses.replace(memory, check=check) if memory and check else memory,
        **_build_bound_fields(instruction),
    )


def _build_bound_fields(instruction: engine.Instruction) -> dict[str, Any]:
    """Build the fields that only a product in tensor memory has."""
    if not instruction.family.issue:
        return {}
    from lanescope.blackwell import bound

    if isinstance(instruction, bound.BoundMma):
        mma = instruction.mma
        fields: dict[str, Any] = {"operands_open": dict(instruction.open)} if instruction.open else {}
        fields |= {"share": bound.describe_share(mma)} if mma.ctas > 1 else {}
        return {"idesc": str(instruction.word), "layout": mma.place.letter, **fields}
    return {"open": bound.describe_open(instruction)}


def build_operand(instruction: engine.Instruction, op: engine.Operand) -> Operand:
    """Build one operand: sizes, registers, pattern and the texts derived from it."""
    pattern = op.pattern
    formula = {
        way: "\n".join(f"{name} = {value}" for name, value in lines.items()) for way, lines in op.formula().items()
    }
    return copy_fact(
        Operand,
        op,
        rows=op.row_count,
        cols=op.dense_col_count,
        stored_cols=op.col_count,
        axes=tuple(op.axes),
        dims=tuple(op.dims),
        element_type=op.element.name,
        element_bits=op.element.bits,
        register_type=op.element.register_type,
        pattern=str(pattern),
        linear_layout=pattern.linear_layout(),
        formula=Formula(**formula),
        terms={
            "thread": _build_terms(pattern.thread_terms()),
            "value": _build_terms(pattern.value_terms()),
            **{axis: _build_terms(terms) for axis, terms in zip(op.axes, pattern.coord_terms(), strict=True)},
        },
        copies=pattern.copies,
        sparsity=build_sparsity(op),
        source=str(op.source),
        evidence=list_evidence(instruction, op.name),
    )


def _list_axes() -> set[str]:
    """List the axes of every operand's map."""
    variants = (next(row.generate_instructions()) for row in catalog.families())  # a row's variants have the same axes
    return {axis for variant in variants for op in variant.operands.values() for axis in op.axes}


def _build_terms(terms: Iterable[DigitTerm]) -> tuple[PatternTerm, ...]:
    return tuple(copy_fact(PatternTerm, term) for term in terms)


def build_sparsity(op: engine.Operand) -> Sparsity | None:
    """Describe the compression of a stored A, None if it is dense."""
    s = op.sparsity
    if s is None:
        return None
    return copy_fact(Sparsity, s, index=str(s.index))


def build_scale_map(instruction: engine.Instruction, name: str, byte_id: int = 0, thread_id: int = 0) -> ScaleMap:
    """Build a block-scale operand under a byte-id and a thread-id."""
    scale = instruction.scales[name]
    thread, byte = scale.find_owners(byte_id, thread_id)
    return ScaleMap(
        name=name,
        element_type=scale.element.name,
        blocks=scale.blocks,
        block_k=instruction.sizes["k"] // scale.blocks,
        byte_id=byte_id,
        byte_ids=tuple(scale.byte_ids),
        thread_id=thread_id,
        thread_ids=tuple(scale.thread_ids),
        pattern=str(scale.pattern),
        thread=thread,
        byte=byte,
        source="PTX ISA 9.1, 9.7.14.3",
    )


def build_address_map(instruction: engine.Instruction) -> AddressMap:
    """Build the rows whose addresses the lanes of a matrix load or store supply."""
    import numpy as np

    op = instruction.address
    assert op is not None
    matrix, row = (
        np.pad(op.coords[axis][:, 0], (0, 32 - op.threads), constant_values=-1) for axis in ("matrix", "row")
    )
    return AddressMap(name="address", pattern=str(op.pattern), lanes=op.threads, matrix=matrix, row=row)


def build_operand_map(instruction: engine.Instruction, op: engine.Operand, selector: int = 0) -> OperandMap:
    """Build the facts and the map: every axis, register and bit as [thread][value] arrays (NumPy; the caller
    serializes).

    A sparse A also has the metadata's places for its sparsity selector; its col is the dense column while every index
    keeps the first positions.
    """
    import numpy as np

    from lanescope.blackwell import tmem

    value = np.arange(op.values)
    register, bit = np.divmod(value * op.container_bits, op.register_bits)
    shape = (op.threads, op.values)
    sparse: dict[str, Any] = {}
    if op.sparsity:
        meta_thread, meta_bit = op.sparsity.find_suppliers(selector)
        stored = op.coords["col"]
        sparse = {
            "stored_col": stored,
            "group_col": op.sparsity.list_group_columns(stored),
            "meta_thread": meta_thread,
            "meta_bit": meta_bit,
            "group_size": op.sparsity.group,
            "selector": selector,
        }
    elif selector:
        raise LayoutError(
            "bad_selector",
            f"Operand {op.name} of {instruction.ptx} has no sparsity selector.",
            "Leave selector out.",
            "selector",
        )
    axes = {**op.coords, op.plane[1]: op.cols}
    if instruction.family.shift:
        sparse["from_lane"] = np.broadcast_to(tmem.map_shifted_lanes()[:, None], shape)
    if instruction.family.tensor:
        sparse["columns"] = tmem.count_columns(op)
    field_names = {field.name for field in dataclasses.fields(OperandMap)}
    return copy_fact(
        OperandMap,
        build_operand(instruction, op),
        **sparse,
        **{axis: array for axis, array in axes.items() if axis in field_names},
        places={axis: array for axis, array in axes.items() if axis not in field_names},
        register=np.broadcast_to(register, shape),
        bit=np.broadcast_to(bit, shape),
    )


def build_map(
    instruction: engine.Instruction, name: str, selector: int = 0, byte_id: int = 0, thread_id: int = 0
) -> OperandMap | ScaleMap | AddressMap:
    """Build the map with this name: a fragment, a scale or the addresses."""
    lower_name = name.lower()
    if lower_name in instruction.scales:
        return build_scale_map(instruction, lower_name, byte_id, thread_id)
    if lower_name == "address" and instruction.address:
        return build_address_map(instruction)
    return build_operand_map(instruction, instruction.operand(lower_name), selector)
