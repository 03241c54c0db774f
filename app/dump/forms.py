"""What is said of a dump, to programs, in a shell and on the page. No framework."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

import numpy as np

from lanescope import dump as engine
from lanescope.app.dump.facts import decode_base64
from lanescope.app.kit.enumerations import ElementType, Word64
from lanescope.app.kit.fact import (
    Description,
    IntegerArray,
    Json,
    Numbers,
    RealArray,
    RequestModel,
    fact,
    make_optional_field,
)
from lanescope.app.memory import descriptors as memory
from lanescope.capture.tile_search import ABSENT, SEVERAL
from lanescope.errors import LayoutError
from lanescope.inputs import check_keys, parse_choice, parse_integer, require_object
from lanescope.ptx import catalog
from lanescope.ptx.codec import Bits, decode_as_read
from lanescope.shared.storage import MOST_BYTES

KEYS = ("dump", "descriptor", "instruction", "operand", "major", "base", "expected", "expected_as", "slice")


@fact
class Wrong:
    """An element that is not the expected one. lies: the address where its value is, -1 where the dump has it nowhere,
    -2 where it is there several times. holds: the element of the tile, (mn, k), whose value is read instead.
    """

    row: int
    k: int
    address: int
    value: float | None
    expected: float | None
    lies: int
    holds: list[int] | None


@fact
class Missing:
    """The wrong elements: how many there are, and of how many the right value was found in the dump, is there several
    times, or not at all.
    """

    wrong: int
    found: int
    several: int
    absent: int


@fact
class Layout:
    """A layout in which the expected tile lies in the dump, and why the word does not read it."""

    storage: Annotated[Mapping[str, object], RequestModel("Storage")]
    text: str
    matched: int
    total: int
    determined: Annotated[
        bool, Description("Whether the values leave no other; else it is a standard layout that fits.")
    ]
    diagnoses: list[memory.Diagnosis]


@fact
class DumpVerified:
    """What the instruction reads from the dump, and whether it is the expected tile; unknown without one, or where
    elements lie outside the dump and all others are right.
    """

    verdict: Literal["match", "mismatch", "unknown"]
    descriptor: Word64
    instruction: str
    operand: Literal["a", "b"]
    element_type: ElementType
    base: Annotated[int, Description("The address of the dump's first byte.")]
    bytes: Annotated[int, Description("Of the dump.")]
    first: Annotated[int, Description("The first byte that is read.")]
    last: int
    matched: int | None
    total: int
    outside: Annotated[int, Description("Elements that lie outside the dump.")]
    address: Annotated[Numbers, IntegerArray(2, "[row][k], absolute byte addresses; row is M for a, N for b.")]
    bits: Annotated[Numbers, IntegerArray(2, "[row][k], the element's code; 0 outside the dump.")]
    values: Annotated[Any, RealArray((2,), "[row][k]; null: NaN, infinite, or outside the dump.")]
    right: Annotated[Numbers | None, IntegerArray(2, "[row][k], 1 where the element is the expected one.")] = (
        make_optional_field()
    )
    lies: Annotated[
        Numbers | None, IntegerArray(2, "[row][k], where the expected value is; -1: nowhere, -2: in several places.")
    ] = make_optional_field()
    lies_by: Annotated[
        Literal["layout", "value"] | None,
        Description("Whether `lies` follows from the one layout, or from each value alone."),
    ]
    wrong: Annotated[list[Wrong], Description("The first wrong elements.")]
    missing: Missing | None
    expected_as: Annotated[Literal["values", "bits"] | None, Description("How the expected file was taken.")]
    layouts: Annotated[
        list[Layout], Description("In which the tile lies in the dump; several where its values repeat.")
    ]
    layout_count: int
    bases: Annotated[list[int], Description("Other values of `base` with which every element would be right.")]
    notes: list[str]


MOST_WRONG = 16


# what is asked --------------------------------------------------------------------------------------------------------


def examine_body(given: Json) -> tuple[engine.Examined, str]:
    """The examination that a body of POST /dumps/verify asks for; LayoutError names the wrong key."""
    check_keys(given, KEYS)
    raw = decode_base64(given.get("dump"), "dump")
    expected = given.get("expected")
    return examine_dump(given, raw, None if expected is None else decode_base64(expected, "expected"))


def examine_dump(given: Mapping[str, Any], raw: bytes, expected: bytes | None) -> tuple[engine.Examined, str]:
    """(what is read, the instruction's PTX) of a dump's bytes and the other keys of a body."""
    part = require_object(given.get("slice", {}), "slice", "Give {'mn': 0, 'k': 0}.", "bad_slice")
    check_keys(part, ("mn", "k"), "slice")
    origin = tuple(parse_integer(part.get(name, 0), f"slice.{name}", 0, MOST_BYTES) for name in ("mn", "k"))
    base = parse_integer(given.get("base", engine.BASE), "base", 0, MOST_BYTES)
    taken = parse_choice(given.get("expected_as", ""), "expected_as", engine.AS)
    word = memory.parse_descriptor(given.get("descriptor"))
    instruction = catalog.find(memory.parse_view({name: given[name] for name in memory.SEEN_BY if name in given})[0])
    operand, major = (given.get("operand", "a"), given.get("major", "K"))
    if expected is None and any(origin):
        name = "mn" if origin[0] else "k"
        raise LayoutError(
            "bad_slice",
            f"slice.{name} is {max(origin)}, but an expected tile is not given.",
            "Give the expected tile, or leave the slice out.",
            f"slice.{name}",
        )
    dump = engine.of_file(raw, base)
    made = engine.examine(
        dump,
        word,
        instruction,
        operand=str(operand).strip().lower(),
        major=str(major).strip().upper(),
        expected=expected,
        taken=taken,
        origin=(origin[0], origin[1]),
    )
    return made, instruction.ptx


# what is answered -----------------------------------------------------------------------------------------------------


def build_answer(made: engine.Examined, ptx: str) -> DumpVerified:
    """The answer of POST /dumps/verify."""
    first, past = made.needed
    return DumpVerified(
        verdict=made.verdict,  # type: ignore[arg-type]  # its words
        descriptor=str(made.descriptor),
        instruction=ptx,
        operand=made.operand,  # type: ignore[arg-type]
        element_type=made.element.name,
        base=made.dump.base,
        bytes=len(made.dump.data),
        first=first,
        last=past - 1,
        matched=made.matched,
        total=made.total,
        outside=made.outside,
        address=made.address,
        bits=made.codes.astype("int64"),
        values=made.values,
        right=None if made.right is None else made.right.astype("int64"),
        lies=made.where.address if made.where else None,
        lies_by=made.where.by if made.where else None,  # type: ignore[arg-type]
        wrong=list(list_wrong(made)),
        missing=summarize_missing(made),
        expected_as=made.tile.taken if made.tile else None,  # type: ignore[arg-type]
        layouts=[
            Layout(
                storage=dict(one.fit.stored.spec),
                text=one.fit.stored.text,
                matched=one.fit.matched,
                total=one.fit.total,
                determined=one.fit.determined,
                diagnoses=[memory.build_diagnosis(found) for found in one.diagnoses],
            )
            for one in made.layouts
        ],
        layout_count=made.layout_count,
        bases=list(made.begins),
        notes=list(list_notes(made)),
    )


def summarize_missing(made: engine.Examined) -> Missing | None:
    """Where the values of the wrong elements are; None where nothing is wrong."""
    if made.right is None or made.where is None:
        return None
    lost = made.where.address[~made.right]
    several, absent = int((lost == SEVERAL).sum()), int((lost == ABSENT).sum())
    return Missing(wrong=int(lost.size), found=int(lost.size) - several - absent, several=several, absent=absent)


def list_wrong(made: engine.Examined, most: int = MOST_WRONG) -> Iterator[Wrong]:
    """The first wrong elements, row by row; those outside the dump among them."""
    if made.right is None or made.wanted is None or made.tile is None or made.where is None:
        return
    values, expected = made.values, decode_as_read(made.wanted, made.element)
    holder = _index_by_code(made.tile.codes)
    for row, k in np.argwhere(~made.right)[:most].tolist():
        inside = bool(made.inside[row, k])
        yield Wrong(
            row=row,
            k=k,
            address=int(made.address[row, k]),
            value=_drop_nonfinite(values[row, k]) if inside else None,
            expected=_drop_nonfinite(expected[row, k]),
            lies=int(made.where.address[row, k]),
            holds=holder.get(int(made.codes[row, k])) if inside else None,
        )


def _drop_nonfinite(value: Any) -> float | None:
    told = float(value)
    return told if told - told == 0 else None


def _index_by_code(codes: Bits) -> dict[int, list[int] | None]:
    """code → the one element of the tile that has it; None where several have."""
    out: dict[int, list[int] | None] = {}
    for mn, line in enumerate(codes.tolist()):
        for k, code in enumerate(line):
            out[code] = None if code in out else [mn, k]
    return out


def list_notes(made: engine.Examined) -> Iterator[str]:
    """What to look at beside the verdict."""
    first, past = made.needed
    if made.outside:
        yield (
            f"The word reads bytes {first:#x} to {past - 1:#x}; the dump holds {made.dump.base:#x} to"
            f" {made.dump.end - 1:#x}."
        )
    for base in made.begins:
        yield f"Every element is right if the dump begins at {base:#x} instead of {made.dump.base:#x}."
    if made.transposed:
        yield "What is read is the transpose of the expected tile."
    if made.tile and made.tile.rounded:
        yield (
            f"{made.tile.rounded:,} expected values are no {made.element.name}; they were rounded to nearest for the"
            " comparison."
        )
    total = made.total
    if made.wanted is not None and made.distinct < total:
        yield (
            f"The expected operand has {made.distinct:,} distinct value{'s' * (made.distinct != 1)} in {total:,}"
            " elements: an element that is read from the wrong place but has the same value counts as right."
        )
    open_ = any(not one.fit.determined for one in made.layouts)
    if made.layout_count > 1 or open_:
        count, s = made.layout_count, "s" * (made.layout_count != 1)
        least = f"At least {count} layout{s}" if open_ else f"{count} layouts"
        says = "put" if count > 1 else "puts"
        why = (
            "The values repeat too often to tell which it is." if open_ else "The dump has the tile in several places."
        )
        yield f"{least} {says} the expected values where the dump has them. {why}"
