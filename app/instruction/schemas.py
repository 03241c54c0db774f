"""Answers about instructions: the listing, one instruction, an operand's map, and the maps beside it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from app.kit.names import ElementType
from app.kit.schemas import ByThread, Closed, Grid, Row


class Term(Closed):
    """A digit of a mixed-radix number: `weight` times a name that runs from 0 to size − 1."""

    name: str
    size: int
    weight: int


class Formula(Closed):
    """The map in PTX's words: thread and value → row and column, and back."""

    forward: str
    inverse: str


class Evidence(Closed):
    """One independent statement that stands behind the map."""

    kind: str = Field(examples=["ran", "assembled", "documented", "not_run"])
    text: str
    by: str
    date: str


class Sparsity(Closed):
    """Of every `group` elements of a row `kept` are stored; an index of `index_bits` bits says which."""

    kept: int
    group: int
    index_bits: int
    selectors: int
    index: str = Field(description="The pattern of the indices.")


class Operand(Closed):
    """One fragment: its sizes, registers, pattern, and all that derives from the pattern."""

    name: str
    rows: int
    cols: int
    stored_cols: int = Field(description="Columns in registers: fewer than cols where A is sparse.")
    axes: list[str]
    dims: list[str]
    threads: int
    values: int = Field(description="Elements one thread holds.")
    element_type: ElementType
    element_bits: int
    container_bits: int
    registers: int
    register_type: str
    register_bits: int
    pattern: str = Field(examples=["(g:8 t:4) (j:2 i:2 e:2) -> (i g) (j t e)"])
    cute: str = Field(description="The CuTe layout of the same map.", examples=["((4,8),(2,2,2)):((32,1),(16,8,128))"])
    linear_layout: dict[str, list[list[int]]] | None = Field(
        description="Triton's bases by register, lane and warp; null where there are none."
    )
    formula: Formula
    terms: dict[str, list[Term]] = Field(description="The digits of thread, value and each axis.")
    copies: int = Field(description="How many (thread, value) hold each element.")
    sparsity: Sparsity | None
    source: str
    evidence: list[Evidence]


class ScaleMap(Closed):
    """Who supplies each scale factor: `thread` and `byte` are [row][block] for scale_a, [col][block] for scale_b."""

    name: str
    element_type: ElementType
    blocks: int
    block_k: int = Field(description="Elements of K that share a factor.")
    byte_id: int
    byte_ids: list[int] = Field(description="The byte-ids that are legal.")
    thread_id: int
    thread_ids: list[int] = Field(description="The thread-ids that are legal.")
    pattern: str
    thread: Grid
    byte: Grid
    source: str


class AddressMap(Closed):
    """By lane: the matrix and row whose address it supplies, −1 where it supplies none."""

    name: str
    pattern: str
    lanes: int
    matrix: list[int]
    row: list[int]


class Requirement(Closed):
    """What one document asks of a matrix in memory."""

    document: str
    pointer_bytes: int
    ldm_elements: int
    source: str


class Memory(Closed):
    """What a wmma.load or wmma.store asks of memory; pointer_bytes and ldm_elements meet every document."""

    cpp: str = Field(description="The fragment's type in mma.h.")
    num_elements: int
    num_storage_elements: int
    storage_type: str
    since: str
    fragment_bytes: int
    default_stride: int
    pointer_bytes: int
    ldm_elements: int
    requirements: list[Requirement]


class Detail(Row):
    """One instruction and each of its operands without the element arrays."""

    note: str
    deprecated: str
    convergence: str = Field(description="What .sync and .aligned ask of the threads.")
    source: str
    operands: list[Operand]
    scales: list[ScaleMap]
    address: AddressMap | None
    operands_elsewhere: dict[str, str] = Field(description="Operands that lie in no registers, and where they lie.")
    memory: Memory | None = Field(description="wmma.load and wmma.store only.")


class OperandMap(Operand):
    """The operand and its map, each [thread][value]: `row` and `col` of the element, `register` and `bit` where it lies.

    m8n8k4 with .f16 adds `product`; ldmatrix and stmatrix `matrix`; a sparse A its metadata, its `col` being the dense column while every index
    keeps the first positions.
    """

    row: ByThread
    col: ByThread
    register_: Annotated[ByThread, Field(alias="register")]
    bit: ByThread
    product: ByThread | None = None
    matrix: ByThread | None = None
    stored_col: ByThread | None = None
    group_col: ByThread | None = Field(default=None, description="The first dense column of the element's group.")
    meta_thread: ByThread | None = Field(default=None, description="The lane that supplies the element's index.")
    meta_bit: ByThread | None = Field(default=None, description="The index's first bit in that lane's metadata.")
    group_size: int | None = None
    selector: int | None = None
