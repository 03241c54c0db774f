"""Answers of runs by kind, the state of devices, and the stored evidence.

A worker sends plain JSON: `parse_answer` converts it to facts, in the server and in the command line.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from lanescope.app.hardware import jobs, runs
from lanescope.app.hardware.evidence import PARTS, SummaryRow, summarize
from lanescope.app.hardware.members import FleetMember
from lanescope.app.hardware.pieces import Contradiction, find_contradictions
from lanescope.app.kit.enumerations import Word64, make_word_enum
from lanescope.app.kit.fact import Description, IntegerArray, Json, TaggedUnion, copy_fact, fact, make_optional_field
from lanescope.app.kit.memory_words import AccessName, Major
from lanescope.app.kit.run_results import (
    Architecture,
    Backend,
    Device,
    MmaRan,
    RunResult,
    WorkerName,
    parse_mma_result,
    parse_ran_by,
)
from lanescope.errors import LayoutError
from lanescope.ptx import catalog, hardware_runs

ByThread = Annotated[Any, IntegerArray(2, "[thread][value]")]
DeviceNumber = Annotated[int, Description("The CUDA device's number.")]
Source = Annotated[str, Description("The program that ran.")]

if TYPE_CHECKING:
    RunKind: TypeAlias = str
else:
    RunKind = make_word_enum("RunKind", runs.KINDS, "What is run.")


# the device -----------------------------------------------------------------------------------------------------------


@fact
class DeviceList:
    """Whether this machine has a CUDA device, and if not, why."""

    available: bool
    reason: str
    devices: list[Device]


@fact
class Recent:
    """One of the last runs of this server."""

    kind: RunKind
    what: str
    operand: str
    backend: Backend
    outcome: str
    seconds: float
    at: str
    worker: Annotated[str | None, Description("The device of the fleet that ran it.")] = make_optional_field()


@fact
class FleetWorker:
    """One worker of the fleet: its device, and whether it gets runs."""

    name: Annotated[str, Description("As a run may name it: host:number.")]
    host: str
    device: Device | None
    architecture: Annotated[str, Description("As a run may name it: sm_90.")]
    program: Annotated[str, Description("Which Lanescope it runs.")]
    ready: bool
    reason: Annotated[str, Description("Why it gets no jobs.")]
    queue: Annotated[int, Description("Its jobs, the running one included.")]
    last_seen_seconds: Annotated[float, Description("Since it was last heard of.")]


@fact
class FleetStatus:
    """The scheduler that runs go to, and its workers."""

    scheduler: str
    connected: bool
    reason: Annotated[str, Description("Why it is not ready.")]
    program: Annotated[str, Description("Which Lanescope this server runs.")]
    workers: list[FleetWorker]

    def named(self, what: str, chosen: str = "") -> list[str]:
        """Return the choices of a form: names or architectures of the workers that get runs, and the current choice."""
        values = {getattr(worker, what) for worker in self.workers if worker.ready}
        return sorted(values | {chosen} - {""})


@fact
class GpuStatus(DeviceList):
    """Whether this server has a CUDA device, its own or the fleet's, and if not, why."""

    queue: Annotated[int, Description("Runs that wait.")]
    recent: list[Recent]
    fleet: Annotated[FleetStatus | None, Description("Where runs go to a scheduler.")] = make_optional_field()


def build_fleet_status(scheduler: str, known: Sequence[FleetMember], reason: str = "") -> FleetStatus:
    """Return the status of a fleet from its scheduler's report. reason: why the report is missing."""
    workers = [
        copy_fact(
            FleetWorker,
            member,
            device=Device(**member.device) if member.device else None,
            ready=not member.refused,
            reason=member.refused,
            last_seen_seconds=round(member.seen_seconds, 1),
        )
        for member in known
    ]
    return FleetStatus(
        scheduler=scheduler,
        connected=not reason,
        reason=reason,
        program=jobs.compute_program_version(),
        workers=workers,
    )


# answers --------------------------------------------------------------------------------------------------------------


@fact
class FragmentRequest:
    """A checked request of kind fragment."""

    kind: Literal["fragment"]
    backend: Backend
    device: DeviceNumber
    instruction: str
    operand: str
    architecture: Architecture = make_optional_field()
    worker: WorkerName = make_optional_field()


@fact
class PlaceMismatch:
    """A (thread, value) that holds another element than predicted."""

    thread: int
    value: int
    expected: list[int]
    got: list[int]


@fact
class FragmentRan(RunResult):
    """The map, predicted and measured: by axis, [thread][value]."""

    kind: Literal["fragment"]
    request: FragmentRequest
    operand: str
    axes: list[str]
    predicted: dict[str, ByThread]
    measured: dict[str, ByThread]
    mismatches: list[PlaceMismatch]
    compared: int
    agrees: bool
    source: Source
    duration_ms: float


@fact
class DescriptorRequest:
    """A checked request of kind descriptor."""

    kind: Literal["descriptor"]
    backend: Backend
    device: DeviceNumber
    instruction: str
    descriptor: Word64
    operand: str
    major: Major
    architecture: Architecture = make_optional_field()
    worker: WorkerName = make_optional_field()


@fact
class AddressMismatch:
    """An element that is read from another byte than predicted."""

    row: int
    k: int
    expected: int
    got: int


@fact
class DescriptorRan(RunResult):
    """The byte address of every element, predicted and measured: [row][k]."""

    kind: Literal["descriptor"]
    request: DescriptorRequest
    descriptor: Word64
    moved_bytes: Annotated[int, Description("How far the start was moved into the kernel's shared memory.")]
    predicted: Annotated[Any, IntegerArray(2)]
    measured: Annotated[Any, IntegerArray(2)]
    mismatches: list[AddressMismatch]
    compared: int
    agrees: bool
    source: Source
    duration_ms: float


@fact
class BanksRequest:
    """A checked request of kind banks."""

    kind: Literal["banks"]
    backend: Backend
    device: DeviceNumber
    access: AccessName
    address: list[int | None]
    architecture: Architecture = make_optional_field()
    worker: WorkerName = make_optional_field()


@fact
class Wavefronts:
    """The predicted cost of an access."""

    wavefronts: int
    ideal: int
    ways: int


@fact
class Clocks:
    """The measured clocks of an access."""

    cycles: float
    cycles_one_address: float
    wavefronts: int


@fact
class ClockMismatch:
    """Clocks that do not match the wavefronts."""

    expected: float
    got: float


@fact
class BanksRan(RunResult):
    """The wavefronts predicted, and the clocks measured."""

    kind: Literal["banks"]
    request: BanksRequest
    access: AccessName
    predicted: Wavefronts
    measured: Clocks
    mismatches: list[ClockMismatch]
    compared: int
    agrees: bool
    source: Source
    duration_ms: float


RunAnswer: TypeAlias = Annotated[MmaRan | FragmentRan | DescriptorRan | BanksRan, TaggedUnion("kind")]


def parse_answer(result: Json) -> RunAnswer:
    """Return a worker's answer as a fact; raise LayoutError if it has another shape."""
    try:
        return _MADE[result["kind"]](result)
    except (KeyError, TypeError) as error:
        raise LayoutError(
            "worker_garbage", f"The worker's answer fits no kind of run: {error}.", "See the server's log."
        ) from None


def _parse_common(result: Json, request: type[Any], mismatch: type[Any]) -> Json:
    """Return the fields of a worker's answer, with those that every kind but mma has as facts."""
    facts = {
        "request": request(**result["request"]),
        "mismatches": [mismatch(**row) for row in result["mismatches"]],
        "device": Device(**result["device"]),
    }
    return result | facts | parse_ran_by(result)


def _parse_banks(result: Json) -> BanksRan:
    seen = {"predicted": Wavefronts(**result["predicted"]), "measured": Clocks(**result["measured"])}
    return BanksRan(**_parse_common(result, BanksRequest, ClockMismatch) | seen)


_MADE: dict[str, Callable[[Json], RunAnswer]] = {
    "mma": parse_mma_result,
    "fragment": lambda result: FragmentRan(**_parse_common(result, FragmentRequest, PlaceMismatch)),
    "descriptor": lambda result: DescriptorRan(**_parse_common(result, DescriptorRequest, AddressMismatch)),
    "banks": _parse_banks,
}


# stored evidence ------------------------------------------------------------------------------------------------------


@fact
class EvidenceCase:
    """The runs of one descriptor, access, chain or program, and how many had the predicted result."""

    ran: int
    agreed: int
    differs: list[str] | None = make_optional_field()
    cycles_one_address: float | None = make_optional_field()
    most_cycles: float | None = make_optional_field()
    refused: Annotated[int | None, Description("Tensor maps that the driver refused.")] = make_optional_field()


@fact
class DeviceEvidence:
    """One stored file: its head, its summary by family, and the cases of its other parts."""

    meta: dict[str, Any]  # device, driver, date, method, …: text; dates by part, where parts were run apart
    rows: list[SummaryRow]
    parts: dict[str, dict[str, EvidenceCase]]


@lru_cache(maxsize=1)
def load_evidence() -> tuple[DeviceEvidence, ...]:
    """Return the stored evidence of every device."""
    return tuple(
        DeviceEvidence(
            meta=data["meta"],
            rows=summarize(data),
            parts={
                name: {what: EvidenceCase(**row) for what, row in data[name].items()} for name in PARTS if name in data
            },
        )
        for data in hardware_runs.load_evidence()
    )


@fact
class FamilyRuns:
    """How many forms of a family every device ran with the predicted result, of all that assemble."""

    name: str
    family: str
    ran: int
    forms: int


@lru_cache(maxsize=1)
def count_family_runs() -> tuple[FamilyRuns, ...]:
    """Count the forms of each family that every device of the evidence ran with the predicted result."""
    devices = len(hardware_runs.load_evidence())
    counts: dict[str, list[int]] = {}
    names: dict[str, str] = {}
    for instruction in catalog.instructions():
        family, runs_of = instruction.family, hardware_runs.list_hardware_runs(instruction)
        scaled = " block_scale" if family.scale_blocks and not family.tensor else ""
        names.setdefault(family.name, (family.opcode.short or family.opcode.text).partition(".load")[0] + scaled)
        ran = bool(runs_of) and len(runs_of) == devices and all(run.agrees for run in runs_of)
        family_counts = counts.setdefault(family.name, [0, 0])
        family_counts[0] += ran
        family_counts[1] += 1
    return tuple(FamilyRuns(name=names[of], family=of, ran=ran, forms=forms) for of, (ran, forms) in counts.items())


@lru_cache(maxsize=1)
def list_contradictions() -> tuple[Contradiction, ...]:
    """Return the cases in which the stored evidence of two devices differs."""
    return tuple(find_contradictions(hardware_runs.load_evidence()))
