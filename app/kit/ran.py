"""What a run says of itself, wherever it is told: the device, and a product's answer, which steps take apart.

Workers know nothing of these facts: they send plain JSON, from which the server makes them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from lanescope.app.hardware import runs
from lanescope.app.kit.fact import Json, Reals, Says, fact, sometimes
from lanescope.app.kit.names import Word64, words

if TYPE_CHECKING:
    Backend: TypeAlias = str
    Value: TypeAlias = float
else:
    Value = float | None  # null in JSON: NaN or infinite
    Backend = words("Backend", runs.BACKENDS, "cuda executes; numpy simulates and says so.")


@fact
class Device:
    """A CUDA device, or the simulation that stands for one."""

    name: str
    compute_capability: str
    driver: str
    cuda: str
    nvrtc: str
    target: Annotated[str | None, Says("What kernels are compiled for.")] = sometimes()


@fact
class Options:
    """Every option by side, spelled in full: what was given, and the defaults."""

    a: dict[str, str]
    b: dict[str, str]
    d: dict[str, str]


Architecture = Annotated[str | None, Says("The architecture that was asked for.")]
WorkerName = Annotated[str | None, Says("The device of the fleet that was asked for.")]


@fact
class RanBy:
    """Which device of the fleet ran it."""

    worker: Annotated[str, Says("Its name, host:number.")]
    host: str
    program: Annotated[str, Says("Which Lanescope it runs.")]
    after: Annotated[str | None, Says("The worker that had it first and went away.")] = sometimes()


@fact
class MmaRequest:
    """A checked request of kind mma; with a, b and d it is a whole product."""

    kind: Literal["mma"]
    backend: Backend
    device: Annotated[int, Says("The CUDA device's number.")]
    instruction: str
    a_from: str
    seed: int
    a: dict[str, str] | None = sometimes()
    b: dict[str, str] | None = sometimes()
    d: dict[str, str] | None = sometimes()
    data: dict[str, Any] | None = sometimes()  # matrices as they travel: a formula's text, or lists
    architecture: Architecture = sometimes()
    worker: WorkerName = sometimes()


@fact
class ValueMismatch:
    """An element of D that came out otherwise."""

    product: int | None = sometimes()
    row: int
    col: int
    expected: Value
    got: Value


@fact
class Ran:
    """What every answer of a run begins with."""

    kind: str
    request: object
    backend: Backend
    simulation: bool
    device: Device
    ran_by: RanBy | None = sometimes()


@fact
class MmaRan(Ran):
    """D, predicted and measured: [row][col], or [product][row][col]."""

    kind: Literal["mma"]
    request: MmaRequest
    predicted: Annotated[Any, Reals((2, 3))]
    measured: Annotated[Any, Reals((2, 3))]
    mismatches: list[ValueMismatch]
    copies_that_differ: int
    compared: int
    agrees: bool
    source: Annotated[str, Says("The program that ran.")]
    descriptors: Annotated[
        dict[str, list[Word64]] | None,
        Says("A whole product: each step's descriptor of a and b, starts counted from shared memory."),
    ] = sometimes()
    immediates: Annotated[dict[str, int] | None, Says("A whole product: the instruction's immediates.")] = sometimes()
    steps: Annotated[int | None, Says("A whole product: how many instructions it took.")] = sometimes()
    options: Annotated[Options | None, Says("A whole product: every option by side, spelled in full.")] = sometimes()
    duration_ms: float


def ran_mma(told: Json) -> MmaRan:
    """A worker's answer of kind mma as a fact; KeyError or TypeError where it is none."""
    options = {"options": Options(**told["options"])} if "options" in told else {}
    made = {
        "device": Device(**told["device"]),
        "request": MmaRequest(**told["request"]),
        "mismatches": [ValueMismatch(**row) for row in told["mismatches"]],
    }
    return MmaRan(**told | made | options | ran_by(told))


def ran_by(told: Json) -> dict[str, RanBy]:
    """Who ran it, where an answer says so."""
    return {"ran_by": RanBy(**told["ran_by"])} if "ran_by" in told else {}
