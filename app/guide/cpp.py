"""Parts of guide pages: wmma as CUDA C++ has it, its functions, fragments, strides and elements. No framework."""

from __future__ import annotations

import re

from lanescope import find
from lanescope.app.guide.markdown import block, link, table
from lanescope.app.kit.links import path_of
from lanescope.errors import LayoutError
from lanescope.ptx import catalog, overview, wmma
from lanescope.ptx.instruction import Feed, Instruction, Operand
from lanescope.ptx.table.wmma_api import BIT_OPERATIONS, BY_NAME, FUNCTIONS
from lanescope.render import wmma_cpp


def api(_: str) -> str:
    """The functions of nvcuda::wmma."""
    return table(
        ("", "does", "compiled to", "from"),
        [
            (link(f"`{f.name}`", f"/guide/{_slug(f.name)}"), f.what, f"`{f.becomes}`" if f.becomes else "–", f.since)
            for f in FUNCTIONS
        ],
    )


def _slug(name: str) -> str:
    return "wmma-fragment" if name == "fragment" else name


def function(name: str) -> str:
    """One function: its signatures, its namespace, who calls it and what it becomes."""
    row = BY_NAME[name]
    facts = [f"`{row.qualified}`, `<mma.h>`, {row.since} and newer."]
    if row.collective:
        facts.append("All lanes of the warp must call it together, with the same arguments.")
    family = next(
        (found.name for found in catalog.families() if f"{found.opcode.text}.".startswith(f"{row.becomes}.")), ""
    )
    if family:
        facts.append(f"One `{row.becomes}` instruction: {link('all its forms', f'/?family={family}&q={row.becomes}')}.")
    elif row.becomes:
        facts.append(f"One `{row.becomes}` instruction.")
    return block("\n".join(_wrapped(signature) for signature in row.signatures)) + f"\n\n{row.what} " + " ".join(facts)


def _wrapped(signature: str, width: int = 100) -> str:
    """A long signature with a parameter a line."""
    if len(signature) <= width or "(" not in signature:
        return signature
    head, _, rest = signature.partition("(")
    parameters = re.split(r", (?=const fragment|const T|bool |unsigned |layout_t |experimental::bmma)", rest)
    return head + "(\n    " + ",\n    ".join(parameters)


def kernel(text: str) -> str:
    """The one-warp kernel of a wmma.mma, whole or the pieces named."""
    name, *pieces = text.split()
    made = wmma_cpp.kernel(find(name))
    if not pieces:
        return block(made.text)
    return block("".join(re.sub(r"^  ", "", getattr(made, piece), flags=re.M) for piece in pieces))


def fragments(_: str) -> str:
    """Every combination of types and shape, with the elements a lane holds."""
    groups: dict[tuple[str, str], dict[str, list[wmma.Fragment]]] = {}
    for i in catalog.instructions():
        if i.family.multiplies and i.family.feed is Feed.LOADS:
            held = groups.setdefault((i.operands["a"].element.name, i.shape), {"a": [], "b": [], "c": []})
            for f in wmma.fragments():
                same = (
                    f.instruction.shape == i.shape and f.operand.element.name == i.operands[f.operand.name].element.name
                )
                if same and f not in held[f.operand.name]:
                    held[f.operand.name].append(f)
    rows = []
    for held in groups.values():
        a, b = held["a"][0], held["b"][0]
        m, n, k = (a.instruction.sizes[dim] for dim in "mnk")
        packed = f", {a.per_storage} in one {a.storage_cpp}" if a.per_storage > 1 else ""
        c = " or ".join(f"{link(f.element_cpp, path_of(f.instruction))} {f.num_elements}" for f in held["c"])
        rows.append(
            (
                f"`{a.element_cpp}`",
                f"{m} × {n} × {k}",
                *(link(str(f.num_elements), path_of(f.instruction)) + packed for f in (a, b)),
                c,
                a.since,
            )
        )
    return table(("T of A and B", "m × n × k", "elements of A a lane", "of B", "accumulator", "from"), rows)


def memory(_: str) -> str:
    """What both documents ask of ldm, by type and size of the fragment."""
    groups: dict[tuple[str, bool, int], list[wmma.Fragment]] = {}
    for f in wmma.fragments():
        groups.setdefault((f.element_cpp, f.use == "accumulator", wmma.fragment_bytes(f.operand)), []).append(f)
    rows: dict[tuple[str, ...], list[str]] = {}
    for (element, accumulator, size), held in groups.items():
        cpp, asked = wmma.requirements(held[0].operand)
        both = wmma.both(held[0].operand).ldm_elements
        binds = {(True, False): "PTX", (False, True): "C++", (True, True): "alike"}[
            asked.ldm_elements == both, cpp.ldm_elements == both
        ]
        cells = (
            _which(held, accumulator),
            f"{size} B",
            str(cpp.ldm_elements),
            str(asked.ldm_elements),
            f"{both} ({binds})",
        )
        rows.setdefault(cells, []).append(f"`{element}`")
    head = ("T", "fragments", "size a lane", "ldm: C++ guide", "ldm: PTX", "ldm: both (which binds)")
    first = {"PTX": 0, "alike": 1, "C++": 2}  # where the guide alone misleads comes first
    ordered = sorted(rows.items(), key=lambda row: first[row[0][-1].split("(")[1].rstrip(")")])
    return table(head, [(", ".join(names), *cells) for cells, names in ordered])


def _which(held: list[wmma.Fragment], accumulator: bool) -> str:
    """ "A and B of m16n16k16" and the like."""
    shapes_: dict[str, list[str]] = {}
    for f in held:
        letter = "C and D" if accumulator else f.operand.name.upper()
        if letter not in shapes_.setdefault(f.instruction.shape, []):
            shapes_[f.instruction.shape].append(letter)
    by_letters: dict[str, list[str]] = {}
    for shape, letters in shapes_.items():
        by_letters.setdefault(" and ".join(letters), []).append(shape)
    return "; ".join(f"{letters} of {', '.join(names)}" for letters, names in by_letters.items())


def strides(names: str) -> str:
    """The default strides of types side by side, in elements and bytes; "–" where a layout does not exist."""
    rows = []
    for name in names.split():
        for i in _loads(name):
            cells = []
            for letter in "abc":
                for layout in ("row", "col"):
                    cells.append(_stride(i.operands[letter], i, layout))
            rows.append((name, f"{i.shape}", *cells))
    return table(
        ("type", "shape", "A by rows", "A by columns", "B by rows", "B by columns", "C by rows", "C by columns"), rows
    )


def _loads(name: str) -> list[Instruction]:
    """A wmma.mma of each shape of a type, f32 accumulators before f16 ones."""
    found = [
        i
        for i in catalog.instructions()
        if i.family.multiplies and i.family.feed is Feed.LOADS and i.operands["a"].element.name == name
    ]
    wide = [i for i in found if i.types["c"] != "f16"] or found
    return list({i.shape: i for i in reversed(wide)}.values())[::-1]


def _stride(op: Operand, i: Instruction, layout: str) -> str:
    name = f"wmma.load.{op.name}.{layout}.{i.shape}.{op.element.name}"
    try:
        find(name)
    except LayoutError:
        return "–"
    elements = wmma.default_stride(op, layout)
    return f"{elements} ({elements * op.element.bits / 8:g} B)"


def elements(text: str) -> str:
    """x[i] of some lanes of one load's fragment."""
    name, *lanes = text.split()
    found = find(name)
    (op,) = found.operands.values()
    held = [wmma.elements_of(op, int(lane)) for lane in lanes]
    cells = [tuple(_places(op, lane[at]) for lane in held) for at in range(len(held[0]))]
    title = link(f"{op.name.upper()} of {found.shape}", path_of(found)) + f", {op.element.name}"
    return f"{title}:\n\n" + table(
        ("x[i]", *(f"lane {lane}" for lane in lanes)), [(f"x[{at}]", *row) for at, row in enumerate(cells)]
    )


def _places(op: Operand, places: list[tuple[int, int]]) -> str:
    """Elements as (row, column); a run of neighbours by its ends."""
    spelled = [f"({r}, {c})" for r, c in places]
    return spelled[0] if len(spelled) == 1 else f"{spelled[0]} … {spelled[-1]}"


def since(_: str) -> str:
    """From which architecture each multiplicand type is there."""
    first: dict[str, list[str]] = {}
    for f in wmma.fragments():
        if f.use == "matrix_a" and f.element_cpp not in first.setdefault(f.since, []):
            first[f.since].append(f.element_cpp)
    return table(
        ("from", "types of A and B"),
        [(arch, ", ".join(f"`{name}`" for name in names)) for arch, names in sorted(first.items())],
    )


def bits(_: str) -> str:
    """What bmma_sync can do with two bits."""
    rows = []
    for operation in BIT_OPERATIONS:
        found = find(f"wmma.mma.{operation.ptx}.popc.row.col.m8n8k128.s32.b1.b1.s32")
        known = catalog.assembled(found)
        rows.append(
            (
                f"`{operation.cpp}` ({operation.value})",
                link(f"`.{operation.ptx}.popc`", path_of(found)),
                known.ptx_version,
                overview.target_text(known.targets),
                operation.meaning,
            )
        )
    return table(("operation", "PTX", "from PTX", "targets", ""), rows)
