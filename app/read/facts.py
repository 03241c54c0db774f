"""What is said of a pasted text. No framework."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from app.kit.fact import Says, fact

Kind = Literal[
    "instruction",
    "descriptor",
    "builder",
    "tensor_map",
    "layout",
    "tiled_mma",
    "tiled_copy",
    "triton",
    "topic",
    "unknown",
]


@fact
class Meaning:
    """One meaning of a text."""

    kind: Kind
    title: Annotated[str, Says("For people.")]
    link: Annotated[str, Says("The page that shows it.")]
    facts: Annotated[
        dict[str, Any],
        Says(
            "By kind. instruction: ptx (null where several fit), candidates, operand, all; majors (of A and B, where"
            " the text says them); for SASS sass (each mnemonic) and several (instructions that become so many of it)."
            " descriptor: word, format, name (as it was printed)."
            " builder: fields, start (bytes, or the name of the free symbol), format, word (null where the start is"
            " free), warnings. tensor_map: storage, element_bits, box (innermost first), swizzle."
            " layout: cute, swizzle, element_bits, shape, stride, modes, size, cosize, storage; stages of a"
            " third mode."
            " tiled_mma: threads, tile_mnk, atom_mnk, permutation, candidates, body. tiled_copy: threads,"
            " values_per_thread, tiler_mn, element_bits, ptx, body. triton: attribute, params, candidates, operand,"
            " body. topic: page. What the text leaves open is null and named in undetermined."
        ),
    ]
    notices: Annotated[tuple[str, ...], Says("What to look at; for an unknown text what was understood.")]


@fact
class Reading(Meaning):
    """What a text is, the likeliest meaning first."""

    also: Annotated[tuple[Meaning, ...], Says("Other meanings, less likely.")]
