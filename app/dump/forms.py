"""What is said of a dump, to programs, in a shell and on the page. No framework."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

import numpy as np

from lanescope import dump as engine
from lanescope.app.dump.facts import decoded
from lanescope.app.kit.fact import AsGiven, Integers, Json, Numbers, Reals, Says, fact, sometimes
from lanescope.app.kit.names import ElementType, Word64
from lanescope.app.memory import descriptors as memory
from lanescope.capture.locate import ABSENT, SEVERAL
from lanescope.errors import LayoutError
from lanescope.ptx import catalog
from lanescope.ptx.codec import Bits, numbers
from lanescope.reading import choice, keys, number, table
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

    storage: Annotated[Mapping[str, object], AsGiven("Storage")]
    text: str
    matched: int
    total: int
    determined: Annotated[bool, Says("Whether the values leave no other; else it is a standard layout that fits.")]
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
    base: Annotated[int, Says("The address of the dump's first byte.")]
    bytes: Annotated[int, Says("Of the dump.")]
    first: Annotated[int, Says("The first byte that is read.")]
    last: int
    matched: int | None
    total: int
    outside: Annotated[int, Says("Elements that lie outside the dump.")]
    address: Annotated[Numbers, Integers(2, "[row][k], absolute byte addresses; row is M for a, N for b.")]
    bits: Annotated[Numbers, Integers(2, "[row][k], the element's code; 0 outside the dump.")]
    values: Annotated[Any, Reals((2,), "[row][k]; null: NaN, infinite, or outside the dump.")]
    right: Annotated[Numbers | None, Integers(2, "[row][k], 1 where the element is the expected one.")] = sometimes()
    lies: Annotated[
        Numbers | None, Integers(2, "[row][k], where the expected value is; -1: nowhere, -2: in several places.")
    ] = sometimes()
    lies_by: Annotated[
        Literal["layout", "value"] | None, Says("Whether `lies` follows from the one layout, or from each value alone.")
    ]
    wrong: Annotated[list[Wrong], Says("The first wrong elements.")]
    missing: Missing | None
    expected_as: Annotated[Literal["values", "bits"] | None, Says("How the expected file was taken.")]
    layouts: Annotated[list[Layout], Says("In which the tile lies in the dump; several where its values repeat.")]
    layout_count: int
    bases: Annotated[list[int], Says("Other values of `base` with which every element would be right.")]
    notes: list[str]


MOST_WRONG = 16


# what is asked --------------------------------------------------------------------------------------------------------


def of_body(given: Json) -> tuple[engine.Examined, str]:
    """The examination that a body of POST /dumps/verify asks for; LayoutError names the wrong key."""
    keys(given, KEYS)
    raw = decoded(given.get("dump"), "dump")
    expected = given.get("expected")
    return examined(given, raw, None if expected is None else decoded(expected, "expected"))


def examined(given: Mapping[str, Any], raw: bytes, expected: bytes | None) -> tuple[engine.Examined, str]:
    """(what is read, the instruction's PTX) of a dump's bytes and the other keys of a body."""
    part = table(given.get("slice", {}), "slice", "Give {'mn': 0, 'k': 0}.", "bad_slice")
    keys(part, ("mn", "k"), "slice")
    origin = tuple(number(part.get(name, 0), f"slice.{name}", 0, MOST_BYTES) for name in ("mn", "k"))
    base = number(given.get("base", engine.BASE), "base", 0, MOST_BYTES)
    taken = choice(given.get("expected_as", ""), "expected_as", engine.AS)
    word = memory.parse_descriptor(given.get("descriptor"))
    instruction = catalog.find(memory.seen_by({name: given[name] for name in memory.SEEN_BY if name in given})[0])
    operand, major = (given.get("operand", "a"), given.get("major", "K"))
    if expected is None and any(origin):
        name = "mn" if origin[0] else "k"
        raise LayoutError(
            "bad_slice",
            f"slice.{name} is {max(origin)}, but there is no expected tile to take it from.",
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


def facts(made: engine.Examined, ptx: str) -> DumpVerified:
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
        wrong=list(wrong(made)),
        missing=missing(made),
        expected_as=made.tile.taken if made.tile else None,  # type: ignore[arg-type]
        layouts=[
            Layout(
                storage=dict(one.fit.stored.spec),
                text=one.fit.stored.text,
                matched=one.fit.matched,
                total=one.fit.total,
                determined=one.fit.determined,
                diagnoses=[memory.diagnosis_facts(found) for found in one.diagnoses],
            )
            for one in made.layouts
        ],
        layout_count=made.layout_count,
        bases=list(made.begins),
        notes=list(notes(made)),
    )


def missing(made: engine.Examined) -> Missing | None:
    """Where the values of the wrong elements are; None where nothing is wrong."""
    if made.right is None or made.where is None:
        return None
    lost = made.where.address[~made.right]
    several, absent = int((lost == SEVERAL).sum()), int((lost == ABSENT).sum())
    return Missing(wrong=int(lost.size), found=int(lost.size) - several - absent, several=several, absent=absent)


def wrong(made: engine.Examined, most: int = MOST_WRONG) -> Iterator[Wrong]:
    """The first wrong elements, row by row; those outside the dump among them."""
    if made.right is None or made.wanted is None or made.tile is None or made.where is None:
        return
    values, expected = made.values, numbers(made.wanted, made.element)
    holder = _holders(made.tile.codes)
    for row, k in np.argwhere(~made.right)[:most].tolist():
        inside = bool(made.inside[row, k])
        yield Wrong(
            row=row,
            k=k,
            address=int(made.address[row, k]),
            value=_plain(values[row, k]) if inside else None,
            expected=_plain(expected[row, k]),
            lies=int(made.where.address[row, k]),
            holds=holder.get(int(made.codes[row, k])) if inside else None,
        )


def _plain(value: Any) -> float | None:
    told = float(value)
    return told if told - told == 0 else None


def _holders(codes: Bits) -> dict[int, list[int] | None]:
    """code → the one element of the tile that has it; None where several have."""
    out: dict[int, list[int] | None] = {}
    for mn, line in enumerate(codes.tolist()):
        for k, code in enumerate(line):
            out[code] = None if code in out else [mn, k]
    return out


def notes(made: engine.Examined) -> Iterator[str]:
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
