"""What the API, the command line and the pages say about shared memory and descriptors: plain dicts, no framework."""

from __future__ import annotations

import re
from typing import Any

from layouts import catalog, slices, tma
from layouts import descriptor as desc
from layouts.bits import hex_word
from layouts.case import Diagnosis
from layouts.descriptor import Descriptor, View
from layouts.errors import LayoutError
from layouts.expression import LONGEST, Note
from layouts.fits import fits
from layouts.instruction import Instruction
from layouts.reading import asked, choice, keys, number, table
from layouts.render.descriptor import code
from layouts.spelling import read_word
from layouts.statements import read_code
from layouts.storage import HINT as STORAGE_HINT
from layouts.storage import storage
from layouts.swizzle import NAMES, Mode, mode
from layouts.tiling import DEFAULT_ORDER, Tile
from layouts.verify import Verdict, verify

Json = dict[str, Any]
TILE_FIELDS = {
    "element_bits": "16",
    "major": "K",
    "swizzle": "128B",
    "mn": "64",
    "k": "64",
    "rows": "",
    "order": "",
    "base": "0",
}
# What a tile takes: parameter → (the words it may be, none for a number; what it is).
TILE: dict[str, tuple[tuple[str, ...], str]] = {
    "element_bits": ((), "Bits of an element."),
    "major": (tuple(DEFAULT_ORDER), "Which way is contiguous."),
    "swizzle": (NAMES, "The swizzle mode."),
    "mn": ((), "Elements of M or N."),
    "k": ((), "Elements of K."),
    "rows": ((), "Rows of one instruction; 64, or mn where that is less."),
    "order": (("mn", "k"), "Which way the atoms are laid first; the usual one of the major where it is empty."),
    "base": ((), "The tile's byte address."),
}
AMOUNTS = tuple(f.amount for f in desc.FIELDS if f is not desc.SWIZZLE)
MAJORS = tuple(DEFAULT_ORDER)
SEEN_BY = ("instruction", "operand", "major")
_CODE = re.compile(r"\breturn\b|[;=]\s*\S|[A-Za-z_]\w*\s*\(\s*&?\s*[A-Za-z_]")  # statements, or a call of a name
FIXED = "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16"


def _mode(given: Json) -> Mode:
    return mode(choice(given["swizzle"], "swizzle", NAMES, "unknown_swizzle"))


def tile_of(given: Json) -> tuple[Tile, int]:
    """(tile, rows of one instruction) from the parameters of GET /smem/tile."""
    values = {name: asked(given, name, default) for name, default in TILE_FIELDS.items()}
    tile = Tile(
        number(values["element_bits"], "element_bits"), choice(values["major"], "major", MAJORS, "bad_major"),
        _mode(values), number(values["mn"], "mn"),
        number(values["k"], "k"), values["order"] and choice(values["order"], "order", ("mn", "k"), "bad_tile"),
        number(values["base"], "base"),
    )  # fmt: skip
    rows = number(values["rows"] or min(tile.mn, 64), "rows")
    if not rows or rows % 8 or rows > tile.mn:
        raise LayoutError(
            "bad_tile",
            f"rows = {rows} is no multiple of 8 up to {tile.mn}.",
            "The rows (M or N) of one instruction.",
            "rows",
        )
    return tile, rows


def tile_facts(tile: Tile, rows: int) -> Json:
    """GET /smem/tile."""
    lbo, sbo = tile.lbo_sbo_bytes()
    lbo_used, sbo_used = tile.used(rows)
    fixed = View(rows, tile.step(), tile.element_bits, tile.major)
    reasons = desc.inert(tile.descriptor(), fixed)
    return {
        "atom": {
            "mn": tile.atom[0],
            "k": tile.atom[1],
            "bytes": tile.mode.pattern_bytes,
            "count": {"mn": tile.atoms[0], "k": tile.atoms[1]},
        },
        "cute": tile.cute(),
        "swizzle": tile.mode.name,
        "order": tile.order,
        "rows": rows,
        "bytes": tile.bytes,
        "offset_bytes": tile.offsets(),
        "lbo_bytes": lbo,
        "sbo_bytes": sbo,
        "lbo_used": lbo_used,
        "sbo_used": sbo_used,
        "unused": {name: why for name, why in reasons.items() if name in ("lbo", "sbo")},
        "k_steps": slices.k_steps(tile),
        "mn_steps": slices.mn_steps(tile, rows),
        "descriptor": str(tile.descriptor()),
        "tma_box": tma_box(tile),
    }


def tma_box(tile: Tile) -> Json:
    """The TMA boxes that write this tile."""
    found = tma.boxes(tile)
    return {
        "inner": found.inner,
        "box": [found.wide, found.tall],
        "boxes": found.count,
        "interleave": "NONE",
        "swizzle": tile.mode.name,
        "swizzle_code": tile.mode.tma,
        "note": found.note,
    }


def parse_descriptor(given: object) -> Descriptor:
    """A descriptor from any spelling of 64 bits (layouts.spelling), or from code that builds one
    (layouts.statements).
    """
    return read_descriptor(given)[0]


def _spelled(given: object) -> tuple[Descriptor, tuple[Note, ...]]:
    """The same, and the warnings of a constant expression."""
    try:
        read = read_word(given)
        return Descriptor(read.word), read.warnings
    except LayoutError:
        return parse_descriptor(given), ()


def read_descriptor(given: object, start: int | None = None) -> tuple[Descriptor, list[str]]:
    """(descriptor, what to look at in its spelling). start: the address to put where code leaves it open; LayoutError
    where there is none.
    """
    try:
        read = read_word(given)
        return Descriptor(read.word), [note.text for note in read.warnings]
    except LayoutError:
        if not (isinstance(given, str) and len(given) <= LONGEST and _CODE.search(given)):
            raise
    built = read_code(given)
    if not built.start:
        return Descriptor(built.word), list(built.notices)
    if start is None:
        raise LayoutError(
            "bad_word",
            f"The start address is '{built.start}', no number.",
            "Put the shared-memory address in its place.",
            "descriptor",
        )
    made = Descriptor(built.word).replace(start_address_encoded=desc.START.cut(start))
    return made, [*built.notices, f"The start address is '{built.start}'; {made.start_address:#x} is kept."]


def decoded(given: object) -> Json:
    """GET /descriptors/{hex}: the facts of a descriptor in any spelling; what C++ loses in an expression stands first
    among the warnings.
    """
    descriptor, notes = _spelled(given)
    facts = descriptor_facts(descriptor)
    source = "PTX ISA 9.1, 9.7.8.8 (shl, shr); C++ integer conversions"
    told = [{"code": note.code, "field": "descriptor", "message": note.text, "source": source} for note in notes]
    return facts | {"warnings": [*told, *facts["warnings"]]}


def descriptor_facts(descriptor: Descriptor) -> Json:
    """GET /descriptors/{hex}."""
    return {
        "descriptor": str(descriptor),
        **descriptor.facts,
        "fields": desc.fields(descriptor),
        "reserved": hex_word(descriptor.reserved),
        "warnings": desc.warnings(descriptor),
        "code": code(descriptor),
    }


def encode(given: Json) -> Json:
    """POST /descriptors/encode."""
    keys(given, (*AMOUNTS, "swizzle"))
    start, lbo, sbo, base = (number(given.get(name, 0), name) for name in AMOUNTS)
    made = desc.encode(start, lbo, sbo, base, _mode({"swizzle": given.get("swizzle", "none")}).name)
    return {"descriptor": str(made), "fields": desc.fields(made)}


def seen_by(given: Json) -> tuple[Instruction, View]:
    """The instruction and its view from "instruction", "operand", "major"."""
    instruction = catalog.named(given.get("instruction"), "instruction")
    operand = choice(given.get("operand", "a"), "operand", ("a", "b"), "bad_operand")
    return instruction, desc.view(instruction, operand, choice(given.get("major", "K"), "major", MAJORS, "bad_major"))


def reads_facts(given: Json) -> Json:
    """POST /descriptors/reads."""
    keys(given, ("descriptor", *SEEN_BY))
    descriptor = parse_descriptor(given.get("descriptor"))
    _, seen = seen_by(given)
    address = desc.reads(descriptor, seen)
    last = int(address.max()) + max(seen.bits // 8, 1) - 1
    return {
        "descriptor": str(descriptor),
        "address": address,
        "first": int(address.min()),
        "last": last,
        "unused": desc.inert(descriptor, seen),
        "bank_ways": desc.bank_ways(address, seen),
        "warnings": desc.repeated(descriptor, seen) + desc.outside(descriptor, seen),
    }


def verdict_of(given: Json) -> tuple[Verdict | None, View, Descriptor]:
    """Run a verification request, None where it does not say how the tile was stored; LayoutError names the wrong
    field.
    """
    keys(given, ("descriptor", *SEEN_BY, "storage", "slice"))
    descriptor, written = _spelled(given.get("descriptor"))
    _, seen = seen_by(given)
    part = table(given.get("slice", {}), "slice", "Give {'mn': 0, 'k': 0}.", "bad_slice")
    keys(part, ("mn", "k"), "slice")
    mn, k = (number(part.get(name, 0), f"slice.{name}", 0, desc.MOST_SHARED * 8 - 1) for name in ("mn", "k"))
    if "storage" not in given:
        return None, seen, descriptor
    spec = table(given["storage"], "storage", STORAGE_HINT, "bad_storage")
    stored = storage(spec, seen.bits, seen.major)
    if stored.tile and stored.tile.element_bits != seen.bits:
        raise LayoutError(
            "bad_storage",
            f"The tile has {stored.tile.element_bits}-bit elements, the instruction {seen.bits}.",
            f"element_bits: {seen.bits}.",
            "storage.element_bits",
        )
    computed = "<<" in str(given["descriptor"]) and not written
    return verify(descriptor, seen, stored, mn, k, written, computed), seen, descriptor


def verify_facts(given: Json) -> Json:
    """POST /descriptors/verify. Without a storage there is no verdict: `fits` names the standard tiles that this word
    reads.
    """
    result, seen, descriptor = verdict_of(given)
    told: Json = {
        "descriptor": str(descriptor),
        "verdict": "unknown" if result is None else "match" if result.match else "mismatch",
    }
    if result is None:
        told |= {"matched": None, "total": seen.rows * seen.k, "first_mismatch": None, "diagnoses": []}
        told["fits"] = [
            {"storage": spec, "slice": part, "text": storage(spec, seen.bits, seen.major).text}
            for spec, part in fits(descriptor, seen)
        ]
    else:
        told |= {"matched": result.matched, "total": result.total, "first_mismatch": result.first_mismatch}
        told["diagnoses"] = [diagnosis_facts(d) for d in result.diagnoses]
    twice = desc.repeated(descriptor, seen)
    plain = [w for w in desc.warnings(descriptor) if not (twice and w["code"] == "overlap")]
    return told | {"warnings": plain + twice + desc.outside(descriptor, seen)}


def diagnosis_facts(found: Diagnosis) -> Json:
    """One named cause, its repair and, where the data are at fault, how they would have to be stored."""
    changed = {name: {"from": had, "to": want} for name, (had, want) in found.changes.items()}
    fix = {"descriptor": str(found.fix), "changes": changed} if found.fix else None
    return {"code": found.code, "message": found.message, "fix": fix, "storage": found.storage}
