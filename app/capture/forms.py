"""The verdict on a capture, for programs, the command line and the page."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from lanescope import capture
from lanescope.app.dump.base64_files import decode_base64
from lanescope.app.kit.enumerations import Word64
from lanescope.app.kit.fact import Description, Json, copy_fact, fact
from lanescope.app.kit.question import declare_question, flag_field, options_of, raw_field
from lanescope.app.memory.storage import StorageSpec
from lanescope.app.memory.verdicts import Diagnosis, build_diagnosis
from lanescope.bits import format_word
from lanescope.capture.causes import CaptureCause, find_causes
from lanescope.capture.report import Verified, summarize_verdict
from lanescope.capture.verdict import MisreadElement, OperandVerdict
from lanescope.dump import npy
from lanescope.errors import LayoutError
from lanescope.inputs import check_keys

MOST_STEPS = 512  # more are not verified by a server
MOST_TEXT = 24 << 20  # characters of one file in base64
Base64 = Annotated[str, Description(limits={"maxLength": MOST_TEXT})]


@fact
class RecordedSlice:
    """Where the slice that an operand should be begins, and whether the kernel stated it."""

    mn: int
    k: int
    by: Literal["stated", "inferred"]


@fact
class RecordedElement:
    """A wrong element. read: (mn, k) of the element that was read, null if it is not in the matrix or its value is
    ambiguous; lies: the address of the right one, null if it was not recorded or occurs more than once.
    """

    row: int
    k: int
    address: int | None
    read: list[int] | None
    expected: list[int]
    lies: int | None


@fact
class RecordedOperand:
    """An operand of a recorded instruction. ambiguous: number of elements whose value occurs more than once in the
    matrix; storage: how its tile is stored in the recorded memory, relative to `storage_at`.
    """

    operand: Literal["a", "b"]
    read_from: Literal["descriptor", "registers"]
    ok: bool
    slice: RecordedSlice
    total: int
    right: int
    outside: int
    ambiguous: int
    descriptor: Word64 | None
    major: str | None
    first_wrong: RecordedElement | None
    storage: StorageSpec | None
    storage_text: str | None
    storage_at: list[int] | None
    diagnoses: list[Diagnosis]


@fact
class RecordedStep:
    """A recorded wgmma or mma. index: its position in the loop of its warp or warpgroup."""

    index: int
    kind: Annotated[str, Description("What was recorded.", examples=("wgmma",))]
    file: str
    line: int
    label: str
    block: list[int]
    warp: int
    instruction: str
    ok: bool
    operands: list[RecordedOperand]


@fact
class RecordedRows:
    """The row that each lane of an ldmatrix fetched: (mn, k) of its first element, null if that is not in A or B."""

    file: str
    line: int
    warp: int
    operand: Literal["a", "b"]
    rows: list[list[int] | None]


@fact
class RecordedAccumulators:
    """D of one warp, compared with NumPy.

    as_read: whether it is the product of what the steps read; verdict: unknown if D may include steps that were not
    recorded or could not be read.
    """

    verdict: Literal["match", "mismatch", "unknown"]
    file: str
    line: int
    warp: int
    m: int
    n: int
    steps: int
    total: int
    right: int
    as_read: bool


@fact
class NotJudged:
    """A record without a verdict."""

    file: str
    line: int
    reason: str


OPERANDS: tuple[Literal["a"], Literal["b"]] = ("a", "b")


@fact
class RecordedRepair:
    """The word that an operand was given, and the right word."""

    operand: Literal["a", "b"]
    given: Word64
    right: Word64


@fact
class RecordedCause:
    """A mistake, and the steps that are wrong because of it."""

    code: str
    message: Annotated[str, Description("Of its first step.")]
    operands: list[str]
    steps: Annotated[int, Description("How many are wrong for it.")]
    of: Annotated[int, Description("How many read the operand.")]
    first: Annotated[int, Description("The first of them: its index in the loop.")]
    file: str
    line: int
    repairs: Annotated[list[RecordedRepair], Description("Of the first step; empty if no other word repairs it.")]
    folded: Annotated[list[str], Description("What later steps were diagnosed with, which follows from it.")]


@fact
class CaptureVerified:
    """What every recorded instruction read, and whether it is the slice that it should multiply.

    The verdict is unknown if nothing is wrong but some records have no verdict.
    """

    verdict: Literal["match", "mismatch", "unknown"]
    summary: str
    against: Annotated[Literal["fills", "matrices"], Description("What A and B were taken to be.")]
    records: int
    dropped: Annotated[int, Description("Records that did not fit into the buffer.")]
    causes: Annotated[list[RecordedCause], Description("The mistakes behind the wrong steps, the first one first.")]
    first_wrong: Annotated[int | None, Description("Index into steps.")]
    steps: list[RecordedStep]
    loads: list[RecordedRows]
    accumulators: list[RecordedAccumulators]
    not_judged: list[NotJudged]
    notes: list[str]


# what is asked --------------------------------------------------------------------------------------------------------


@declare_question
class CaptureBody:
    """A capture, and the matrices A and B if they were not the fills."""

    capture: str = raw_field(
        "Capture", "The file that lanescope::save wrote, in base64.", required=True, type=Base64, file=""
    )
    second: str | None = raw_field(
        "Second pass of an 8-bit type",
        "The second pass of an 8-bit type, in base64; null for none.",
        type=Base64 | None,
        file="",
    )
    a: str | None = raw_field(
        "A, (m, k), .npy",
        "A in base64: a .npy file of (m, k); null for the fill.",
        type=Base64 | None,
        file=".npy",
    )
    b: str | None = raw_field(
        "B, (k, n), .npy",
        "B in base64: a .npy file of (k, n); null for the fill.",
        type=Base64 | None,
        file=".npy",
    )
    nk: bool = raw_field("B is (n, k)", "Whether B is (n, k).", False, type=bool)


@declare_question
class CaptureForm(CaptureBody):
    """The same in the page's form."""

    nk: bool = flag_field("B is (n, k)", "1: B is (n, k).")


def verify_capture(body: Json) -> CaptureVerified:
    """Return the elements of A and B that every instruction recorded by lanescope.cuh read, and whether they are the
    slice it should multiply; if not, where that slice is in the recorded memory, the cause and the repair.
    """
    return build_answer(verify_body(body))


def verify_body(body: Json) -> Verified:
    """Verify the capture in a body of POST /captures/verify; LayoutError names the wrong key."""
    check_keys(body, options_of(CaptureBody))
    files = (
        {
            name: decode_base64(body[name], name, MOST_TEXT)
            for name in ("capture", "second", "a", "b")
            if name == "capture" or body.get(name) is not None
        }
        if "capture" in body
        else {}
    )
    if not files:
        raise LayoutError("bad_capture", "There is no capture.", "Give the file's bytes in base64.", "capture")
    nk = body.get("nk", False)
    if not isinstance(nk, bool):
        raise LayoutError("bad_request", "nk is neither true nor false.", "true where B is (n, k).", "nk")
    return verify_files(files, nk)


def verify_files(files: Mapping[str, bytes], nk: bool = False, most: int = MOST_STEPS) -> Verified:
    """Verify a capture's file, with the second pass and the matrices if there are any."""
    a, b = (parse_matrix(files[name], name) if name in files else None for name in ("a", "b"))
    return capture.verify(files["capture"], a, b, files.get("second"), nk, most)


def parse_matrix(raw: bytes, field: str) -> NDArray[Any]:
    """Parse the matrix of a .npy file."""
    header = npy.parse_header(raw) if raw.startswith(npy.MAGIC) else None
    if header is None or header.kind.hasobject or header.kind.names or header.data_bytes != len(raw) - header.offset:
        raise LayoutError(
            "bad_matrix",
            f"{field.upper()} is not a complete .npy file of numbers.",
            "Save the matrix with numpy.save.",
            field,
        )
    return npy.parse_array(raw, header)


def build_fill(shape: str, element: str, operand: str, part: int, nk: bool) -> bytes:
    """Return the .npy file of a fill; shape: ROWSxCOLUMNS."""
    sizes = shape.lower().split("x")
    if len(sizes) != 2 or not all(size.strip().isascii() and size.strip().isdigit() for size in sizes):
        raise LayoutError(
            "bad_fill", f"The shape is '{shape[:40]}'.", "Write ROWSxCOLUMNS, such as 4096x4096.", "shape"
        )
    rows, columns = (int(size) for size in sizes)
    stream = io.BytesIO()
    np.save(stream, capture.fill((rows, columns), element, operand.lower(), part, nk))
    return stream.getvalue()


# what is answered -----------------------------------------------------------------------------------------------------


def build_answer(verified: Verified) -> CaptureVerified:
    """Build the answer of POST /captures/verify."""
    return CaptureVerified(
        verdict=verified.verdict,  # type: ignore[arg-type]  # its words
        summary=summarize_verdict(verified),
        against=verified.source,  # type: ignore[arg-type]
        records=verified.records,
        dropped=verified.dropped,
        causes=[_build_cause(cause) for cause in find_causes(verified.steps)],
        first_wrong=next((n for n, step in enumerate(verified.steps) if not step.ok), None),
        steps=[
            copy_fact(
                RecordedStep,
                step.record,
                index=step.index,
                block=list(step.record.block),
                instruction=step.ptx,
                ok=step.ok,
                operands=[_build_operand(operand) for operand in step.operands],
            )
            for step in verified.steps
        ],
        loads=[
            copy_fact(
                RecordedRows,
                load.record,
                operand=load.operand,
                rows=[_list_position(pair) for pair in zip(load.mn.tolist(), load.k.tolist(), strict=True)],
            )
            for load in verified.loads
        ],
        accumulators=[
            copy_fact(
                RecordedAccumulators,
                accumulator,
                file=accumulator.record.file,
                line=accumulator.record.line,
                warp=accumulator.record.warp,
            )
            for accumulator in verified.accumulators
        ],
        not_judged=[
            NotJudged(file=unread.record.file, line=unread.record.line, reason=unread.reason)
            for unread in verified.unread
        ],
        notes=list(verified.notes),
    )


def _build_cause(cause: CaptureCause) -> RecordedCause:
    words = {name: tuple(map(format_word, pair)) for name, pair in cause.repairs.items()}
    repairs = [
        RecordedRepair(operand=name, given=words[name][0], right=words[name][1]) for name in OPERANDS if name in words
    ]
    return RecordedCause(
        code=cause.code,
        message=cause.message,
        operands=list(cause.operands),
        steps=cause.count,
        of=cause.total,
        first=cause.first.index,
        file=cause.first.record.file,
        line=cause.first.record.line,
        repairs=repairs,
        folded=list(cause.folded),
    )


def _build_operand(operand: OperandVerdict) -> RecordedOperand:
    return copy_fact(
        RecordedOperand,
        operand,
        operand=operand.name,
        read_from=operand.how,
        slice=copy_fact(RecordedSlice, operand.part),
        ambiguous=operand.several,
        descriptor=None if operand.word is None else format_word(operand.word),
        major=operand.major or None,
        first_wrong=None if operand.first is None else _build_element(operand.first),
        storage=None if operand.stored is None else dict(operand.stored),
        storage_text=operand.stored_text or None,
        storage_at=None if operand.stored is None else list(operand.stored_at),
        diagnoses=[build_diagnosis(diagnosis) for diagnosis in operand.diagnoses],
    )


def _build_element(element: MisreadElement) -> RecordedElement:
    lies = element.stored_at if element.stored_at is not None and element.stored_at >= 0 else None
    return copy_fact(
        RecordedElement, element, read=_list_position(element.read), expected=list(element.expected), lies=lies
    )


def _list_position(position: tuple[int, int]) -> list[int] | None:
    return None if min(position) < 0 else list(position)
