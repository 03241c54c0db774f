"""Pictures of an instruction descriptor, its bits beside the product they describe, and of a zero-column mask."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from lanescope.app.idesc.forms import format_title, number_fills
from lanescope.blackwell.idesc import IdescWord
from lanescope.blackwell.zeromask import SUBMASKS, ZeroMask
from lanescope.render.idesc import describe_field
from lanescope.render.pointing import describe_grid

FONT = "'DejaVu Sans Mono', ui-monospace, monospace"
LEFT, TOP, BIT, TALL, LINE = 12.0, 34.0, 15.5, 22.0, 17.0  # pixels: width of a bit, height of a field's line
WORDS, PRODUCT, LONGEST, LEAST = 524.0, 850.0, 220.0, 26.0  # left edges; longest and shortest side of a drawn matrix
CELL, HIGH, SIDE = 24.0, 20.0, 32  # width of a column of the mask; columns per line


def draw_idesc(word: IdescWord) -> str:
    """Draw the 32 bits with the meaning of each field, and A, B and D of the product to scale."""
    parts = sorted(word.kind.parts, key=lambda part: part.field.low)
    fills = {part.name: fill for part, fill in zip(word.kind.parts, number_fills(word.kind), strict=True)}
    owners = [next((part for part in parts if part.field.low <= at <= part.field.high), None) for at in range(32)]
    out, texts, groups = [], [], []
    for at in range(31, -1, -1):
        part, x, value = owners[at], LEFT + (31 - at) * BIT, word.word >> at & 1
        wrong = part is None and value
        look = f'fill="var(--fill-{fills[part.name]})"' if part else 'fill="var(--raised)"'
        edge = 'stroke="var(--bad)" stroke-width="2"' if wrong else 'stroke="var(--cell-line)" stroke-width=".6"'
        out.append(f'<rect x="{x:.1f}" y="{TOP}" width="{BIT}" height="{TALL}" {look} {edge}/>')
        ink = "var(--cell-ink)" if part else "var(--bad)" if wrong else "var(--muted)"
        out.append(_draw_text(x + BIT / 2, TOP + 15, str(value), 11, ink, "middle"))
        if at % 8 in (0, 7):
            out.append(_draw_text(x + BIT / 2, TOP - 5, str(at), 8.5, anchor="middle"))
        place = f"bit {at} is {value}: "
        texts.append(place + (f"{part.field.title} {describe_field(part, word)}" if part else "reserved"))
        groups.append(part.name if part else "")
    for line, part in enumerate(parts):  # lowest field first, so that leader lines do not cross
        middle = LEFT + (31 - (part.field.low + part.field.high) / 2 + 0.5) * BIT
        y = TOP + TALL + 16 + line * LINE
        out.append(f'<path d="M{middle:.1f} {TOP + TALL}V{y:.1f}H{WORDS - 6}" fill="none" stroke="var(--edge)"/>')
        out.append(
            f'<rect x="{WORDS}" y="{y - 6:.1f}" width="11" height="11" fill="var(--fill-{fills[part.name]})"'
            ' stroke="var(--cell-line)" stroke-width=".6"/>'
        )
        title = part.field.title[0].upper() + part.field.title[1:]
        out.append(_draw_text(WORDS + 18, y + 4, title, 11))
        out.append(_draw_text(PRODUCT - 24, y + 4, describe_field(part, word), 11, "var(--ink)", "end"))
    width, height = PRODUCT, TOP + TALL + 16 + len(parts) * LINE
    if product := list(_draw_product(word, PRODUCT)):
        out += product
        wide, high = _measure_product(word)
        width, height = PRODUCT + wide, max(height, high)
    title = f"{word}, kind::{word.kind.name}: {format_title(word)}"
    bits = f"<g{describe_grid((LEFT, TOP), (BIT, TALL), [texts], groups=[groups])}/>"
    return _open_picture("idesc-picture", width, height, title) + "".join([*out, bits, "</svg>"])


def draw_product(word: IdescWord) -> str:
    """Draw the product alone, for a narrow page; "" if a size is 0."""
    parts = "".join(_draw_product(word, LEFT))
    title = f"The product of {word}: {format_title(word)}"
    width, height = _measure_product(word)
    return _open_picture("idesc-product", LEFT + width, height, title) + parts + "</svg>" if parts else ""


def _scale_product(word: IdescWord) -> tuple[float, float, float]:
    """Return M, N and K as drawn, with a minimum length."""
    scale = LONGEST / max(word.m, word.n, word.k)
    high, wide, deep = (max(size * scale, LEAST) for size in (word.m, word.n, word.k))
    return high, wide, deep


def _measure_product(word: IdescWord) -> tuple[float, float]:
    """Return width and height of a product with its labels."""
    high, wide, deep = _scale_product(word)
    return max(deep + 6 + wide, LONGEST + LEAST) + 16, TOP + deep + 6 + high + 60


def _draw_product(word: IdescWord, edge: float) -> Iterator[str]:
    """Draw A left of D and B above it, to scale except for sides below the minimum; nothing if a size is 0. edge:
    the left one.
    """
    m, n, k = word.m, word.n, word.k
    if not (m and n and k):
        return
    high, wide, deep = _scale_product(word)
    x, y = edge + deep + 6, TOP + deep + 6
    majors = {
        part.name[-1]: f" {describe_field(part, word)}"
        for part in word.kind.parts
        if part.name in ("transpose_a", "transpose_b")
    }
    types = word.types
    sparse = ", sparse" if word.sparse else ""
    matrices = (
        (0, edge, y, deep, high, f"A {types['a']}{majors.get('a', '')}{sparse}, {m} × {k}"),
        (5, x, TOP, wide, deep, f"B {types['b']}{majors.get('b', '')}, {k} × {n}"),
        (4, x, y, wide, high, f"D {types['d']}, {m} × {n}"),
    )
    for line, (fill, left, top, width, tall, words) in enumerate(matrices):
        yield (
            f'<rect x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{tall:.1f}" fill="var(--fill-{fill})"'
            f' stroke="var(--cell-line)"><title>{escape(words)}</title></rect>'
        )
        middle = (left + width / 2, top + tall / 2 + 4)
        yield _draw_text(*middle, words[0], 12, "var(--cell-ink)", "middle")
        yield _draw_text(edge, y + high + 18 + 15 * line, words, 10.5)


def draw_mask(mask: ZeroMask, m: int, n: int) -> str:
    """Draw the columns of the product, 32 per line, each with its number, or 0 and hatched if it is zeroed."""
    bits, parts, shift = mask.expand_bits(m, n), SUBMASKS[m], mask.get_field("shift")
    wide = n // parts
    out: list[str] = [
        '<defs><pattern id="zero" width="6" height="6" patternUnits="userSpaceOnUse"><path d="M0 6L6 0" fill="none"'
        ' stroke="var(--edge)" stroke-width="1"/></pattern></defs>'
    ]
    y = TOP
    for part in range(parts):
        first = part * wide
        if parts > 1:
            out.append(_draw_text(LEFT, y - 6, f"Sub-mask {part}, columns {first} to {first + wide - 1}", 11))
        for start in range(first, first + wide, SIDE):
            line = range(start, min(start + SIDE, first + wide))
            out += _draw_columns(y, line, bits)
            texts = [f"column {at}: {'zero' if bits[at] else f'column {at + shift} of B'}" for at in line]
            out.append(f"<g{describe_grid((LEFT, y), (CELL, HIGH), [texts])}/>")
            y += HIGH
        y += 26 if parts > 1 else 4
    width, zero = 2 * LEFT + min(wide, SIDE) * CELL, sum(bits)
    out.append(_draw_text(LEFT, 15 if parts == 1 else 13, f"{zero} of {n} columns are zero, M = {m}", 11, "var(--ink)"))
    title = f"{mask}: {zero} of {n} columns of B are zero"
    return _open_picture("mask-picture", max(width, 420), y + 4, title) + "".join([*out, "</svg>"])


def _draw_columns(y: float, line: range, bits: Sequence[int]) -> Iterator[str]:
    for place, at in enumerate(line):
        x = LEFT + place * CELL
        box = f'x="{x:.1f}" y="{y:.1f}" width="{CELL}" height="{HIGH}"'
        fill = "var(--soft)" if bits[at] else "var(--fill-4)"
        yield f'<rect {box} fill="{fill}" stroke="var(--cell-line)" stroke-width=".6"/>'
        if bits[at]:
            yield f'<rect {box} fill="url(#zero)"/>'
        ink = "var(--muted)" if bits[at] else "var(--cell-ink)"
        yield _draw_text(x + CELL / 2, y + 14, "0" if bits[at] else str(at), 10, ink, "middle")


def _open_picture(name: str, width: float, height: float, title: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}"'
        f' height="{height:.0f}" role="img" class="{name}" font-family="{FONT}"><title>{escape(title)}</title>'
    )


def _draw_text(x: float, y: float, text: str, size: float, fill: str = "var(--muted)", anchor: str = "start") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{fill}">{escape(text)}</text>'
    )
