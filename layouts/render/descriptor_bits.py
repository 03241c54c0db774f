"""The picture of a descriptor: its 64 bits with their fields."""

from __future__ import annotations

from html import escape

from lanescope.descriptor.matrix import Descriptor
from lanescope.render.palette import Palette
from lanescope.render.pointing import describe_grid
from lanescope.render.svg import render_hatches

_LETTER = 6.7  # pixels of a letter of a field's name


def render_descriptor_bits(descriptor: Descriptor, palette: Palette | None) -> str:
    """Return the 64 bits in two rows with their fields, as SVG.

    palette: None takes the page's colours.
    """
    form, bw = descriptor.format, palette is not None and palette.name == "bw"
    halo = ' stroke="#ffffff" stroke-width="3" paint-order="stroke"' if bw else ""
    paper, muted, line, ink = (
        (palette.paper, palette.muted, palette.line, palette.ink)
        if palette
        else ("var(--paper)", "var(--muted)", "var(--cell-line)", "var(--cell-ink)")
    )
    out = [
        (
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 780 190" width="780" height="190" role="img"'
            " font-family=\"'DejaVu Sans Mono', ui-monospace, monospace\">"
        ),
        f"<title>{form.name} matrix descriptor {descriptor}</title>",
        *(render_hatches() if bw else []),
        f'<rect width="780" height="190" fill="{paper}"/>',
        f'<text x="10" y="18" font-size="13" fill="{muted}">{descriptor}</text>',
    ]
    fills = {f.name: palette.fills[n] if palette else f"var(--fill-{n})" for n, f in enumerate(form.fields)}
    for bit in range(63, -1, -1):
        row, col = divmod(63 - bit, 32)
        x, y, name = 10 + col * 23.7, 42 + row * 74, form.get_field_name(bit)
        out.append(f'<text x="{x + 11:.1f}" y="{y - 4}" font-size="8" text-anchor="middle" fill="{muted}">{bit}</text>')
        out.append(
            f'<rect x="{x:.1f}" y="{y}" width="23.7" height="24" fill="{fills.get(name, paper)}" stroke="{line}"'
            ' stroke-width=".6"/>'
        )
        out.append(
            f'<text x="{x + 11.8:.1f}" y="{y + 16}" font-size="12" text-anchor="middle"'
            f' fill="{ink}"{halo}>{descriptor.word >> bit & 1}</text>'
        )
    past = dict.fromkeys(range(2), 0.0)  # where the last name of a row ends
    for field in sorted(form.fields, key=lambda one: -one.high):
        row, col = divmod(63 - field.high, 32)
        x, text = 10 + col * 23.7, f"{field.short} {form.format_field_value(descriptor.word, field)}"
        y = 42 + row * 74 + (40 if past[row] < x else 52)
        past[row] = max(past[row], x + _LETTER * (len(text) + 1))
        out.append(f'<text x="{x:.1f}" y="{y}" font-size="11" fill="{muted}">{escape(text)}</text>')
    if palette is None:
        out += [_point_at_bits(descriptor, row) for row in range(2)]
    return "\n".join([*out, "</svg>\n"])


def _point_at_bits(descriptor: Descriptor, row: int) -> str:
    """Return the tooltip attributes of one row of bits; a field is highlighted as a whole."""
    form, word = descriptor.format, descriptor.word
    bits = range(63 - 32 * row, 31 - 32 * row, -1)
    fields = [next((field for field in form.fields if field.low <= bit <= field.high), None) for bit in bits]
    texts = [f"bit {bit} is {word >> bit & 1}: " for bit in bits]
    for n, field in enumerate(fields):
        place = f"{field.title}, bits {field.high}–{field.low} = {field.get(word):#x}" if field else "reserved"
        texts[n] += f"{place} → {form.format_field_value(word, field)}" if field else place
    groups = [field.name if field else "" for field in fields]
    return f"<g{describe_grid((10, 42 + row * 74), (23.7, 24), [texts], groups=[groups])}/>"
