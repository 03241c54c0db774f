"""The known mistakes of programs that build a descriptor, each applied to the right one.

A `Slip` puts a wrong amount into one or more fields. layouts/diagnosis.py looks for the slips, and the packings of layouts/packing.py,
that give exactly the program's word. The list comes from public code and threads (CUTLASS, DeepGEMM,
ThunderKittens, fast.cu, forum posts) and from the read model measured on an H100 (layouts/descriptor.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from layouts.case import NAMES, Amounts, Case, bytes_of, bytes_text, named, sentence, subsets
from layouts.descriptor import LBO, SBO, START
from layouts.errors import LayoutError
from layouts.repair import expected_reads, repairs
from layouts.swizzle import MODES
from layouts.worlds import World, misread


@dataclass(frozen=True)
class Slip:
    """A wrong amount in some fields. cost: how much evidence it needs; a rarer or vaguer cause costs more."""

    code: str
    message: str
    amounts: Amounts
    cost: float = 1.0
    must: Mapping[str, int] = field(default_factory=dict)  # given amounts that the slip also explains, read or not


# amounts ---------------------------------------------------------------------------------------------------------------------


def slips(case: Case) -> list[Slip]:
    """Every known wrong amount for this storage and slice; the likelier of two equal ones first."""
    return [
        *_exchange(case),
        *_start(case),
        *_strides(case),
        *_mode(case),
        *_base_offset(case),
        *_worlds(case),
        *_elements(case),
        *_other_slice(case),
    ]


def _exchange(case: Case) -> Iterator[Slip]:
    """LBO and SBO exchanged. Where one of them is not read, only the value that programs write there by convention proves it."""
    wanted, (mn, k), first = case.wanted, case.atom, case.start_at(0, 0)
    to_mn, to_k = case.start_at(mn, 0) - first, case.start_at(0, k) - first
    lbo, sbo = (to_k, to_mn) if case.seen.major == "K" or case.mode.chunks == 1 else (to_mn, to_k)
    usual = {"lbo": {0, 16, lbo}, "sbo": {0, case.mode.pattern_bytes, sbo}}
    for lbo in [wanted["lbo"]] if "lbo" in case.read else usual["lbo"]:
        for sbo in [wanted["sbo"]] if "sbo" in case.read else usual["sbo"]:
            if lbo != sbo:
                amounts = {name: value for name, value in (("lbo", sbo), ("sbo", lbo)) if name in case.read}
                says = f"LBO and SBO are exchanged: LBO must be {bytes_text(lbo)} and SBO {bytes_text(sbo)}."
                if not amounts:
                    continue
                usual_lbo = "lbo" in case.read or case.seen.major == "MN" or lbo in (0, 16)
                yield Slip("lbo_sbo_swapped", says, amounts, 0.9 if usual_lbo else 1.1, {"lbo": sbo, "sbo": lbo})


def _start(case: Case) -> Iterator[Slip]:
    """Mistakes of the K step, of the panel it lies in, and of the address itself."""
    start, seen, k = case.wanted["start_address"], case.seen, case.k
    name = "start_address"
    if k:
        yield from _k_step(case)
    if case.stored.base:
        without = start - case.stored.base
        yield Slip(
            "start_wrong",
            f"The start is counted from the tile. Add the tile's address, {case.stored.base:#x}: the start is {start:#x}.",
            {name: without},
            1.5,
        )
    yield Slip(
        "start_wrong",
        f"The address was cut to 14 bits before the shift. Mask with 0x3FFFF, then shift right by 4: the start is {start:#x}.",
        {name: start & 0x3FFF},
        1.5,
    )
    first = int(case.expected[0, 0])
    says = f"The start is where the first element lies after the XOR, {first:#x}. The hardware applies the XOR itself: give the address before it, {start:#x}."
    yield Slip("start_wrong", says, {name: first}, 1.5)
    if case.mn and seen.major == "MN":
        along = case.start_at(0, case.k) + bytes_of(case.mn, seen)
        says = f"The start moves {bytes_text(bytes_of(case.mn, seen))} along M/N, past the edge of an atom of {case.atom[0]} elements. The slice begins at {start:#x}."
        yield Slip("panel_stride_wrong", says, {name: along}, 1.5)


def _k_step(case: Case) -> Iterator[Slip]:
    start, seen, k, name = case.wanted["start_address"], case.seen, case.k, "start_address"
    first = case.start_at(case.mn, 0)
    step, along = start - first, bytes_of(k, seen)
    right = f"The slice at k = {k} begins {bytes_text(step)} after the one at k = 0, at {start:#x}."
    yield Slip(
        "k_step_missing",
        f"The start does not move with K: it is that of k = 0. {right} Add {step >> 4:#x} to the low word.",
        {name: first},
        0.9,
    )
    units = f"was added to the encoded start, which counts units of 16 bytes. {right} Add {step >> 4:#x}."
    for amount in (step, along):
        yield Slip("k_step_not_shifted", f"The K step in bytes, {amount:#x}, {units}", {name: first + 16 * amount}, 1.1)
    if along != k:
        yield Slip("k_step_in_elements", f"The K step was counted in elements ({k}), not in bytes. {right}", {name: first + k}, 1.0)
        yield Slip("k_step_in_elements", f"The K step in elements, {k}, {units}", {name: first + 16 * k}, 1.0)
    if along != step:
        edge = (
            f"past the edge of an atom of {case.mode.width_bytes} bytes"
            if seen.major == "K" and case.mode.chunks > 1
            else "past the edge of a core matrix, 16 bytes along K"
            if seen.major == "K"
            else "along M/N, which is contiguous here"
        )
        yield Slip("k_advance_past_atom", f"The start moves {bytes_text(along)} along K, {edge}. {right}", {name: first + along}, 1.0)
    yield from _panels(case, first, right)


def _panels(case: Case, first: int, right: str) -> Iterator[Slip]:
    """The slice lies in a later panel of atoms along K, and the start steps by another panel than the tile has."""
    seen, name = case.seen, "start_address"
    wide = case.atom[1]
    count, inside = divmod(case.k, wide)
    if not count:
        return
    inner = case.start_at(case.mn, inside) - first
    panel = (case.wanted["start_address"] - first - inner) // count
    lines = case.atom[0] if seen.major == "K" else 8
    instruction = -(-seen.rows // lines) * lines * case.mode.width_bytes if seen.major == "K" else 0
    if instruction and instruction != panel:
        says = (
            f"The start steps over panels of {seen.rows} rows ({bytes_text(instruction)}), which is what the instruction reads. "
            f"The tile's panels along K are {bytes_text(panel)} apart. {right}"
        )
        yield Slip("panel_stride_from_instruction", says, {name: first + count * instruction + inner}, 1.0)
    moved = case.had[name] - first - inner
    if moved > 0 and moved % count == 0 and (moved // count) % (8 * case.mode.width_bytes) == 0 and moved // count != panel:
        says = (
            f"The start steps over panels of {bytes_text(moved // count)}. The tile's panels along K are {bytes_text(panel)} apart. {right}"
        )
        along_k = case.slices.get(case.had[name], (-1, -1))[0] == case.mn
        yield Slip("panel_stride_wrong", says, {name: case.had[name]}, 2.6 if along_k else 1.7)


def _strides(case: Case) -> Iterator[Slip]:
    """SBO of another width, or the pitch of one row instead of eight; LBO left at what modes that do not read it have."""
    wanted, mode = case.wanted, case.mode
    if "sbo" in case.read:
        sbo = wanted["sbo"]
        lines = "rows of M or N" if case.seen.major == "K" else "values of K"
        for pitch, cost in (
            (case.line_bytes, 1.0),
            (case.stored.pitch_bytes or 0, 1.0),
            (bytes_of(case.extents[case.seen.major == "K"], case.seen), 1.4),
        ):
            if pitch and pitch != sbo:
                says = f"SBO is {bytes_text(pitch)}, the pitch of one row. It must be the distance between groups of 8 {lines}: {bytes_text(sbo)}."
                yield Slip("sbo_is_row_pitch", says, {"sbo": pitch}, cost)
        if mode.chunks > 1 or case.seen.major == "K":
            for other in MODES:
                amount = sbo * other.chunks // mode.chunks
                says = f"SBO {amount} is right for swizzle {other.name}. These data are stored with {mode.name}: SBO must be {bytes_text(sbo)}."
                for value in {amount, other.pattern_bytes}:
                    if value != sbo and other is not mode:
                        says = says.replace(f"SBO {amount} ", f"SBO {value} ", 1)
                        yield Slip("sbo_other_width", says, {"sbo": value}, 1.1)
    if "lbo" in case.read:
        for value in (0, 16):
            if wanted["lbo"] != value:
                way = "along M/N" if case.seen.major == "MN" and mode.chunks > 1 else "along K"
                says = f"LBO is {value}, as where it is not read. Here it is the distance {way}: {bytes_text(wanted['lbo'])}."
                yield Slip("stride_wrong", says, {"lbo": value}, 1.6)


def _mode(case: Case) -> Iterator[Slip]:
    wanted = case.mode
    for other in MODES:
        if other is wanted:
            continue
        if other.code == wanted.tma:
            says = (
                f"Bits 62 and 63 hold {other.code}, the TMA tensor map's code of {wanted.name}. The descriptor numbers the modes the other way "
                f"round: {wanted.name} is {wanted.code}."
            )
            yield Slip("tma_swizzle_enum", says, {"swizzle": other.code}, 0.9)
        else:
            says = (
                f"The data were stored with swizzle {wanted.name}; the descriptor says {other.name}. Bits 62 and 63 must be {wanted.code}."
            )
            yield Slip("swizzle_mode", says, {"swizzle": other.code}, 1.0)


def _base_offset(case: Case) -> Iterator[Slip]:
    """Base offset: how many 128-byte rows past its boundary the swizzle pattern begins; 0 for data swizzled by address."""
    if "base_offset" not in case.read:
        return
    name, wanted, had, mode = "base_offset", case.wanted["base_offset"], case.had["base_offset"], case.mode
    mask, start = mode.chunks - 1, case.wanted["start_address"]
    by_address = case.stored.swizzle_by == "address"
    needed = (
        "These data are swizzled by address, so base offset stays 0 wherever the tile begins." if by_address else f"It must be {wanted}."
    )
    if wanted & mask:
        rows = f"{wanted & mask} row{'s' if wanted & mask > 1 else ''}"
        says = (
            f"The data are swizzled from the tile's start, which lies {rows} of 128 bytes past a {mode.pattern_bytes}-byte boundary. "
            f"Base offset must be {wanted}, not 0."
        )
        yield Slip("base_offset_missing", says, {name: 0}, 1.0)
    for value in sorted({at >> 4 >> 7 & 7 for at in (start, case.had["start_address"])}):
        if (value ^ wanted) & mask:
            says = (
                f"Base offset {value} was taken from bits 7 to 9 of the encoded start. They are bits 7 to 9 of the byte address. {needed}"
            )
            yield Slip("base_offset_from_shifted_start", says, {name: value}, 1.0)
    if had and case.k and (had ^ wanted) & mask:
        first = case.start_at(case.mn, 0)
        if first != start:
            says = f"Base offset {had} was used to step along K. A K step moves the start alone, from {first:#x} to {start:#x}; base offset stays {wanted}."
            yield Slip("base_offset_as_k_advance", says, {name: had, "start_address": first}, 0.8)
    for value in sorted({had, start >> 7 & 7}):
        if (value ^ wanted) & mask and value:
            yield Slip("base_offset_wrong", f"Base offset is {value}. {needed}", {name: value}, 1.5)


def _worlds(case: Case) -> Iterator[Slip]:
    """Amounts of a program that takes the tile for another: other order of the atoms, or as large as one instruction."""
    for world in misread(case.stored, case.seen):
        amounts = _amounts_of(case, world)
        if not amounts:
            continue
        choices: list[tuple[str, ...]] = [tuple(amounts)]
        if world.code != "atom_order":
            choices += [(name,) for name in amounts if len(amounts) > 1]
        for names in choices:
            wrong = {name: amounts[name] for name in names}
            says = f"{sentence(named(wrong))} {'is' if len(wrong) == 1 else 'are'} right for {world.said}. {_must(case, wrong)}"
            yield Slip(world.code, says, wrong, 1.0 if len(names) == len(amounts) else 1.2)


def _amounts_of(case: Case, world: World) -> dict[str, int]:
    """The read amounts in which the right word of another storage differs from the right one."""
    expected = expected_reads(world.stored, case.seen, case.mn, case.k)
    found = [d for d in repairs(expected, case.seen, case.right, case.stored.swizzle_by == "address") if d.mode is case.mode]
    if not found:
        return {}
    values = {START.name: found[0].start_address, LBO.name: found[0].lbo_bytes, SBO.name: found[0].sbo_bytes}
    return {name: value for name, value in values.items() if name in case.read and value != case.wanted[name]}


def _elements(case: Case) -> Iterator[Slip]:
    """Amounts for elements of another size: strides that scale with it, and the K step."""
    seen = case.seen
    name = "start_address"
    for bits in (8, 16, 32):
        if bits == seen.bits or seen.bits < 8:
            continue
        scaled = {n: case.wanted[n] * bits // seen.bits for n in ("lbo", "sbo") if n in case.read and case.wanted[n]}
        first = case.start_at(case.mn, 0)
        starts: dict[str, int] = {}
        if case.k:
            starts[name] = first + case.k * bits // 8
            if starts[name] == case.wanted[name]:
                starts.clear()
        of = f"for elements of {bits // 8} byte{'s' if bits > 8 else ''}; these have {seen.bits // 8}"
        for names in subsets((*scaled, *starts)):
            wrong: dict[str, int] = {n: v for n, v in (scaled | starts).items() if n in names}
            says = f"{sentence(named(wrong))} {'was' if len(wrong) == 1 else 'were'} computed {of}. {_must(case, wrong)}"
            yield Slip("element_size", says, wrong, 1.3 if len(wrong) > 1 or name in wrong else 1.5)
        yield from _resized_tile(case, bits, of)


def _resized_tile(case: Case, bits: int, of: str) -> Iterator[Slip]:
    """The right word of a canonical tile with as many elements of another size."""
    from dataclasses import replace

    tile = case.stored.tile
    if not tile or tile.element_bits == bits:
        return
    try:
        made = replace(tile, element_bits=bits)
        word = made.descriptor(case.mn, case.k)
    except LayoutError:
        return
    values = {START.name: word.start_address, LBO.name: word.lbo_bytes, SBO.name: word.sbo_bytes}
    wrong = {n: v for n, v in values.items() if n in case.read and v != case.wanted[n]}
    if wrong:
        says = f"{sentence(named(wrong))} {'was' if len(wrong) == 1 else 'were'} computed {of}. {_must(case, wrong)}"
        yield Slip("element_size", says, wrong, 1.3)


def _other_slice(case: Case) -> Iterator[Slip]:
    had = case.had["start_address"]
    found = case.slices.get(had)
    if found and found != (case.mn, case.k):
        mn, k = found
        says = f"The start is that of the slice at mn = {mn}, k = {k}. The slice at mn = {case.mn}, k = {case.k} begins at {case.wanted['start_address']:#x}."
        yield Slip("other_slice", says, {"start_address": had}, 2.0)


def _must(case: Case, wrong: Amounts) -> str:
    parts = [
        f"the start {case.wanted[n]:#x}" if n == "start_address" else f"{NAMES[n]} {bytes_text(case.wanted[n])}"
        for n in NAMES
        if n in wrong
    ]
    return (
        f"Here {' and '.join([', '.join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)} {'is' if len(parts) == 1 else 'are'} right."
    )
