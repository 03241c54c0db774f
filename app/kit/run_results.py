"""Facts about a run for all pages and routes that show one: the device, and the result of a product.

Workers do not know these facts: they send plain JSON, from which the server builds them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from lanescope.app.hardware import runs
from lanescope.app.kit.enumerations import Word64, make_word_enum
from lanescope.app.kit.fact import Description, Json, RealArray, fact, make_optional_field

if TYPE_CHECKING:
    Backend: TypeAlias = str
    Value: TypeAlias = float
else:
    Value = float | None  # null in JSON: NaN or infinite
    Backend = make_word_enum("Backend", runs.BACKENDS, "cuda executes; numpy simulates and says so.")


@fact
class Device:
    """A CUDA device, or the simulation that replaces it."""

    name: str
    compute_capability: str
    driver: str
    cuda: str
    nvrtc: str
    target: Annotated[str | None, Description("What kernels are compiled for.")] = make_optional_field()


@fact
class Options:
    """Every option of each side, including the defaults."""

    a: dict[str, str]
    b: dict[str, str]
    d: dict[str, str]


Architecture = Annotated[str | None, Description("The requested architecture.")]
WorkerName = Annotated[str | None, Description("The requested device of the fleet.")]


@fact
class RanBy:
    """The device of the fleet that ran it."""

    worker: Annotated[str, Description("Its name, host:number.")]
    host: str
    program: Annotated[str, Description("Which Lanescope it runs.")]
    after: Annotated[str | None, Description("The worker that had it first and went away.")] = make_optional_field()


@fact
class MmaRequest:
    """A checked request of kind mma; with a, b and d it is a whole product."""

    kind: Literal["mma"]
    backend: Backend
    device: Annotated[int, Description("The CUDA device's number.")]
    instruction: str
    a_from: str
    seed: int
    a: dict[str, str] | None = make_optional_field()
    b: dict[str, str] | None = make_optional_field()
    d: dict[str, str] | None = make_optional_field()
    data: dict[str, Any] | None = make_optional_field()  # matrices as sent: the text of a formula, or lists
    architecture: Architecture = make_optional_field()
    worker: WorkerName = make_optional_field()


@fact
class ValueMismatch:
    """An element of D whose measured value differs."""

    product: int | None = make_optional_field()
    row: int
    col: int
    expected: Value
    got: Value


@fact
class RunResult:
    """The first fields of every run's answer."""

    kind: str
    request: object
    backend: Backend
    simulation: bool
    device: Device
    ran_by: RanBy | None = make_optional_field()


@fact
class MmaRan(RunResult):
    """Predicted and measured D: [row][col], or [product][row][col]."""

    kind: Literal["mma"]
    request: MmaRequest
    predicted: Annotated[Any, RealArray((2, 3))]
    measured: Annotated[Any, RealArray((2, 3))]
    mismatches: list[ValueMismatch]
    copies_that_differ: int
    compared: int
    agrees: bool
    source: Annotated[str, Description("The program that ran.")]
    descriptors: Annotated[
        dict[str, list[Word64]] | None,
        Description("A whole product: each step's descriptor of a and b, starts counted from shared memory."),
    ] = make_optional_field()
    immediates: Annotated[dict[str, int] | None, Description("A whole product: the instruction's immediates.")] = (
        make_optional_field()
    )
    steps: Annotated[int | None, Description("A whole product: how many instructions it took.")] = make_optional_field()
    options: Annotated[Options | None, Description("A whole product: every option by side, spelled in full.")] = (
        make_optional_field()
    )
    duration_ms: float


def parse_mma_result(answer: Json) -> MmaRan:
    """Return a worker's answer of kind mma as a fact; KeyError or TypeError if it is another."""
    options = {"options": Options(**answer["options"])} if "options" in answer else {}
    facts = {
        "device": Device(**answer["device"]),
        "request": MmaRequest(**answer["request"]),
        "mismatches": [ValueMismatch(**row) for row in answer["mismatches"]],
    }
    return MmaRan(**answer | facts | options | parse_ran_by(answer))


def parse_ran_by(answer: Json) -> dict[str, RanBy]:
    """Return the device of the fleet that ran it, if the answer has one."""
    return {"ran_by": RanBy(**answer["ran_by"])} if "ran_by" in answer else {}
