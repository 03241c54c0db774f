"""A TiledMMA of an UMMA atom (tcgen05.mma): each CTA's parts of A, B and C, descriptors, and tensor memory.

    made = tiled_mma("SM100_MMA_F16BF16_2x1SM_SS<half_t, half_t, float, 256, 256, UMMA::Major::K, UMMA::Major::K>")
    made.threads, made.a.rows.shape, made.steps_of[1].b       2 CTAs, [CTA, value], the second K step's descriptor of B

The thread of CuTe's layouts is the CTA of the pair (CUTLASS 4.7, cute/atom/mma_traits_sm100.hpp: ThrID, ALayout,
BLayout, CLayout); places in tensor memory follow the order of cute/atom/mma_traits_sm100_frag.hpp. Documented; not
executed on hardware.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

from lanescope.blackwell import tmem
from lanescope.blackwell.idesc import IdescWord, describe_narrow
from lanescope.blackwell.scaling import ScaleOperand
from lanescope.blackwell.tmem import Allocation, PlacedOperand, PlacementFault
from lanescope.blackwell.umma_atom import THIN_K, UmmaAtom
from lanescope.descriptor.matrix import Descriptor
from lanescope.errors import LayoutError
from lanescope.inputs import join_words
from lanescope.ptx.table.descriptors import TCGEN05
from lanescope.ptx.table.tmem import INFERRED
from lanescope.shared.swizzle import WIDEST_PATTERN
from lanescope.shared.tiling import Tile
from lanescope.tiles.mma import TiledMMA
from lanescope.tiles.umma_shared import SharedOperand, list_modes_by_width

USUAL_STEPS = 4  # K iterations of the default tile: 128 bytes, a row of the widest swizzle
MOST_STEPS = 512  # MMAs of one tile
NAMES = {"d": "D", "a": "A", "b": "B", "metadata": "metadata", "scale_a": "scale A", "scale_b": "scale B"}


@dataclass(frozen=True, slots=True)
class UmmaTileStep:
    """One MMA of the tile.

    m, n, k: its position in repeats; a, b: matrix descriptors (a is None if A is in tensor memory); addresses: operand
    → lane << 16 | column in tensor memory; word: the instruction descriptor.
    """

    m: int
    n: int
    k: int
    a: Descriptor | None
    b: Descriptor | None
    addresses: dict[str, int]
    word: IdescWord


@dataclass(frozen=True, eq=False)
class TiledUmma(TiledMMA):
    """A TiledMMA of an UMMA atom.

    umma: the atom; swizzles: names of A's and B's modes, "" for the widest that fits; order: the dimension along which
    swizzle atoms are laid first, "" as in CUTLASS's collectives; left: the types that the atom's text does not
    determine.
    """

    umma: UmmaAtom = field(kw_only=True)
    swizzles: tuple[str, str] = ("", "")
    order: str = ""
    left: tuple[str, ...] = ()

    @property
    def ctas(self) -> int:
        return self.umma.ctas

    def require_registers(self, field: str) -> None:
        raise LayoutError(
            "in_tensor_memory",
            f"{self.umma.bound.ptx} keeps its accumulator in tensor memory: no thread holds an element.",
            "/tmem/epilogue shows the registers that a tcgen05.ld loads.",
            field,
        )

    @property
    def repeats(self) -> tuple[int, int, int]:
        """MMAs in M, N and K."""
        m, n, k = (size // unit for size, unit in zip(self.tile, self.umma.shape, strict=True))
        return m, n, k

    # shared memory ----------------------------------------------------------------------------------------------------

    @cached_property
    def shared(self) -> dict[str, SharedOperand]:
        """The operands in shared memory, the same in each CTA; empty if their K steps are not documented."""
        operands: dict[str, SharedOperand] = {}
        base = 0
        if self.umma.shape[2] == THIN_K:
            return operands
        for operand in ("b",) if self.umma.tensor_a else ("a", "b"):
            operands[operand] = self._make_shared_operand(operand, base)
            base = -(-(base + operands[operand].tile.bytes) // WIDEST_PATTERN) * WIDEST_PATTERN
        return operands

    def _make_shared_operand(self, operand: str, base: int) -> SharedOperand:
        atom, side = self.umma, "ab".index(operand)
        bits, major = atom.element_bits, atom.get_major(operand)
        rows = atom.shape[side] // atom.ctas
        k = atom.stored_k if operand == "a" else atom.shape[2]
        reach = atom.shape[2] if operand == "b" and atom.word.sparse else 0
        field_ = f"swizzle_{operand}"
        mode_name = self.swizzles[side]
        modes = (TCGEN05.get_mode_by_name(mode_name),) if mode_name else list_modes_by_width(bits, major)
        first_error: LayoutError | None = None
        for mode in modes:
            try:
                tile = Tile(
                    bits,
                    major,
                    mode,
                    rows * self.repeats[side],
                    k * self.repeats[2],
                    order=self.order,
                    base=base,
                    form=TCGEN05,
                )
                shared = SharedOperand(operand, tile, rows, k, reach)
                for at in range(self.repeats[side]):
                    shared.get_descriptor(at, 0), shared.get_descriptor(at, self.repeats[2] - 1)
                return shared
            except LayoutError as error:
                first_error = first_error or error
                if error.code == "too_large":
                    break
        assert first_error is not None
        about = f"{operand.upper()} of each CTA: {first_error.message}"
        field = field_ if mode_name and first_error.code != "too_large" else "tile"
        raise LayoutError(first_error.code, about, first_error.hint, field)

    # tensor memory ----------------------------------------------------------------------------------------------------

    @cached_property
    def open(self) -> dict[str, str]:
        """Operand → why its place is not known."""
        open_ = {name: message for name, message in self.umma.bound.open.items() if name != "a" or self.umma.tensor_a}
        if self.umma.shape[2] == THIN_K:
            message = f"K = {THIN_K} is 48 bytes: where its steps begin in a tile of shared memory is not documented."
            open_ |= dict.fromkeys(("b",) if self.umma.tensor_a else ("a", "b"), message)
        return open_

    @cached_property
    def places(self) -> dict[str, list[PlacedOperand]]:
        """Operand → its places in tensor memory, the same in each CTA, in the order of CUTLASS's fragments.

        Repeats along M first, then along N or K. Operands are placed one after another from column 0.
        """
        places: dict[str, list[PlacedOperand]] = {}
        column = 0
        for operand in self._list_tmem_operands():
            places[operand] = self._place_operand(operand, column)
            last = max(placed.column + placed.layout.columns for placed in places[operand])
            column = -(-last // 4) * 4  # metadata is aligned to 4 columns
        return places

    def _list_tmem_operands(self) -> list[str]:
        names = ["d", *(["a"] if self.umma.tensor_a else [])]
        names += [name for name in ("scale_a", "scale_b", "metadata") if name in self.umma.mma.operands]
        return [name for name in names if name not in self.open]

    def _place_operand(self, operand: str, column: int) -> list[PlacedOperand]:
        mma = self.umma.mma
        layout = tmem.make_tmem_layout(mma, operand)
        m, n, k = self.repeats
        if operand in ("scale_a", "scale_b"):
            side = self._make_scale_side(operand, column)
            times = m if operand == "scale_a" else n
            each = layout.columns if times == 1 else side.group_columns // times
            groups, first = side.atoms[1], side.column
            return [
                PlacedOperand(NAMES[operand], layout, 0, first + group * side.group_columns + at * each)
                for group in range(groups)
                for at in range(times)
            ]
        count = m * n if operand == "d" else m * k
        halves = operand == "d" and "half" in layout.axes and not self.umma.tensor_a  # two tiles of D share columns
        return [
            PlacedOperand(NAMES[operand], layout, 16 * (at % 2), column + at // 2 * layout.columns)
            if halves
            else PlacedOperand(NAMES[operand], layout, 0, column + at * layout.columns)
            for at in range(count)
        ]

    def _make_scale_side(self, operand: str, column: int) -> ScaleOperand:
        mma, (m, n, _) = self.umma.mma, self.repeats
        rows = mma.place.rows * m if operand == "scale_a" else mma.n * n
        return ScaleOperand(mma, operand, rows, self.tile[2], column, 0)

    @property
    def sides(self) -> tuple[ScaleOperand, ScaleOperand] | None:
        """The scale operands of A and B; None without block scaling, or if their places are not known."""
        if "scale_b" not in self.places:
            return None
        a, b = (self._make_scale_side(name, self.places[name][0].column) for name in ("scale_a", "scale_b"))
        return a, b

    @property
    def columns(self) -> int:
        """The number of columns of tensor memory that the tile takes."""
        return max(operand.column + operand.layout.columns for every in self.places.values() for operand in every)

    @property
    def allocation(self) -> int:
        """The smallest allocation of tcgen05.alloc for the tile, in columns; 0 if the tile does not fit."""
        least = tmem.LEAST_ALLOCATION
        while least < self.columns:
            least *= 2
        return least if least <= tmem.COLUMNS else 0

    @property
    def faults(self) -> list[PlacementFault]:
        """The faults of the tile's placement in tensor memory."""
        if not self.allocation:
            message = f"The tile needs {self.columns} columns of tensor memory; there are {tmem.COLUMNS}."
            return [PlacementFault("out_of_physical_bounds", "tile", message)]
        placed, mma_of = [], {}
        for operand, every in self.places.items():
            for at, placed_operand in enumerate(every):
                placed.append(replace(placed_operand, name=f"{placed_operand.name} {at}"))
                mma_of[placed[-1].name] = replace(self.umma.mma) if operand == "d" and at else self.umma.mma
        return tmem.find_placement_faults(Allocation(self.allocation), placed, mma_of)

    # the MMAs ---------------------------------------------------------------------------------------------------------

    @cached_property
    def mmas(self) -> list[UmmaTileStep]:
        """Every MMA of the tile in the order of cute::gemm: K outermost, then N, then M."""
        m, n, k = self.repeats
        return [self._make_step(i, j, l) for l in range(k) for j in range(n) for i in range(m)]

    def _make_step(self, m: int, n: int, k: int) -> UmmaTileStep:
        times_m, _, _ = self.repeats
        selectors: dict[str, int] = {}
        at: dict[str, int] = {}
        for operand, every in self.places.items():
            if operand in ("scale_a", "scale_b"):
                number_ = self._get_factor_group(operand, k, selectors)
                times = self.repeats[operand == "scale_b"]
                operand_tile = every[number_ * times + (m if operand == "scale_a" else n)]
            else:
                operand_tile = every[m + times_m * (n if operand == "d" else k)]
            column = operand_tile.column
            if operand == "metadata" and operand_tile.layout.columns == 1:  # two steps share an address
                selectors["sparsity_selector"] = column % 2
                column -= column % 2
            at[operand] = operand_tile.lane << 16 | column
        word = self.umma.word
        for name, code in selectors.items():
            word = IdescWord(word.kind.get_field(name).field.put(word.word, code), word.kind)
        a, b = (
            self.shared[name].get_descriptor(m if name == "a" else n, k) if name in self.shared else None
            for name in "ab"
        )
        return UmmaTileStep(m, n, k, a=a, b=b, addresses=at, word=word)

    def _get_factor_group(self, operand: str, k: int, selectors: dict[str, int]) -> int:
        """Return the group of four factors that a step reads, and add its id to `selectors`."""
        per = tmem.FACTORS[self.umma.factors]
        group, inside = divmod(k * per, 4)
        selectors["sfa_id" if operand == "scale_a" else "sfb_id"] = inside
        return group

    @property
    def inferred(self) -> list[str]:
        """Sentences about what is inferred, because no map of CUTLASS shows it."""
        names = [name for name in self._list_tmem_operands() if not tmem.make_tmem_layout(self.umma.mma, name).maps]
        notes = [f"{NAMES[name]}'s place in tensor memory is {INFERRED}: no map of CUTLASS shows it." for name in names]
        m, n, _ = self.repeats
        if self.left:
            types = self.umma.word.types
            message = (
                f"{join_words(self.left)} {'is' if len(self.left) == 1 else 'are'} not given: shown is {types['d']} +="
            )
            notes.append(
                f"{message} {types['a']} × {types['b']}. Other types of the kind change the descriptor's type bits."
            )
        if self.umma.factors and (m > 1 or n > 1):
            notes.append(
                "CUTLASS's block-scaled collectives issue one MMA along M and N: the places of further factors are"
                f" {INFERRED}."
            )
        if narrow := describe_narrow(self.umma.word):
            notes.append(narrow)
        b = self.shared.get("b")
        if b and b.reach and b.tile.major == "K" and b.reach > b.tile.atom[1]:
            notes.append(
                f"B of a sparse MMA reads 64 bytes of K, past an atom of swizzle {b.tile.mode.name}: its LBO is"
                f" {INFERRED} from wgmma.sp."
            )
        if self.umma.word.sparse and self.umma.mma.place.letter == "C":
            notes.append(
                "The layout of D of a sparse pair with M = 128 is not documented consistently: PTX has layout C,"
                " CUTLASS's fragment layout B."
            )
        return notes
