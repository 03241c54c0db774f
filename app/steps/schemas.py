"""The steps of one mma: body and answer."""

from __future__ import annotations

from pydantic import Field

from app.kit.names import Major, SwizzleMode
from app.kit.schemas import Closed, Grid, Number, PtxText, Word64
from app.runs.schemas import Backend, Device, MmaData, SideOptions, Value, Values


class StepsBody(Closed):
    """One mma and the element of D to take apart; matrices of your own in place of random ones."""

    instruction: PtxText
    data: MmaData = MmaData()
    a: SideOptions = Field(default="", description="wgmma: how A is stored.")
    b: SideOptions = Field(default="", description="wgmma: how B is stored.")
    d: SideOptions = Field(default="", description="wgmma: what becomes of C and D.")
    row: Number = 0
    col: Number = 0
    product: Number = Field(default=0, description="Which of m8n8k4's four.")
    seed: Number = 1
    backend: Backend = Backend("numpy")


class Memory(Closed):
    """A matrix as it lies in memory."""

    order: str
    element: str
    lines: list[list[list[Value]]] = Field(description="[product][line][element].")
    pitch_bytes: int


class Load(Closed):
    """The ldmatrix that fills an operand, and the byte offset each lane gives."""

    ptx: str
    turns: int
    pitch_bytes: int
    lane_offsets: list[list[int]] = Field(description="[turn][lane], −1 where the lane's address is not used.")
    offset: str
    steps: list[list[int]] = Field(description="[turn]: lines and bytes from the first turn's place.")


class Term(Closed):
    k: int
    a: Value
    b: Value
    scale: float
    product: Value
    a_at: str
    b_at: str


class Element(Closed):
    """One element of D: its terms, who holds each factor, and the sum."""

    row: int
    col: int
    product: int
    terms: list[Term]
    c: Value
    c_at: str
    sum: Value
    d: Value
    d_at: str


class Traced(Closed):
    ptx: str
    seed: int
    data: dict[str, str] = Field(description="Where a matrix comes from that is not random.")
    backend: Backend
    simulation: bool
    device: Device
    agrees: bool


class Steps(Traced):
    """Everything one mma of a warp does."""

    memory: dict[str, Memory]
    loads: dict[str, Load | None]
    registers: dict[str, list[list[str]]] = Field(description="[lane][register], hex.")
    values: dict[str, list[list[Value]]] = Field(description="What the registers hold: [lane][value].")
    metadata: list[str] | None
    element: Element
    d: Values


# a wgmma's whole product ----------------------------------------------------------------------------------------------


class Lines(Closed):
    """A matrix in global memory: lines of its contiguous dimension."""

    order: str
    element: str
    lines: list[list[Value]]


class SharedTile(Closed):
    """An operand in shared memory, from byte `base` to before byte `end`: address [mn][k], bytes from the kernel's
    first one.
    """

    major: Major
    how: str = Field(description="How the operand is stored, in a few words.", examples=["swizzle 128B"])
    base: int
    end: int
    address: Grid


class StepDescriptor(Closed):
    step: int
    descriptor: Word64
    start_address: int
    lbo_bytes: int
    sbo_bytes: int
    base_offset: int
    swizzle: SwizzleMode
    unused: list[str]


class Registers(Closed):
    """One thread's registers, hex: A of every step where it comes from registers, D before and after."""

    thread: int
    a: list[list[str]] | None = None
    c: list[str]
    d: list[str]


class ReadTerm(Closed):
    k: int
    step: int
    a: Value
    a_at: str = Field(description="The byte it is read from, or who holds it.")
    b: Value
    b_at: str
    product: Value


class ReadElement(Closed):
    """One element of D: its terms, where each factor is read, and the sum."""

    row: int
    col: int
    terms: list[ReadTerm]
    c: Value
    sum: Value
    d: Value
    d_at: str
    thread: int
    expected: Value


class WgmmaSteps(Traced):
    """Everything one product with a wgmma does."""

    options: dict[str, dict[str, str]]
    steps: int
    immediates: dict[str, int | str]
    memory: dict[str, Lines]
    shared: dict[str, SharedTile]
    descriptors: dict[str, list[StepDescriptor]]
    metadata: list[list[str]] | None
    registers: Registers
    element: ReadElement
    d: list[list[Value]]
