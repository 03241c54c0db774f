"""Parse SASS of tcgen05: properties in the opcode, in the operands, and in a descriptor only.

Opcodes and suffixes are those that nvdisasm 13.5 writes for sm_100a, sm_103a, sm_107a and sm_110a; the table of forms
is layouts/ptx/table/sass.json (`make sass`). Collectors are operand modifiers: A_KEEP is fill, A_REUSE is lastuse,
both together are use; the same for B. BUFFER1 to BUFFER3 are the buffers of .ws.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from lanescope.inputs import join_words
from lanescope.ptx import catalog
from lanescope.ptx.table.newer import NewerForm, find_newer_form

# Opcode → kinds; modifier → PTX qualifier.
SASS_KINDS = {
    "UTCHMMA": ("f16", "tf32"),
    "UTCQMMA": ("f8f6f4", "mxf8f6f4"),
    "UTCIMMA": ("i8",),
    "UTCOMMA": ("mxf4", "mxf4nvf4"),
}
SASS_MODIFIERS = {
    "2CTA": "cta_group::2",
    "WS": ".ws",
    "ASHIFT": ".ashift",
    "LUTB": ".decompress::lut::b",
    "4X": "scale_vec::4X of kind::mxf4nvf4",
    "BLOCK16": "scale_vec::4X of kind::mxf4nvf4",
}
IS = (
    "tcgen05 is the matrix instruction of Blackwell and Rubin (sm_100, sm_103, sm_107, sm_110). The maps shown have"
    " not been measured on hardware."
)
TENSOR_OPCODES = (*SASS_KINDS, "UTCCP", "UTCSHIFT", "LDTM", "STTM")
_USES = {("KEEP",): "fill", ("REUSE",): "lastuse", ("KEEP", "REUSE"): "use"}
_SOURCE = re.compile(r"(gdesc|tmem)\[([^\]]*)\]((?:\.\w+)*)")
_OPCODE = re.compile(rf"(?<![\w.])(?:{'|'.join(TENSOR_OPCODES)})(?!\w)")
_IDESC = re.compile(r"idesc\[([^\]]*)\](\s*,\s*tmem\[)?")


@dataclass(frozen=True, slots=True)
class MmaOperands:
    """The operands of a UTC…MMA: where A is, the collectors of A and B, and whether it has scale factors.

    a: "gdesc" or "tmem"; idesc: the register of the instruction descriptor; buffer: B's buffer of .ws.
    """

    a: str
    use_a: str
    use_b: str
    buffer: int
    scaled: bool
    idesc: str

    @property
    def collectors(self) -> str:
        """The collectors as PTX qualifiers, without PTX's defaults."""
        return f".collector::a::{self.use_a}" * bool(self.use_a) + f".collector::b::{self.use_b}" * bool(self.use_b)

    @property
    def collector_of_ws(self) -> str:
        """The collector of .ws, which includes B's buffer."""
        use = self.use_b or ("discard" if self.buffer else "")
        return f".collector::b{self.buffer}::{use}" if use else ""


def is_tensor_sass(text: str) -> bool:
    """Return whether a text has a SASS opcode of tcgen05.

    >>> is_tensor_sass("LDTM.x2 R4, tmem[UR4] ;"), is_tensor_sass("tmem")
    (True, False)
    """
    return _OPCODE.search(text) is not None


def parse_mma_operands(text: str) -> MmaOperands | None:
    """Parse the operands of a UTC…MMA; None if they are missing or incomplete."""
    sources, idesc = _SOURCE.findall(text)[:2], _IDESC.search(text)
    if len(sources) < 2 or sources[1][0] != "gdesc" or idesc is None:
        return None
    words = [{part for part in source[2].split(".") if part} for source in sources]
    a, b = ({word[2:] for word in modifiers if word[:2] in ("A_", "B_")} for modifiers in words)
    buffer = next((int(word[-1]) for word in words[1] if word.startswith("BUFFER")), 0)
    use_a, use_b = (_USES.get(tuple(sorted(modifiers)), "") for modifiers in (a, b))
    return MmaOperands(sources[0][0], use_a, use_b, buffer, bool(idesc[2]), idesc[1])


def fit_operands(candidates: list[str], operands: MmaOperands | None) -> list[str]:
    """Return the variants that an instruction's operands fit, with its collectors."""
    if operands is None:
        return candidates
    fitting = []
    for ptx in candidates:
        instruction = catalog.find_instruction(ptx)
        issue = instruction.family.issue if instruction else None
        if issue is None:
            fitting.append(ptx)
        elif bool(issue.factors) == operands.scaled and ("ashift" not in ptx or operands.a == "tmem"):
            fitting.append(ptx + (operands.collector_of_ws if issue.stationary else operands.collectors))
    return fitting


def describe_sass(name: str) -> str:
    """Return a sentence on a tcgen05.mma in SASS, "" for other opcodes.

    >>> describe_sass("UTCHMMA.2CTA")
    'UTCHMMA.2CTA is tcgen05.mma with kind::f16 or kind::tf32, cta_group::2.'
    """
    opcode, *modifiers = name.split(".")
    if opcode not in SASS_KINDS:
        return ""
    kinds = join_words([f"kind::{kind}" for kind in SASS_KINDS[opcode]], "or")
    return f"{name} is tcgen05.mma with {', '.join([kinds, *filter(None, map(SASS_MODIFIERS.get, modifiers))])}."


def describe_tensor_line(name: str, operands: MmaOperands | None) -> str:
    """Return a sentence on properties that are in a descriptor or a register, not in the mnemonic; "" if none."""
    opcode = name.partition(".")[0]
    if opcode in SASS_KINDS:
        where = f"idesc[{operands.idesc}]" if operands else "idesc[…]"
        a = {"gdesc": "A comes from shared memory, by its matrix descriptor. ", "tmem": "A is in tensor memory. "}
        return (
            f"{describe_sass(name)} {a[operands.a] if operands else ''}M, N, K, the types and whether A is sparse"
            f" are in the instruction descriptor, {where}, not in the opcode."
        )
    if opcode == "UTCCP":
        return f"{name}: the matrix descriptor, gdesc[…], determines which bytes of shared memory are read."
    if opcode in ("LDTM", "STTM"):
        return f"{name}: the address, tmem[…], contains lane and column of tensor memory."
    return ""


def list_unmapped(mnemonic: str, targets: tuple[str, ...]) -> dict[str, NewerForm]:
    """Return PTX without a map that compiles to a mnemonic on one of the targets (any if empty)."""
    found = {}
    for ptx, forms in catalog.load_unmapped_sass().items():
        newer = find_newer_form(ptx)
        fits = any((mnemonic, 1) in form.runs and (not targets or set(targets) & set(form.targets)) for form in forms)
        if newer and fits:
            found[ptx] = newer
    return found
