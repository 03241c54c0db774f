"""A UMMA atom of CuTe: a tcgen05.mma with its instruction descriptor, and the source of A.

The instruction is a row of layouts/ptx/table/umma.py with its descriptor bound (layouts/blackwell/bound.py); names:
layouts/ptx/table/umma_atoms.py. Documented; not executed on hardware.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from lanescope.blackwell import bound
from lanescope.blackwell.bound import BoundMma
from lanescope.blackwell.idesc import IdescWord
from lanescope.blackwell.kind import MmaKind
from lanescope.blackwell.tmem import TmemMma
from lanescope.blackwell.umma import MmaOpcode
from lanescope.errors import LayoutError
from lanescope.ptx import catalog
from lanescope.ptx.table.kinds import ALONE, KINDS, PAIR, WS
from lanescope.ptx.table.umma import VECTORS
from lanescope.ptx.table.umma_atoms import ONLY_M, PAIRED, ROWS, STEPS, TENSOR, AtomRow


@dataclass(frozen=True, slots=True)
class UmmaAtom:
    """One atom.

    bound: the instruction with its descriptor; tensor_a: whether A is in tensor memory; scaled_d: whether it is one of
    CUTLASS's _SCALED atoms, which scale D before adding to it.
    """

    bound: BoundMma
    tensor_a: bool = False
    scaled_d: bool = False

    def __post_init__(self) -> None:
        if self.tensor_a and self.get_major("a") == "MN":
            message = "A is MN-major, but it comes from tensor memory, where it is K-major."
            raise LayoutError("bad_major", message, "Give A as K-major, or take it from shared memory.", "atom")

    @property
    def word(self) -> IdescWord:
        return self.bound.word

    @property
    def mma(self) -> TmemMma:
        """The sizes that determine its operands in tensor memory."""
        return self.bound.mma

    @property
    def issued(self) -> MmaOpcode:
        return bound.get_mma_opcode(self.bound)

    @property
    def ctas(self) -> int:
        """The number of CTAs that issue it: CuTe's ThrID."""
        return self.mma.ctas

    @property
    def shape(self) -> tuple[int, int, int]:
        """(M, N, K), for a pair those of both CTAs together."""
        return self.word.m, self.word.n, self.word.k

    def get_major(self, operand: str) -> str:
        """Return the major of operand a or b: K or MN."""
        return self.word.format_field(f"transpose_{operand}")

    @property
    def element_bits(self) -> int:
        """The bits that a stored element of A or B takes."""
        return self.word.kind.element_bits

    @property
    def stored_k(self) -> int:
        """The stored elements of A along K: half of K if A is sparse."""
        return self.word.k // 2 if self.word.sparse else self.word.k

    @property
    def factors(self) -> str:
        """The vector size of the scale factors: 1X, 2X or 4X; "" without block scaling."""
        issue = self.bound.family.issue
        return issue.factors if issue else ""

    @property
    def block(self) -> int:
        """The elements of K that share a scale factor; 0 without block scaling."""
        return BLOCKS[self.factors] * (2 if self.word.sparse else 1) if self.factors else 0

    @property
    def named(self) -> tuple[AtomRow, str] | None:
        """(CUTLASS's row of the atom, its name after the stem); None if CUTLASS has no such atom."""
        if self.mma.form == WS:
            return None
        for row, ending in _iterate_endings():
            sparse, tensor = "SPARSE" in ending, ending.startswith(TENSOR)
            fits = (sparse, tensor, "SCALED" in ending) == (self.word.sparse, self.tensor_a, self.scaled_d)
            full_k = row.k or self.mma.kind.k * (2 if sparse else 1)
            kind = row.kinds.get(self.block if 0 not in row.kinds else 0)
            if fits and kind == self.mma.kind.name and full_k == self.word.k and not explain_missing_atom(self, ending):
                return row, ending
        return None


THIN_K = 96  # of the 4-bit kinds on sm_103a
BLOCKS = {"1X": 32, "2X": 32, "4X": 16}  # elements of a dense K that share a factor


def _iterate_endings() -> Iterator[tuple[AtomRow, str]]:
    return ((row, ending) for row in ROWS for ending in row.endings)


def make_umma_atom(
    kind: MmaKind,
    form: str,
    fields: Mapping[str, object],
    *,
    sparse: bool = False,
    tensor_a: bool = False,
    factors: str = "",
    scaled_d: bool = False,
) -> UmmaAtom:
    """Return the atom of a kind.

    fields: of the instruction descriptor; factors: vector size of the scale factors, "" for the kind's first.
    LayoutError names what is illegal.
    """
    vector = ""
    if kind.scaled:
        scale = factors or next(iter(kind.scaled))
        vector = next((text for text, size in reversed(VECTORS[kind.name].items()) if size == scale), "")
        if not vector:
            allowed = ", ".join(kind.scaled)
            message = f"kind::{kind.name} has no scale_vec::{scale}."
            raise LayoutError("bad_scale_vec", message, f"Allowed: {allowed}.", "atom")
        vector = f".block_scale{vector}"
    instruction = catalog.find(MmaOpcode(kind, form, sparse).ptx + vector)
    return UmmaAtom(bound.bind_fields(instruction, fields), tensor_a, scaled_d)


def explain_missing_atom(atom: UmmaAtom, ending: str) -> str:
    """Return why CUTLASS has no atom of these sizes, according to its static_asserts; "" if it has one."""
    m, n, _ = atom.shape
    kind, pair = atom.mma.kind.name, atom.mma.form == PAIR
    only = ONLY_M.get((kind, pair))
    if only and m != only:
        return f"CUTLASS's atom for a pair requires M = {only}; M is {m}."
    family = ending.removesuffix("_SCALED")
    for name, rows in (("", 0), ("", m), (kind, 0), (kind, m)):
        step = STEPS.get((name, family, pair, rows))
        if step and n % step:
            return f"CUTLASS's {family} atom requires a multiple of {step} as N; N is {n}."
    return ""


def find_fitting_opcodes(ctas: int, m: int, n: int, k: int) -> list[MmaOpcode]:
    """Return the opcodes, dense and sparse, of every kind that has an MMA of these sizes on this number of CTAs."""
    form = PAIR if ctas > 1 else ALONE
    return [
        MmaOpcode(kind, form, sparse)
        for kind in KINDS
        for sparse in (False, True)
        if (sizes := kind.sizes.get((form, sparse)))
        and (k == kind.k * (2 if sparse else 1) or (k == THIN_K and kind.has_field("k") and not sparse))
        and m in sizes.m
        and n in sizes.n
    ]


def format_stem(row: AtomRow, ending: str, pair: bool) -> str:
    """Format CUTLASS's name without its arguments: SM100_MMA_F16BF16_2x1SM_SS."""
    return "_".join([row.stem, *([PAIRED] if pair else []), ending])
