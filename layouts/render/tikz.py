"""An SVG picture of this package as TikZ: one path for one path, so both have the same geometry.

Compiles with pdflatex and needs no font.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree

from lanescope.errors import LayoutError

_SPACE = "{http://www.w3.org/2000/svg}"
_STEP = re.compile(r"([MmLlHhVvZz])|(-?\d*\.?\d+)")
_ESCAPES = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "_": r"\_",
    "&": r"\&",
    "%": r"\%",
    "#": r"\#",
    "$": r"\$",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "×": r"$\times$",
    "·": r"$\cdot$",
    "→": r"$\to$",
    "≠": r"$\neq$",
    "●": r"$\bullet$",
    "–": "--",
    "←": r"$\leftarrow$",
    "✓": r"$\surd$",
    "✗": r"$\times$",
    "…": r"\ldots{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
}
# The hatch of each black-and-white fill, from TikZ's patterns library.
_PATTERNS = (
    None,
    "north east lines",
    "north west lines",
    "horizontal lines",
    "vertical lines",
    "grid",
    "crosshatch",
    "dots",
)
_RISING = "M-1 1"  # the first characters of the path of a stroke that leans as /
Hatches = dict[str, list[tuple[str, str]]]
_INHERITED = ("fill", "stroke", "stroke-width", "font-size", "font-weight", "text-anchor")


def render_tikz(drawing: str, standalone: bool = True) -> str:
    """Return the picture as a standalone document, or as a tikzpicture to \\input (needs \\usepackage{tikz},
    \\usetikzlibrary{patterns}).

    LayoutError where the picture takes its colours from a page's style sheet.
    """
    root = ElementTree.fromstring(drawing)
    colours: dict[str, str] = {}
    lines: list[str] = []
    _render_node(root, {}, (0.0, 0.0), lines, colours, _list_hatches(root))
    title = root.findtext(f"{_SPACE}title") or ""
    names = [rf"  \definecolor{{{name}}}{{HTML}}{{{code[1:].upper()}}}" for code, name in colours.items()]
    begin = r"\begin{tikzpicture}[x=0.75pt,y=-0.75pt,every node/.style={inner sep=0pt,outer sep=0pt}]"
    picture = [f"% {title}", begin, *names, *lines, r"\end{tikzpicture}"]
    if not standalone:
        return "\n".join(picture) + "\n"
    head = [
        r"\documentclass[border=2pt]{standalone}",
        r"\usepackage[T1]{fontenc}",
        r"\usepackage{tikz}",
        r"\usetikzlibrary{patterns}",
        r"\begin{document}",
    ]
    return "\n".join([*head, *picture, r"\end{document}"]) + "\n"


def _render_node(
    node: ElementTree.Element,
    above: dict[str, str],
    shift: tuple[float, float],
    out: list[str],
    colours: dict[str, str],
    hatches: Hatches,
) -> None:
    tag = node.tag.removeprefix(_SPACE)
    if tag in ("title", "desc", "defs"):
        return
    style = above | {name: node.attrib[name] for name in _INHERITED if name in node.attrib}
    moved = re.match(r"translate\((\S+) (\S+)\)", node.get("transform", ""))
    if moved:
        shift = (shift[0] + float(moved[1]), shift[1] + float(moved[2]))
    if node.get("visibility") == "hidden":
        return
    if tag == "rect":
        x, y, w, h = (float(node.get(name, "0")) for name in ("x", "y", "width", "height"))
        x, y = x + shift[0], y + shift[1]
        box = f"({x:g},{y:g}) rectangle ({x + w:g},{y + h:g})"
        out += _render_path(box, style, node.get("stroke-dasharray"), colours, hatches)
    elif tag == "path":
        out += _render_path(
            _format_path(node.get("d", ""), shift), style, node.get("stroke-dasharray"), colours, hatches
        )
    elif tag == "text":
        x, y = float(node.get("x", "0")) + shift[0], float(node.get("y", "0")) + shift[1]
        out += _render_text(x, y, node.text or "", style, colours)
        for part in node:
            y = float(part.get("y", "0")) + shift[1] if part.get("y") else y + float(part.get("dy", "0"))
            x = float(part.get("x", "0")) + shift[0] if part.get("x") else x
            out += _render_text(x, y, part.text or "", style, colours)
        return
    for child in node:
        _render_node(child, style, shift, out, colours, hatches)


def _list_hatches(root: ElementTree.Element) -> Hatches:
    """Return id → [(TikZ's pattern, colour), …] of every hatch of a status."""
    out: Hatches = {}
    for pattern in root.iter(f"{_SPACE}pattern"):
        name = pattern.get("id", "")
        if not name.startswith("hatch-"):
            strokes = [(path.get("d", ""), path.get("stroke", "black")) for path in pattern.iter(f"{_SPACE}path")]
            out[name] = [(_PATTERNS[1 if d.startswith(_RISING) else 2] or "", colour) for d, colour in strokes]
    return out


def _render_path(
    path: str, style: dict[str, str], dashed: str | None, colours: dict[str, str], hatches: Hatches
) -> list[str]:
    fill, stroke = style.get("fill", "black"), style.get("stroke", "none")
    out = []
    if fill.startswith("url(#hatch-"):
        pattern = _PATTERNS[int(fill[11:-1])]
        if pattern:
            out.append(rf"  \path[pattern={pattern},pattern color=black!55] {path};")
    elif fill.startswith("url("):
        for pattern, colour in hatches[fill[5:-1]]:
            out.append(rf"  \path[pattern={pattern},pattern color={_format_colour(colour, colours)}] {path};")
    elif fill != "none":
        out.append(rf"  \fill[{_format_colour(fill, colours)}] {path};")
    if stroke != "none":
        width = float(style.get("stroke-width", "1")) * 0.75
        out.append(
            rf"  \draw[{_format_colour(stroke, colours)},line"
            rf" width={width:g}pt{',densely dashed' if dashed else ''}] {path};"
        )
    return out


def _format_path(text: str, shift: tuple[float, float]) -> str:
    """Return an SVG path's M, L, H, V, Z and relative commands as TikZ coordinates."""
    x, y = 0.0, 0.0
    start = (0.0, 0.0)
    parts: list[str] = []
    command = ""
    numbers: list[float] = []

    def place() -> str:
        return f"({x + shift[0]:g},{y + shift[1]:g})"

    for match in _STEP.finditer(text):
        if match[1]:
            command, numbers = match[1], []
            if command in "Zz":
                parts.append(" -- cycle")
                x, y = start
            continue
        numbers.append(float(match[2]))
        relative, kind = command.islower(), command.upper()
        if len(numbers) < (1 if kind in "HV" else 2):
            continue
        dx, dy = (numbers[0], 0.0) if kind == "H" else (0.0, numbers[0]) if kind == "V" else (numbers[0], numbers[1])
        x, y = (x + dx, y + dy) if relative else (x if kind == "V" else dx, y if kind == "H" else dy)
        numbers = []
        parts.append((" " if kind == "M" else " -- ") + place())
        if kind == "M":
            start, command = (x, y), "l" if relative else "L"
    return "".join(parts).strip()


def _render_text(x: float, y: float, text: str, style: dict[str, str], colours: dict[str, str]) -> list[str]:
    if not text.strip():
        return []
    size = float(style.get("font-size", "10")) * 0.75
    anchor = {"middle": "base", "end": "base east"}.get(style.get("text-anchor", ""), "base west")
    weight = r"\bfseries" if style.get("font-weight") in ("600", "700", "bold") else ""
    white = ",fill=white,inner sep=0.6pt" if style.get("stroke") == "#ffffff" else ""
    return [
        rf"  \node[anchor={anchor},text={_format_colour(style.get('fill', '#000000'), colours)}{white},"
        rf"font=\ttfamily\fontsize{{{size:.2f}}}{{{size * 1.2:.2f}}}\selectfont{weight}]"
        rf" at ({x:g},{y:g}) {{{escape_latex(text)}}};"
    ]


def escape_latex(text: str) -> str:
    """Return text escaped for LaTeX's typewriter font."""
    return "".join(_ESCAPES.get(letter, letter) for letter in text)


def _format_colour(code: str, colours: dict[str, str]) -> str:
    if code in ("black", "white"):
        return code
    if not re.fullmatch(r"#[0-9a-fA-F]{6}", code):
        raise LayoutError(
            "bad_option", f"'{code}' is not a colour outside a page.", "Choose theme light, dark or bw.", "theme"
        )
    return colours.setdefault(code.lower(), f"c{len(colours)}")
