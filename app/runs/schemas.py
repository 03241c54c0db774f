"""Runs on a device: bodies by kind, and answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from pydantic import Field
from typing_extensions import TypeAliasType

from app.banks.schemas import Address
from app.gpu import runs
from app.gpu.products import SEED
from app.kit.names import AccessName, Major, words
from app.kit.ran import Options
from app.kit.schemas import ByThread, Closed, Grid, Number, PtxText, Word64
from app.memory.schemas import DescriptorText
from layouts.options import LONGEST

if TYPE_CHECKING:
    Backend: TypeAlias = str
    RunKind: TypeAlias = str
else:
    Backend = words("Backend", runs.BACKENDS, "cuda executes; numpy simulates and says so.")
    RunKind = words("RunKind", runs.KINDS, "What is run.")


SideOptions = Annotated[
    str | dict[str, str | int],
    Field(examples=["major=MN,swizzle=64B", {"major": "MN", "swizzle": "64B"}], max_length=LONGEST),
]


Matrix = TypeAliasType(
    "Matrix",
    Annotated[
        str | list[float] | list[list[float]] | list[list[list[float]]],
        Field(
            description=(
                "A formula of i (the element's place in memory: A and C row by row, B column by column), row and col;"
                " or rows of numbers; or one list of all numbers as memory has them."
            ),
            examples=["-(i + 1)", "row == col ? 1 : 0"],
        ),
    ],
)


class MmaData(Closed):
    """Matrices in place of random ones; C is zero where it is left out."""

    a: Matrix = ""
    b: Matrix = ""
    c: Matrix = ""


# bodies ---------------------------------------------------------------------------------------------------------------


class Run(Closed):
    backend: Backend = Backend("cuda")
    device: Number = Field(default=0, description="The CUDA device's number.")


class MmaRun(Run):
    """One product of random matrices against NumPy."""

    kind: Literal["mma"]
    instruction: PtxText
    a_from: Literal["registers", "shared"] = Field(
        default="registers", description="shared: wgmma's A through a descriptor."
    )
    seed: Number = SEED
    a: SideOptions = Field(
        default="",
        description=(
            "With a, b or d it is a whole product, by the program of /instructions/{ptx}/kernel: how A is stored."
        ),
    )
    b: SideOptions = Field(default="", description="How B is stored.")
    d: SideOptions = Field(default="", description="What becomes of C and D.")
    data: MmaData = Field(default=MmaData(), description="Not together with a, b or d.")


class FragmentRun(Run):
    """One operand's map, measured element by element without the map."""

    kind: Literal["fragment"]
    instruction: PtxText
    operand: str | None = Field(
        default=None, examples=["a"], description="The first that can be measured, where it is left out."
    )


class DescriptorRun(Run):
    """The byte a wgmma descriptor reads for every element."""

    kind: Literal["descriptor"]
    descriptor: DescriptorText
    instruction: PtxText = Field(examples=["wgmma.mma_async.m64n64k16.f32.f16.f16"])
    operand: Literal["a", "b"] = "a"
    major: Major = Major("K")


class BanksRun(Run):
    """The clocks of one access against its predicted wavefronts."""

    kind: Literal["banks"]
    access: AccessName
    address: Address


RunBody = Annotated[MmaRun | FragmentRun | DescriptorRun | BanksRun, Field(discriminator="kind")]


# answers --------------------------------------------------------------------------------------------------------------


class Device(Closed):
    """A CUDA device, or the simulation that stands for one."""

    name: str
    compute_capability: str
    driver: str
    cuda: str
    nvrtc: str
    target: str = Field(default="", description="What kernels are compiled for.")


class Recent(Closed):
    """One of the last runs of this server."""

    kind: RunKind
    what: str
    operand: str
    backend: Backend
    outcome: str
    seconds: float
    at: str


class GpuStatus(Closed):
    """Whether this server has a CUDA device, and if not, why."""

    available: bool
    reason: str
    devices: list[Device]
    queue: int = Field(description="Runs that wait.")
    recent: list[Recent]


class Ran(Closed):
    backend: Backend
    simulation: bool
    device: Device
    compared: int
    agrees: bool
    source: str = Field(description="The program that ran.")
    duration_ms: float


Value = float | None  # null: NaN or infinite
Values = list[list[Value]] | list[list[list[Value]]]


class MmaRequest(Run):
    kind: Literal["mma"]
    instruction: str
    a_from: str
    seed: int
    a: dict[str, str] | None = None
    b: dict[str, str] | None = None
    d: dict[str, str] | None = None
    data: dict[str, Any] | None = None


class ValueMismatch(Closed):
    product: int | None = None
    row: int
    col: int
    expected: Value
    got: Value


class MmaRan(Ran):
    """D, predicted and measured: [row][col], or [product][row][col]."""

    kind: Literal["mma"]
    request: MmaRequest
    predicted: Values
    measured: Values
    mismatches: list[ValueMismatch]
    copies_that_differ: int
    descriptors: dict[str, list[Word64]] | None = Field(
        default=None,
        description="A whole product: each step's descriptor of a and b, starts counted from shared memory.",
    )
    immediates: dict[str, int] | None = Field(
        default=None, description="A whole product: the instruction's immediates."
    )
    steps: int | None = Field(default=None, description="A whole product: how many instructions it took.")
    options: Options | None = Field(default=None, description="A whole product: every option by side, spelled in full.")


class FragmentRequest(Run):
    kind: Literal["fragment"]
    instruction: str
    operand: str


class PlaceMismatch(Closed):
    thread: int
    value: int
    expected: list[int]
    got: list[int]


class FragmentRan(Ran):
    """The map, predicted and measured: by axis, [thread][value]."""

    kind: Literal["fragment"]
    request: FragmentRequest
    operand: str
    axes: list[str]
    predicted: dict[str, ByThread]
    measured: dict[str, ByThread]
    mismatches: list[PlaceMismatch]


class DescriptorRequest(Run):
    kind: Literal["descriptor"]
    descriptor: Word64
    instruction: str
    operand: str
    major: Major


class AddressMismatch(Closed):
    row: int
    k: int
    expected: int
    got: int


class DescriptorRan(Ran):
    """The byte address of every element, predicted and measured: [row][k]."""

    kind: Literal["descriptor"]
    request: DescriptorRequest
    descriptor: Word64
    moved_bytes: int = Field(description="How far the start was moved to lie in the kernel's shared memory.")
    predicted: Grid
    measured: Grid
    mismatches: list[AddressMismatch]


class BanksRequest(Run):
    kind: Literal["banks"]
    access: AccessName
    address: list[int | None]


class Wavefronts(Closed):
    wavefronts: int
    ideal: int
    ways: int


class Clocks(Closed):
    cycles: float
    cycles_one_address: float
    wavefronts: int


class ClockMismatch(Closed):
    expected: float
    got: float


class BanksRan(Ran):
    """The wavefronts predicted, and the clocks measured."""

    kind: Literal["banks"]
    request: BanksRequest
    access: AccessName
    predicted: Wavefronts
    measured: Clocks
    mismatches: list[ClockMismatch]


RunAnswer = Annotated[MmaRan | FragmentRan | DescriptorRan | BanksRan, Field(discriminator="kind")]
