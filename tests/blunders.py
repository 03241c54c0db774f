"""Programs that build a wgmma descriptor wrongly: the programs of tests/right_programs.py, each with every known
mistake, packed by this file's own arithmetic. tests/verifier_study.py asks the verifier about them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

from tests.right_programs import MASK, TMA, WIDTH, DescriptorProgram, build_word, compute_strides, pack_word

# the mistakes: each returns the wrong word (with the storage, where the data are at fault), or None where it does not a

Wrong = int | tuple[int, dict[str, Any]] | None
BLUNDERS: list[tuple[str, str, Callable[[DescriptorProgram], Wrong]]] = []


def blunder(code: str) -> Callable[[Callable[[DescriptorProgram], Wrong]], Callable[[DescriptorProgram], Wrong]]:
    def keep(function: Callable[[DescriptorProgram], Wrong]) -> Callable[[DescriptorProgram], Wrong]:
        BLUNDERS.append((code, function.__name__, function))
        return function

    return keep


def compute_first_start(p: DescriptorProgram) -> int:
    """The start of the slice at k = 0."""
    return replace(p, at_k=0).with_right_fields().start


def replace_fields(p: DescriptorProgram, **changes: Any) -> DescriptorProgram:
    return replace(p, **changes).with_right_fields()


@blunder("bytes_not_shifted")
def everything_in_bytes(p: DescriptorProgram) -> Wrong:
    return (p.start & 0x3FFF) | (p.lbo & 0x3FFF) << 16 | (p.sbo & 0x3FFF) << 32 | p.code << 62


@blunder("bytes_not_shifted")
def everything_in_bytes_unmasked(p: DescriptorProgram) -> Wrong:
    return (p.start | p.lbo << 16 | p.sbo << 32 | p.code << 62) & MASK


@blunder("bytes_not_shifted")
def strides_in_bytes(p: DescriptorProgram) -> Wrong:
    return pack_word(p.start, 0, 0, 0, p.code) | (p.lbo & 0x3FFF) << 16 | (p.sbo & 0x3FFF) << 32


@blunder("bytes_not_shifted")
def address_in_bytes(p: DescriptorProgram) -> Wrong:
    return pack_word(0, p.lbo, p.sbo, 0, p.code) | p.start & 0x3FFF


@blunder("bytes_not_shifted")
def sbo_in_bytes(p: DescriptorProgram) -> Wrong:
    return pack_word(p.start, p.lbo, 0, 0, p.code) | (p.sbo & 0x3FFF) << 32


@blunder("shifted_twice")
def address_shifted_twice(p: DescriptorProgram) -> Wrong:
    return pack_word(p.start >> 4, p.lbo, p.sbo, 0, p.code)


@blunder("shifted_twice")
def strides_shifted_twice(p: DescriptorProgram) -> Wrong:
    return pack_word(p.start, p.lbo >> 4, p.sbo >> 4, 0, p.code)


@blunder("lbo_sbo_swapped")
def strides_exchanged(p: DescriptorProgram) -> Wrong:
    return pack_word(p.start, p.sbo, p.lbo, 0, p.code)


@blunder("tma_swizzle_enum")
def tensor_map_code(p: DescriptorProgram) -> Wrong:
    return pack_word(p.start, p.lbo, p.sbo, 0, TMA[p.swizzle])


@blunder("swizzle_mode")
def mode_left_out(p: DescriptorProgram) -> Wrong:
    return pack_word(p.start, p.lbo, p.sbo, 0, 0)


@blunder("swizzle_mode")
def mode_of_128b(p: DescriptorProgram) -> Wrong:
    """1 << 62 as in every example; 2 << 61 is the same word."""
    return pack_word(p.start, p.lbo, p.sbo, 0, 1) if p.swizzle == "64B" else None


@blunder("mode_at_bit_61")
def mode_a_bit_too_low(p: DescriptorProgram) -> Wrong:
    return pack_word(p.start, p.lbo, p.sbo, 0, 0) | p.code << 61


@blunder("tcgen05_format")
def blackwell_base32b(p: DescriptorProgram) -> Wrong:
    return pack_word(p.start, p.lbo, p.sbo, 0, 0) | 1 << 46 | 1 << 61 if p.swizzle == "128B" else None


@blunder("high_word_missing")
def cut_to_32_bits(p: DescriptorProgram) -> Wrong:
    return build_word(p) & 0xFFFFFFFF


@blunder("words_exchanged")
def halves_exchanged(p: DescriptorProgram) -> Wrong:
    return build_word(p) >> 32 | (build_word(p) & 0xFFFFFFFF) << 32


@blunder("shifts_of_32_bits")
def shifted_as_int(p: DescriptorProgram) -> Wrong:
    """x86 takes the count modulo 32."""
    return p.start >> 4 | p.lbo >> 4 << 16 | p.sbo >> 4 << 0 | p.code << 30 & 0xFFFFFFFF


@blunder("shifts_of_32_bits")
def mode_shifted_as_int(p: DescriptorProgram) -> Wrong:
    low = p.start >> 4 | p.lbo >> 4 << 16 | p.sbo >> 4 << 32
    mode = p.code << 30
    return low | (mode | MASK ^ 0xFFFFFFFF if mode >> 31 else mode)


@blunder("sign_extended")
def low_word_negative(p: DescriptorProgram) -> Wrong:
    return build_word(p) | MASK ^ 0xFFFFFFFF


@blunder("sign_extended")
def bytes_as_short(p: DescriptorProgram) -> Wrong:
    low = p.start & 0xFFFF
    return MASK ^ 0xFFFF | low if low >> 15 else None


@blunder("generic_pointer")
def pointer_not_masked(p: DescriptorProgram) -> Wrong:
    pointer = 0x7F0000000000 | (Random(p.start).getrandbits(16) << 24) | p.start
    return pointer >> 4 | p.lbo >> 4 << 16 | p.sbo >> 4 << 32 | p.code << 62


@blunder("sbo_is_row_pitch")
def sbo_of_one_row(p: DescriptorProgram) -> Wrong:
    return pack_word(p.start, p.lbo, WIDTH[p.swizzle], 0, p.code) if p.swizzle != "none" else None


@blunder("sbo_other_width")
def sbo_of_another_mode(p: DescriptorProgram) -> Wrong:
    others = [w for w in ("32B", "64B", "128B") if w != p.swizzle]
    outer = compute_strides(p)[0]
    if p.swizzle == "none" or p.major != "K" or outer != p.atom:
        return None
    return pack_word(p.start, p.lbo, 8 * WIDTH[others[p.n // 8 % len(others)]], 0, p.code)


@blunder("element_size")
def fp32_for_narrower(p: DescriptorProgram) -> Wrong:
    """Everything in elements times four."""
    if (
        p.bits == 32
        or not p.at_k
        or p.major != "K"
        or p.swizzle == "none"
        or p.at_k % p.wide * 4 >= WIDTH[p.swizzle]
        or p.at_k >= p.wide
    ):
        return None
    return pack_word(p.base + p.at_mn // 8 * compute_strides(p)[0] + p.at_k * 4, p.lbo, p.sbo, 0, p.code)


@blunder("atom_order")
def atoms_the_other_way(p: DescriptorProgram) -> Wrong:
    if p.kind != "canonical":
        return None
    wrong = replace_fields(p, order="k" if p.order == "mn" else "mn")
    return build_word(wrong)


@blunder("element_size")
def k_step_of_16_bits(p: DescriptorProgram) -> Wrong:
    """Steps of 16 elements where 8-bit types take 32; where that is another slice, it is called so."""
    if p.bits != 8 or p.at_k % 64 != 32 or p.swizzle == "none" or p.at_k >= p.wide:
        return None
    return pack_word(compute_first_start(p) + p.at_k // 2, p.lbo, p.sbo, 0, p.code)


@blunder("atom_order")
def sbo_of_whole_rows(p: DescriptorProgram) -> Wrong:
    """SBO of 8 whole rows, of a tile whose panels lie one after the other."""
    if (
        p.kind != "atoms"
        or p.major != "K"
        or p.order != "mn"
        or p.swizzle == "none"
        or p.bits == 8
        or not 2 <= p.k // p.wide <= 8
        or p.mn == 8
    ):
        return None
    return pack_word(p.start, p.lbo, 8 * p.k * p.size, 0, p.code)


@blunder("k_step_missing")
def k_not_advanced(p: DescriptorProgram) -> Wrong:
    return pack_word(compute_first_start(p), p.lbo, p.sbo, 0, p.code) if p.at_k else None


@blunder("k_step_in_elements")
def k_in_elements(p: DescriptorProgram) -> Wrong:
    return pack_word(compute_first_start(p) + p.at_k, p.lbo, p.sbo, 0, p.code) if p.at_k and p.bits == 16 else None


@blunder("k_step_in_elements")
def k_elements_on_the_field(p: DescriptorProgram) -> Wrong:
    return pack_word(compute_first_start(p), p.lbo, p.sbo, 0, p.code) + p.at_k if p.at_k and p.bits == 16 else None


@blunder("k_step_not_shifted")
def contiguous_k_bytes_on_the_field(p: DescriptorProgram) -> Wrong:
    return pack_word(compute_first_start(p), p.lbo, p.sbo, 0, p.code) + p.at_k * p.size if p.at_k else None


@blunder("k_step_not_shifted")
def k_bytes_on_the_field(p: DescriptorProgram) -> Wrong:
    if not p.at_k:
        return None
    return pack_word(compute_first_start(p), p.lbo, p.sbo, 0, p.code) + (p.start - compute_first_start(p))


@blunder("k_advance_past_atom")
def k_straight_on(p: DescriptorProgram) -> Wrong:
    if not p.at_k:
        return None
    return pack_word(compute_first_start(p) + p.at_k * p.size, p.lbo, p.sbo, 0, p.code)


@blunder("panel_stride_from_instruction")
def panel_of_the_instruction(p: DescriptorProgram) -> Wrong:
    if p.major != "K" or p.order != "mn" or p.at_k < p.wide or p.rows >= p.mn or p.swizzle == "none":
        return None
    return build_word(replace_fields(p, mn=p.rows, base=p.base)) if not p.at_mn else None


@blunder("panel_stride_wrong")
def panel_twice_as_far(p: DescriptorProgram) -> Wrong:
    if p.major != "K" or p.at_k < p.wide or p.swizzle == "none" or p.order != "mn":
        return None
    panels = p.at_k // p.wide
    return pack_word(p.start + panels * 3 * p.atom, p.lbo, p.sbo, 0, p.code)


@blunder("panel_stride_wrong")
def lbo_of_another_panel(p: DescriptorProgram) -> Wrong:
    if p.major != "MN" or p.swizzle == "none" or p.rows <= p.wide:
        return None
    return pack_word(p.start, p.lbo + 3 * p.atom, p.sbo, 0, p.code)


@blunder("panel_stride_wrong")
def lbo_of_a_larger_tile(p: DescriptorProgram) -> Wrong:
    """Panels, or core matrices along K, of a tile twice as long."""
    if p.major == "MN" and p.swizzle != "none" and p.order == "k" and p.rows > p.wide:
        return pack_word(p.start, 2 * p.lbo, p.sbo, 0, p.code)
    if p.major == "K" and p.swizzle == "none" and p.order == "mn":
        return pack_word(p.start, 2 * p.lbo, p.sbo, 0, p.code)
    return None


@blunder("other_slice")
def rows_not_advanced(p: DescriptorProgram) -> Wrong:
    if not p.at_mn or p.at_mn % p.rows or p.at_k >= p.wide:
        return None
    return build_word(replace_fields(p, at_mn=0))


@blunder("start_wrong")
def rows_bytes_on_the_field(p: DescriptorProgram) -> Wrong:
    if not p.at_mn:
        return None
    start = replace_fields(p, at_mn=0).start
    return pack_word(start, p.lbo, p.sbo, 0, p.code) + (p.start - start)


@blunder("other_slice")
def one_atom_of_k_a_step(p: DescriptorProgram) -> Wrong:
    """An MN-major atom is 8 of K deep, and an instruction takes 16."""
    if p.major != "MN" or not p.at_k or p.swizzle == "none":
        return None
    return build_word(replace_fields(p, at_k=p.at_k // 2))


@blunder("other_slice")
def next_rows(p: DescriptorProgram) -> Wrong:
    if p.at_mn + 2 * p.rows > p.mn or p.at_k or (p.major == "MN" and p.rows % p.wide):
        return None
    return build_word(replace_fields(p, at_mn=p.at_mn + p.rows))


@blunder("base_offset_wrong")
def rows_of_the_start(p: DescriptorProgram) -> Wrong:
    """Data swizzled by address, three rows past the boundary, and base offset set all the same."""
    moved = replace_fields(p, base=p.base + 384)
    offset = moved.start >> 7 & 7
    if p.swizzle == "none" or offset == moved.start >> 11 & 7:
        return None
    return pack_word(moved.start, moved.lbo, moved.sbo, offset, moved.code), moved.storage


@blunder("base_offset_from_shifted_start")
def rows_of_the_field(p: DescriptorProgram) -> Wrong:
    offset = p.start >> 4 >> 7 & 7
    return pack_word(p.start, p.lbo, p.sbo, offset, p.code) if p.swizzle != "none" else None


@blunder("base_offset_as_k_advance")
def base_offset_steps(p: DescriptorProgram) -> Wrong:
    """The start stays, base offset counts the steps."""
    if not p.at_k or p.swizzle == "none" or p.at_k >= p.wide or p.major != "K":
        return None
    step = p.at_k * p.size // 32
    return pack_word(compute_first_start(p), p.lbo, p.sbo, step & 7, p.code)


@blunder("base_offset_missing")
def tile_off_the_boundary(p: DescriptorProgram) -> Wrong:
    """Data swizzled from the tile's start, which is not on the pattern's boundary."""
    if p.swizzle == "none" or p.kind == "cute":
        return None
    moved = replace_fields(p, base=p.base + 128)
    if moved.base % p.atom == 0:
        return None
    return build_word(moved), {**moved.storage, "swizzle_by": "tile"}


@blunder("start_wrong")
def a_chunk_too_far(p: DescriptorProgram) -> Wrong:
    return pack_word(p.start + 16, p.lbo, p.sbo, 0, p.code)


@blunder("stride_wrong")
def sbo_odd(p: DescriptorProgram) -> Wrong:
    return pack_word(p.start, p.lbo, p.sbo + 208, 0, p.code)


@blunder("stride_wrong")
def sbo_left_out(p: DescriptorProgram) -> Wrong:
    return pack_word(p.start, p.lbo, 0, 0, p.code) if p.swizzle != "none" else None


@blunder("stride_wrong")
def lbo_left_at_one(p: DescriptorProgram) -> Wrong:
    return pack_word(p.start, 16, p.sbo, 0, p.code)


@blunder("stored_unswizzled")
def stored_plain(p: DescriptorProgram) -> Wrong:
    if p.swizzle == "none" or p.kind == "canonical":
        return None
    return build_word(p), {**p.storage, "swizzle": "none"}


@blunder("stored_swizzle")
def stored_with_another_mode(p: DescriptorProgram) -> Wrong:
    """The word of one mode, the same elements laid out for another."""
    across, lines = (p.k, p.mn) if p.major == "K" else (p.mn, p.k)
    others = [
        w for w in WIDTH if w != p.swizzle and not across * p.size % WIDTH[w] and (w != "none" or p.kind == "canonical")
    ]
    if not others or lines % 8:
        return None
    stored = others[p.n // 8 % len(others)]
    return build_word(p), replace(p, swizzle=stored).storage


@blunder("row_major_not_core_matrix")
def rows_for_core_matrices(p: DescriptorProgram) -> Wrong:
    """A plain row-major tile under mode none."""
    if p.swizzle != "none" or p.major != "K":
        return None
    return build_word(p), {
        "kind": "rows",
        "inner": "K",
        "pitch_bytes": max(p.k, 2 * p.wide) * p.size,
        "swizzle": "none",
        "base": p.base,
    }


@blunder("row_major_not_core_matrix")
def rows_with_strides_of_rows(p: DescriptorProgram) -> Wrong:
    """A plain row-major tile, LBO 16 and SBO eight rows: what the strides of other libraries would say of it."""
    if p.swizzle != "none" or p.major != "K":
        return None
    pitch = max(p.k, 2 * p.wide) * p.size
    start = p.base + p.at_mn * pitch + p.at_k * p.size
    return pack_word(start, 16, 8 * pitch, 0, 0), {
        "kind": "rows",
        "inner": "K",
        "pitch_bytes": pitch,
        "swizzle": "none",
        "base": p.base,
    }


@blunder("not_canonical")
def padded_rows(p: DescriptorProgram) -> Wrong:
    if p.swizzle == "none" or p.kind != "rows":
        return None
    return build_word(p), {**p.storage, "pitch_bytes": WIDTH[p.swizzle] + 16}
