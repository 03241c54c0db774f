"""Computed tables of the guide's pages about tcgen05 and prepacked weights."""

from __future__ import annotations

from lanescope.app.guide.markdown import format_code_block
from lanescope.bits import BitField
from lanescope.blackwell import tmem
from lanescope.ptx.table import tmem as rows_of_tmem
from lanescope.ptx.table.descriptors import FORMATS as DESCRIPTORS, ROWS, TCGEN05, TCGEN05_RUBIN, VARIANTS
from lanescope.ptx.table.kinds import KINDS as UMMA_KINDS, RUBIN_KINDS
from lanescope.render.scaling import render_order
from lanescope.render.tables import format_table
from lanescope.render.tmem import render_scale_order
from lanescope.weights.formats import FORMATS


def render_formats() -> str:
    """Render the fields of the matrix descriptors by their bits, and the codes of the swizzle modes."""
    rows = []
    for field in TCGEN05_RUBIN.fields:
        places = [next((f for f in row.fields if f.name == field.name), None) for row in ROWS]
        rows.append((field.title, *(_format_bits(place) if place else "reserved, 0" for place in places)))
    for mode in TCGEN05.codes:
        codes = [str(row.codes[mode]) if mode in row.codes else "—" for row in ROWS]
        rows.append((f"swizzle {mode.name}", *codes))
    heads = [row.name for row in DESCRIPTORS]
    return format_table(("field or mode", *heads, *(f"{name} on {on}" for name, on in VARIANTS)), rows)


def _format_bits(field: BitField) -> str:
    return f"bits {field.low}–{field.high}" if field.high > field.low else f"bit {field.low}"


def render_data_paths() -> str:
    """Render layouts A to G: when each applies, how many rows a CTA has, and the place of D's elements."""
    rows = []
    for place in rows_of_tmem.PLACES:
        sparse = "" if len(place.sparse) > 1 else ", sparse A" if place.sparse[0] else ", dense A"
        maps = f"CUTLASS, {place.maps[0]} maps" if place.maps[0] else "inferred"
        when = f"M {place.m}, {tmem.format_form(place.form)}{sparse}"
        rows.append((place.letter, when, str(place.rows), f"`{place.d}`", maps))
    return format_table(("layout", "when", "rows of a CTA", "(lane)(column) → (row)(col)", "agrees with"), rows)


def render_tmem_accesses() -> str:
    """Render the shapes of tcgen05.ld and .st."""
    rows = []
    for move in rows_of_tmem.MOVES:
        access = tmem.parse_access(f"tcgen05.ld.{move.shape}.x1")
        sizes = (str(move.lanes), str(access.columns), str(access.registers))
        rows.append((move.shape, f"x1 to x{move.most}", *sizes, f"`{move.pattern}`"))
    return format_table(
        ("shape", "counts", "lanes", "columns of x1", "registers of x1", "(thread)(register) → (lane)(column)"), rows
    )


def render_scale_code() -> str:
    """Render the code that reorders row-major scale factors into atoms: NumPy, PyTorch, CUDA C++."""
    return "\n\n".join(format_code_block(code) for code in render_scale_order().values())


def render_scale_conversion() -> str:
    """Render the code that converts row-major float32 factors to UE8M0 in atoms."""
    return "\n\n".join(format_code_block(code) for code in render_order().values())


def render_weight_formats() -> str:
    """Render the formats of prepacked weights with the tile of each."""
    rows = [
        (f"[{row.title}](/weights?format={row.name}&bits={bits})", str(bits), f"`{row.tile_of(bits)}`")
        for row in FORMATS.values()
        for bits in row.left
    ]
    return format_table(("format", "bits", "(thread)(word field) → (k)(n)"), rows)


def render_tmem_copies() -> str:
    """Render the shapes of tcgen05.cp."""
    rows = [(name, f"`{pattern}`") for name, pattern in rows_of_tmem.COPIES.items()]
    return format_table(("shape", "(lane)(column) → (row of shared memory)(32-bit word)"), rows)


def render_idesc_fields() -> str:
    """Render the fields of the instruction descriptor by their bits, a column for each of its three forms."""
    forms = {row.source: row for row in UMMA_KINDS}  # one kind of each table of PTX
    names = dict.fromkeys(part.name for row in forms.values() for part in row.parts)
    rows = []
    for name in names:
        parts = [next((part for part in row.parts if part.name == name), None) for row in forms.values()]
        title = next(part.field.title for part in parts if part)
        rows.append((title, *(_format_bits(part.field) if part else "—" for part in parts)))
    heads = [", ".join(row.name for row in UMMA_KINDS if row.source == source) for source in forms]
    return format_table(("field", *heads), rows)


def render_rubin_fields() -> str:
    """Render the additional fields of the instruction descriptor on sm_107: field, bits, kinds."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for row in UMMA_KINDS:
        for part in RUBIN_KINDS[row.name].parts:
            existing = row.get_field(part.name) if row.has_field(part.name) else None
            if existing and (existing.field.high, existing.codes) == (part.field.high, part.codes):
                continue
            codes = ", ".join(f"{code} {name}" for name, code in part.codes.items())
            found.setdefault((part.field.title, _format_bits(part.field), codes), []).append(row.name)
    rows = [(*texts, ", ".join(kinds)) for texts, kinds in found.items()]
    return format_table(("field", "bits", "codes", "kinds"), rows)
