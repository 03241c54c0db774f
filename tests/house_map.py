"""The map of the house, docs/images/house.svg and the table of docs/design.md, from the rules that the tests hold and
from what every module says of itself: `python -m tests.house_map`, or `make golden`."""

from __future__ import annotations

import ast
from html import escape
from pathlib import Path

from tests.house import FLOORS, KINDS, NAMED, ROOT, TOP

PICTURE, DESIGN = ROOT / "docs" / "images" / "house.svg", ROOT / "docs" / "design.md"
START, END = "<!-- rooms -->", "<!-- /rooms -->"
WIDE, HIGH, GAP, LEFT = 1120, 30, 8, 190
INK, PAPER, LINE, MUTED = "#1b1f24", "#ffffff", "#9aa4b1", "#59636e"
FILLS = {"engine": "#e8eefc", "kit": "#e6f4ec", "gpu": "#fdeedd", "feature": "#f3ecfb", "top": "#eef1f4"}


def drawn() -> str:
    """The whole picture as SVG: what stands higher may import what stands lower."""
    out: list[str] = []
    y = 44.0
    y = _row(out, y, "doors", [("main", "top"), ("cli", "top"), ("export", "top")])
    y = _block(out, y, "features, a folder each", ", ".join(NAMED))
    for label, kinds in (
        ("the kinds of file", "page api verbs"),
        ("in a feature", "forms"),
        ("", "draw schemas"),
        ("", "facts"),
    ):
        y = _row(out, y, label, [(f"{kind}.py", "feature") for kind in kinds.split()])
    y = _row(out, y, "shared", [("kit", "kit"), ("gpu: kinds of run, and the worker that has CuPy", "gpu")])
    y += 14
    out.append(f'<path d="M16 {y:.0f}H{WIDE - 16}" stroke="{LINE}" stroke-dasharray="5 4"/>')
    out.append(f'<text x="16" y="{y + 18:.0f}" fill="{MUTED}">layouts/: the engine, NumPy and nothing else</text>')
    y += 28
    for number, rooms in enumerate(reversed(FLOORS)):
        label = {0: "as text", len(FLOORS) - 1: "ground"}.get(number, "")
        y = _row(out, y, label, [(room, "engine") for room in rooms.split()])
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {y + 8:.0f}" width="{WIDE}" height="{y + 8:.0f}" '
        'font-family="\'DejaVu Sans\', sans-serif" font-size="13">'
    )
    title = f'<text x="16" y="28" font-size="16" fill="{INK}">What stands higher may import what stands lower</text>'
    return "\n".join([head, f'<rect width="100%" height="100%" fill="{PAPER}"/>', title, *out, "</svg>\n"])


def _block(out: list[str], y: float, label: str, text: str) -> float:
    """Rooms that stand beside one another, as one box; the y of the next floor."""
    out.append(f'<text x="16" y="{y + 20:.0f}" fill="{MUTED}">{escape(label)}</text>')
    wide = WIDE - LEFT - 16
    out.append(
        f'<rect x="{LEFT}" y="{y:.0f}" width="{wide}" height="{HIGH}" rx="3" fill="{FILLS["feature"]}" '
        f'stroke="{LINE}"/>'
    )
    out.append(
        f'<text x="{LEFT + wide / 2:.0f}" y="{y + 20:.0f}" text-anchor="middle" fill="{INK}" font-size="12">'
        f"{escape(text)}</text>"
    )
    return y + HIGH + 6


def _row(out: list[str], y: float, label: str, rooms: list[tuple[str, str]]) -> float:
    """One floor; the y of the next."""
    out.append(f'<text x="16" y="{y + 20:.0f}" fill="{MUTED}">{escape(label)}</text>')
    widths = [8.2 * len(name) + 18 for name, _ in rooms]
    spare = max(0.0, (WIDE - LEFT - 16 - sum(widths) - GAP * (len(rooms) - 1)) / len(rooms))
    x = float(LEFT)
    for (name, kind), width in zip(rooms, widths, strict=True):
        wide = width + spare
        out.append(
            f'<rect x="{x:.1f}" y="{y:.0f}" width="{wide:.1f}" height="{HIGH}" rx="3" fill="{FILLS[kind]}"'
            f' stroke="{LINE}"/>'
        )
        out.append(
            f'<text x="{x + wide / 2:.1f}" y="{y + 20:.0f}" text-anchor="middle" fill="{INK}">{escape(name)}</text>'
        )
        x += wide + GAP
    return y + HIGH + 6


def says(path: Path) -> str:
    """What a module says of itself: its docstring's first sentence or line."""
    told = ast.get_docstring(ast.parse(path.read_text())) or ""
    return told.split("\n\n")[0].replace("\n", " ").replace("|", "\\|")


def table() -> str:
    """Every room with one line: the server's, then the engine's from the roof down."""
    head = "| room | what it knows |\n|---|---|\n"
    server = [("app/" + name, ROOT / "app" / name / "__init__.py") for name in ("kit", "gpu", *NAMED)]
    doors = [(f"app/{name}.py", ROOT / "app" / f"{name}.py") for name in TOP]
    rooms = [room for floor in reversed(FLOORS) for room in floor.split()]
    engine = []
    for room in rooms:
        folder = ROOT / "layouts" / room
        engine.append(
            (
                f"layouts/{room}" + ("" if folder.is_dir() else ".py"),
                folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py"),
            )
        )
    return head + "".join(f"| `{name}` | {says(path)} |\n" for name, path in (*doors, *server, *engine))


def page() -> str:
    """docs/design.md with its table as it should be."""
    text = DESIGN.read_text()
    before, rest = text.split(START)
    return before + START + "\n" + table() + END + rest.split(END)[1]


if __name__ == "__main__":
    assert {"page", "api", "verbs", "forms", "draw", "facts", "schemas"} == set(KINDS)
    PICTURE.write_text(drawn())
    DESIGN.write_text(page())
    print(PICTURE.relative_to(ROOT), DESIGN.relative_to(ROOT))
