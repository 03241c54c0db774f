"""tcgen05.mma, .sp, .ws and .ws.sp, one row per kind. PTX ISA 9.1, 9.7.16.10.9.

M, N and the types are not in the PTX text but in the instruction descriptor; layouts/blackwell/bound.py binds them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from lanescope.ptx.instruction import Family, InstructionVerb, OpcodeWords, OperandPlace, cite_ptx
from lanescope.ptx.role import TENSOR, TmemIssue
from lanescope.ptx.table.kinds import KINDS
from lanescope.ptx.table.tcgen05 import GROUPS

_DOES = "start D = A·B + D with D in tensor memory; one thread starts it, and it runs asynchronously"
MMA = OpcodeWords("tcgen05.mma", _DOES, cite_ptx("9.7.16.10.9.1"))
SPARSE = OpcodeWords(
    "tcgen05.mma.sp", f"{_DOES}; A stored without the zeros its metadata names", cite_ptx("9.7.16.10.9.2")
)
STATIONARY = OpcodeWords("tcgen05.mma.ws", f"{_DOES}; B may stay in collector buffers", cite_ptx("9.7.16.10.9.3"))
STATIONARY_SPARSE = OpcodeWords(
    "tcgen05.mma.ws.sp",
    f"{_DOES}; A stored without its zeros, B may stay in collector buffers",
    cite_ptx("9.7.16.10.9.4"),
)
OPCODES = {(False, False): MMA, (False, True): SPARSE, (True, False): STATIONARY, (True, True): STATIONARY_SPARSE}

USES = ("fill", "use", "lastuse", "discard")
OF_A = ("", *(f".collector::a::{use}" for use in USES))
KEPT_B = ("", *(f".collector::b::{use}" for use in USES))  # sm_107 alone; PTX ISA 9.4, 9.7.18.10.10.1
OF_B = ("", *(f".collector::b{buffer}::{use}" for buffer in range(4) for use in USES))
OF_SHIFTED = ("", ".collector::a::lastuse", ".collector::a::discard")  # .ashift excludes fill and use

# Kind → qualifier for the block size → vector size of the scale factors. PTX ISA 9.1, Tables 56 and 57.
VECTORS = {
    "mxf8f6f4": {"": "1X", ".scale_vec::1X": "1X", ".block32": "1X"},
    "mxf4": {"": "2X", ".scale_vec::2X": "2X", ".block32": "2X"},
    "mxf4nvf4": {".scale_vec::2X": "2X", ".scale_vec::4X": "4X", ".block32": "2X", ".block16": "4X"},
}
# scale_vec::1X, block32, …
VECTOR_WORDS = frozenset(word for sizes in VECTORS.values() for text in sizes for word in text.split(".") if word)
SCALED = "block_scale"
EITHER, INSIDE = (OperandPlace.DESCRIPTOR, OperandPlace.TENSOR), (OperandPlace.TENSOR,)
ELSEWHERE = {"b": "B is always in shared memory: /api/v1/descriptors/reads, with its idesc, returns the bytes."}


def _make_family(
    opcode: OpcodeWords, issue: TmemIssue, vector: str, collectors: tuple[str, ...], shift: str = ""
) -> Family:
    if not issue.stationary and issue.kind != "i8":
        collectors = tuple(a + b for a, b in product(collectors, KEPT_B))
    scaled = f".{SCALED}{vector}" if issue.factors else ""
    return Family(
        opcode.text.replace(".", "_"),
        opcode,
        f"{opcode.text}{{group}}.kind::{issue.kind}{scaled}{shift}{{collector}}",
        ("",),
        ("",),
        {},
        source=opcode.source,
        verb=InstructionVerb.ISSUE,
        scope=TENSOR,
        reads={"a": INSIDE if shift else EITHER, "b": (OperandPlace.DESCRIPTOR,)},
        slots="",
        options={"group": GROUPS[:1] if issue.stationary else GROUPS, "collector": collectors},
        elsewhere=ELSEWHERE,
        issue=issue,
    )


def _make_families() -> Iterator[Family]:
    for (stationary, sparse), opcode in OPCODES.items():
        for kind in KINDS:
            if stationary and kind.scaled:
                continue
            for vector, factors in VECTORS.get(kind.name, {"": ""}).items():
                issue = TmemIssue(kind.name, sparse, stationary, factors)
                yield _make_family(opcode, issue, vector, OF_B if stationary else OF_A)
                if not (stationary or kind.scaled):
                    yield _make_family(opcode, issue, vector, OF_SHIFTED, ".ashift")


FAMILIES = list(_make_families())
