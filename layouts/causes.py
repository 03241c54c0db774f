"""What the verifier's causes are called by people: one row a code."""

from __future__ import annotations

TITLES = {
    "atom_order": "The atoms are laid in the other order",
    "base_offset_as_k_advance": "The base offset is used as a K step",
    "base_offset_from_shifted_start": "The base offset is taken from the shifted start address",
    "base_offset_missing": "The base offset is missing",
    "base_offset_wrong": "The base offset is wrong",
    "bytes_not_shifted": "Bytes are stored without the shift by 4",
    "element_size": "The strides fit another element size",
    "generic_pointer": "A generic pointer is used as a shared-memory address",
    "high_word_missing": "The high 32 bits are missing",
    "k_advance_past_atom": "The K step runs past the swizzle atom",
    "k_step_in_elements": "The K step is counted in elements",
    "k_step_missing": "The K step is missing",
    "k_step_not_shifted": "The K step is added without the shift by 4",
    "lbo_sbo_swapped": "LBO and SBO are exchanged",
    "mn_offset_inside_atom": "The slice begins inside an atom",
    "mode_at_bit_61": "The swizzle mode stands one bit too low",
    "mode_at_bit_62": "The swizzle mode stands one bit too high",
    "not_canonical": "The tile is not in a canonical layout",
    "operands_exchanged": "The operands are exchanged in the call",
    "other_slice": "The word reads another slice of the tile",
    "overlapping_core_matrices": "Core matrices overlap",
    "panel_stride_from_instruction": "The panel stride is that of the instruction, not of the tile",
    "panel_stride_wrong": "The stride between panels is wrong",
    "row_major_not_core_matrix": "The tile is row-major, without core matrices",
    "sbo_is_row_pitch": "SBO is the row pitch",
    "sbo_other_width": "SBO belongs to another swizzle width",
    "shifted_twice": "The shift by 4 is applied twice",
    "shifts_of_32_bits": "A 32-bit value is shifted by 32 bits or more",
    "sign_extended": "A negative 32-bit value is sign-extended",
    "start_wrong": "The start address is wrong",
    "stored_swizzle": "The tile is stored with another swizzle mode",
    "stored_unswizzled": "The tile is stored without swizzle",
    "stride_wrong": "A stride is wrong",
    "swizzle_mode": "The swizzle mode is wrong",
    "swizzle_reserved": "The swizzle code is reserved",
    "tcgen05_format": "The word has the format of tcgen05",
    "tma_destination": "TMA cannot store to where the tile begins",
    "tma_swizzle_enum": "The swizzle code is TMA’s, not the descriptor’s",
    "version_wrong": "The version of the descriptor is wrong",
    "wgmma_format": "The word has the format of wgmma",
    "wgmma_swizzle_code": "The swizzle code is wgmma’s, not tcgen05’s",
    "words_exchanged": "The two 32-bit words are exchanged",
    "wrong_transpose": "The transpose bit says the other major",
}


def title(code: str) -> str:
    """The cause's title; KeyError for a code that is not the verifier's."""
    return TITLES[code]
