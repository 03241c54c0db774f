"""Response models: they make the OpenAPI document, and the contract tests validate real answers against them."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class Shape(BaseModel):
    m: int | None
    n: int | None
    k: int | None


class Types(BaseModel):
    a: str | None
    b: str | None
    c: str | None
    d: str | None


class Row(BaseModel):
    """What every answer about an instruction begins with."""

    model_config = ConfigDict(extra="forbid")
    ptx: str
    family: str
    shape: Shape
    types: Types
    layouts: list[str]
    modifiers: list[str]
    targets: list[str]
    ptx_version: str


class Summary(Row):
    operands: list[str]


class Listing(BaseModel):
    count: int
    instructions: list[Summary]


class Term(BaseModel):
    name: str
    size: int
    weight: int


class Formula(BaseModel):
    forward: str
    inverse: str


class Evidence(BaseModel):
    kind: str
    text: str
    by: str
    date: str


class Sparsity(BaseModel):
    kept: int
    group: int
    index_bits: int
    selectors: int
    index: str


class Operand(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str
    rows: int
    cols: int
    stored_cols: int
    axes: list[str]
    dims: list[str]
    threads: int
    values: int
    element_type: str
    element_bits: int
    container_bits: int
    registers: int
    register_type: str
    register_bits: int
    pattern: str
    cute: str
    linear_layout: dict[str, list[list[int]]] | None
    formula: Formula
    terms: dict[str, list[Term]]
    copies: int
    sparsity: Sparsity | None
    source: str
    evidence: list[Evidence]


class ScaleMap(BaseModel):
    """`thread`, `byte`: [row][block] for scale_a, [col][block] for scale_b."""

    model_config = ConfigDict(extra="forbid")
    name: str
    element_type: str
    blocks: int
    block_k: int
    byte_id: int
    byte_ids: list[int]
    thread_id: int
    thread_ids: list[int]
    pattern: str
    thread: list[list[int]]
    byte: list[list[int]]
    source: str


class AddressMap(BaseModel):
    """By lane: the matrix and row whose address it supplies, −1 where it supplies none."""

    model_config = ConfigDict(extra="forbid")
    name: str
    pattern: str
    lanes: int
    matrix: list[int]
    row: list[int]


class Requirement(BaseModel):
    """What one document asks of a matrix in memory."""

    document: str
    pointer_bytes: int
    ldm_elements: int
    source: str


class Memory(BaseModel):
    """What a wmma.load or wmma.store asks of memory; pointer_bytes and ldm_elements meet every document."""

    model_config = ConfigDict(extra="forbid")
    cpp: str
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
    note: str
    deprecated: str
    convergence: str
    source: str
    operands: list[Operand]
    scales: list[ScaleMap]
    address: AddressMap | None
    operands_elsewhere: dict[str, str]
    memory: Memory | None


class OperandMap(Operand):
    """`row`, `col` (and `product`): the element of [thread][value]; `register`, `bit`: where in the registers it lies."""

    row: list[list[int]]
    col: list[list[int]]
    product: list[list[int]] | None = None
    matrix: list[list[int]] | None = None
    stored_col: list[list[int]] | None = None
    group_col: list[list[int]] | None = None
    meta_thread: list[list[int]] | None = None
    meta_bit: list[list[int]] | None = None
    group_size: int | None = None
    selector: int | None = None
    register_: list[list[int]] = Field(alias="register")
    bit: list[list[int]]


class ErrorBody(BaseModel):
    code: str
    message: str
    hint: str
    field: str


class Error(BaseModel):
    error: ErrorBody
