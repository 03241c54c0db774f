"""tcgen05.mma, .sp, .ws and .ws.sp: a row a kind. PTX's text names neither M nor N nor the types: the instruction
descriptor does, and layouts/blackwell/bound.py binds them. PTX ISA 9.1, 9.7.16.10.9.
"""

from __future__ import annotations

from collections.abc import Iterator

from lanescope.ptx.instruction import PTX, Family, Opcode, Place, Verb
from lanescope.ptx.role import TENSOR, Issue
from lanescope.ptx.table.kinds import KINDS

_DOES = "start D = A·B + D with D in tensor memory; one thread starts it, and it runs asynchronously"
MMA = Opcode("tcgen05.mma", _DOES, PTX("9.7.16.10.9.1"))
SPARSE = Opcode("tcgen05.mma.sp", f"{_DOES}; A stored without the zeros its metadata names", PTX("9.7.16.10.9.2"))
STATIONARY = Opcode("tcgen05.mma.ws", f"{_DOES}; B may stay in collector buffers", PTX("9.7.16.10.9.3"))
STATIONARY_SPARSE = Opcode(
    "tcgen05.mma.ws.sp", f"{_DOES}; A stored without its zeros, B may stay in collector buffers", PTX("9.7.16.10.9.4")
)
OPCODES = {(False, False): MMA, (False, True): SPARSE, (True, False): STATIONARY, (True, True): STATIONARY_SPARSE}

GROUPS = (".cta_group::1", ".cta_group::2")
USES = ("fill", "use", "lastuse", "discard")
OF_A = ("", *(f".collector::a::{use}" for use in USES))
OF_B = ("", *(f".collector::b{buffer}::{use}" for buffer in range(4) for use in USES))
OF_SHIFTED = ("", ".collector::a::lastuse", ".collector::a::discard")  # a shifted A is neither filled in nor used again

# How a text may say the block size, and which of the kind's vectors that is. PTX ISA 9.1, Tables 56 and 57.
VECTORS = {
    "mxf8f6f4": {"": "1X", ".scale_vec::1X": "1X", ".block32": "1X"},
    "mxf4": {"": "2X", ".scale_vec::2X": "2X", ".block32": "2X"},
    "mxf4nvf4": {".scale_vec::2X": "2X", ".scale_vec::4X": "4X", ".block32": "2X", ".block16": "4X"},
}
VECTOR_WORDS = frozenset(
    word for named in VECTORS.values() for text in named for word in text.split(".") if word
)  # of texts: scale_vec::1X, block32, …
SCALED = "block_scale"
EITHER, INSIDE = (Place.DESCRIPTOR, Place.TENSOR), (Place.TENSOR,)
ELSEWHERE = {"b": "B always lies in shared memory: ask /api/v1/descriptors/reads, with its idesc, for the bytes."}


def _row(opcode: Opcode, issue: Issue, vector: str, collectors: tuple[str, ...], shift: str = "") -> Family:
    scaled = f".{SCALED}{vector}" if issue.factors else ""
    return Family(
        opcode.text.replace(".", "_"),
        opcode,
        f"{opcode.text}{{group}}.kind::{issue.kind}{scaled}{shift}{{collector}}",
        ("",),
        ("",),
        {},
        source=opcode.source,
        verb=Verb.ISSUE,
        scope=TENSOR,
        reads={"a": INSIDE if shift else EITHER, "b": (Place.DESCRIPTOR,)},
        slots="",
        options={"group": GROUPS[:1] if issue.stationary else GROUPS, "collector": collectors},
        elsewhere=ELSEWHERE,
        issue=issue,
    )


def _rows() -> Iterator[Family]:
    for (stationary, sparse), opcode in OPCODES.items():
        for kind in KINDS:
            if stationary and kind.scaled:
                continue
            for vector, factors in VECTORS.get(kind.name, {"": ""}).items():
                issue = Issue(kind.name, sparse, stationary, factors)
                yield _row(opcode, issue, vector, OF_B if stationary else OF_A)
                if not (stationary or kind.scaled):
                    yield _row(opcode, issue, vector, OF_SHIFTED, ".ashift")


FAMILIES = list(_rows())
