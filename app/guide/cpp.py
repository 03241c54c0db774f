"""Parts of guide pages: wmma in CUDA C++, its functions, fragments, strides and elements."""

from __future__ import annotations

import re

from lanescope import find
from lanescope.app.guide.markdown import format_code_block, format_link
from lanescope.app.kit.links import link_instruction
from lanescope.errors import LayoutError
from lanescope.ptx import catalog, wmma
from lanescope.ptx.instruction import Instruction, Operand, OperandFeed
from lanescope.ptx.table.wmma_api import BIT_OPERATIONS, BY_NAME, FUNCTIONS
from lanescope.ptx.targets import format_targets
from lanescope.render import wmma_cpp
from lanescope.render.tables import format_table


def render_functions(_: str) -> str:
    """Render the table of the functions of nvcuda::wmma."""
    return format_table(
        ("", "does", "compiled to", "from"),
        [
            (
                format_link(f"`{f.name}`", f"/guide/{_make_slug(f.name)}"),
                f.what,
                f"`{f.becomes}`" if f.becomes else "–",
                f.since,
            )
            for f in FUNCTIONS
        ],
    )


def _make_slug(name: str) -> str:
    return "wmma-fragment" if name == "fragment" else name


def render_function(name: str) -> str:
    """Render one function: its signatures, its namespace, the calling threads and its PTX instruction."""
    row = BY_NAME[name]
    facts = [f"`{row.qualified}`, `<mma.h>`, {row.since} and newer."]
    if row.collective:
        facts.append("All lanes of the warp must call it together, with the same arguments.")
    family = next(
        (
            row_family.name
            for row_family in catalog.families()
            if f"{row_family.opcode.text}.".startswith(f"{row.becomes}.")
        ),
        "",
    )
    if family:
        facts.append(
            f"One `{row.becomes}` instruction: {format_link('all its forms', f'/?family={family}&q={row.becomes}')}."
        )
    elif row.becomes:
        facts.append(f"One `{row.becomes}` instruction.")
    return (
        format_code_block("\n".join(_wrap_signature(signature) for signature in row.signatures))
        + f"\n\n{row.what} "
        + " ".join(facts)
    )


def _wrap_signature(signature: str) -> str:
    """Wrap a long signature, one parameter a line."""
    if len(signature) <= 100 or "(" not in signature:
        return signature
    head, _, rest = signature.partition("(")
    parameters = re.split(r", (?=const fragment|const T|bool |unsigned |layout_t |experimental::bmma)", rest)
    return head + "(\n    " + ",\n    ".join(parameters)


def render_kernel(text: str) -> str:
    """Render the one-warp kernel of a wmma.mma, or the named pieces of it."""
    name, *pieces = text.split()
    kernel = wmma_cpp.render_kernel(find(name))
    if not pieces:
        return format_code_block(kernel.text)
    return format_code_block("".join(re.sub(r"^  ", "", getattr(kernel, piece), flags=re.M) for piece in pieces))


def render_fragments(_: str) -> str:
    """Render every combination of types and shape, with the elements that a lane holds."""
    groups: dict[tuple[str, str], dict[str, list[wmma.WmmaFragment]]] = {}
    for i in catalog.instructions():
        if i.family.multiplies and i.family.feed is OperandFeed.LOADS:
            fragments = groups.setdefault((i.operands["a"].element.name, i.shape), {"a": [], "b": [], "c": []})
            for f in wmma.list_fragments():
                alike = (
                    f.instruction.shape == i.shape and f.operand.element.name == i.operands[f.operand.name].element.name
                )
                if alike and f not in fragments[f.operand.name]:
                    fragments[f.operand.name].append(f)
    rows = []
    for fragments in groups.values():
        a, b = fragments["a"][0], fragments["b"][0]
        m, n, k = (a.instruction.sizes[dim] for dim in "mnk")
        packed = f", {a.per_storage} in one {a.storage_cpp}" if a.per_storage > 1 else ""
        c = " or ".join(
            f"{format_link(f.element_cpp, link_instruction(f.instruction))} {f.num_elements}" for f in fragments["c"]
        )
        rows.append(
            (
                f"`{a.element_cpp}`",
                f"{m} × {n} × {k}",
                *(format_link(str(f.num_elements), link_instruction(f.instruction)) + packed for f in (a, b)),
                c,
                a.since,
            )
        )
    return format_table(("T of A and B", "m × n × k", "elements of A per lane", "of B", "accumulator", "from"), rows)


def render_memory(_: str) -> str:
    """Render the requirements of both documents on ldm, by type and size of the fragment."""
    groups: dict[tuple[str, bool, int], list[wmma.WmmaFragment]] = {}
    for f in wmma.list_fragments():
        groups.setdefault((f.element_cpp, f.use == "accumulator", wmma.count_fragment_bytes(f.operand)), []).append(f)
    rows: dict[tuple[str, ...], list[str]] = {}
    for (element, accumulator, size), fragments in groups.items():
        cpp, ptx = wmma.get_requirements(fragments[0].operand)
        combined = wmma.combine_requirements(fragments[0].operand).ldm_elements
        binds = {(True, False): "PTX", (False, True): "C++", (True, True): "alike"}[
            ptx.ldm_elements == combined, cpp.ldm_elements == combined
        ]
        cells = (
            _format_fragments(fragments, accumulator),
            f"{size} B",
            str(cpp.ldm_elements),
            str(ptx.ldm_elements),
            f"{combined} ({binds})",
        )
        rows.setdefault(cells, []).append(f"`{element}`")
    head = ("T", "fragments", "size per lane", "ldm: C++ guide", "ldm: PTX", "ldm: both (which binds)")
    order = {"PTX": 0, "alike": 1, "C++": 2}  # first the rows where the C++ guide alone misleads
    ordered = sorted(rows.items(), key=lambda row: order[row[0][-1].split("(")[1].rstrip(")")])
    return format_table(head, [(", ".join(names), *cells) for cells, names in ordered])


def _format_fragments(fragments: list[wmma.WmmaFragment], accumulator: bool) -> str:
    """Format fragments as "A and B of m16n16k16"."""
    letters_by_shape: dict[str, list[str]] = {}
    for f in fragments:
        letter = "C and D" if accumulator else f.operand.name.upper()
        if letter not in letters_by_shape.setdefault(f.instruction.shape, []):
            letters_by_shape[f.instruction.shape].append(letter)
    shapes_by_letters: dict[str, list[str]] = {}
    for shape, letters in letters_by_shape.items():
        shapes_by_letters.setdefault(" and ".join(letters), []).append(shape)
    return "; ".join(f"{letters} of {', '.join(names)}" for letters, names in shapes_by_letters.items())


def render_strides(names: str) -> str:
    """Render the default strides of types side by side, in elements and bytes; "–" where a layout does not exist."""
    rows = []
    for name in names.split():
        for i in _find_products(name):
            cells = []
            for letter in "abc":
                for layout in ("row", "col"):
                    cells.append(_format_stride(i.operands[letter], i, layout))
            rows.append((name, f"{i.shape}", *cells))
    return format_table(
        ("type", "shape", "A by rows", "A by columns", "B by rows", "B by columns", "C by rows", "C by columns"), rows
    )


def _find_products(name: str) -> list[Instruction]:
    """Find a wmma.mma of each shape of a type, f32 accumulators before f16 ones."""
    products = [
        i
        for i in catalog.instructions()
        if i.family.multiplies and i.family.feed is OperandFeed.LOADS and i.operands["a"].element.name == name
    ]
    wide_accumulators = [i for i in products if i.types["c"] != "f16"] or products
    return list({i.shape: i for i in reversed(wide_accumulators)}.values())[::-1]


def _format_stride(op: Operand, i: Instruction, layout: str) -> str:
    name = f"wmma.load.{op.name}.{layout}.{i.shape}.{op.element.name}"
    try:
        find(name)
    except LayoutError:
        return "–"
    elements = wmma.get_default_stride(op, layout)
    return f"{elements} ({elements * op.element.bits / 8:g} B)"


def render_elements(text: str) -> str:
    """Render x[i] of some lanes of one load's fragment."""
    name, *lanes = text.split()
    instruction = find(name)
    (op,) = instruction.operands.values()
    elements_by_lane = [wmma.list_elements(op, int(lane)) for lane in lanes]
    cells = [
        tuple(_format_places(lane[index]) for lane in elements_by_lane) for index in range(len(elements_by_lane[0]))
    ]
    title = (
        format_link(f"{op.name.upper()} of {instruction.shape}", link_instruction(instruction)) + f", {op.element.name}"
    )
    return f"{title}:\n\n" + format_table(
        ("x[i]", *(f"lane {lane}" for lane in lanes)), [(f"x[{index}]", *row) for index, row in enumerate(cells)]
    )


def _format_places(places: list[tuple[int, int]]) -> str:
    """Format elements as (row, column); a run of neighbours by its ends."""
    texts = [f"({r}, {c})" for r, c in places]
    return texts[0] if len(texts) == 1 else f"{texts[0]} … {texts[-1]}"


def render_targets(_: str) -> str:
    """Render the first architecture of each multiplicand type."""
    types_by_target: dict[str, list[str]] = {}
    for f in wmma.list_fragments():
        if f.use == "matrix_a" and f.element_cpp not in types_by_target.setdefault(f.since, []):
            types_by_target[f.since].append(f.element_cpp)
    return format_table(
        ("from", "types of A and B"),
        [(arch, ", ".join(f"`{name}`" for name in names)) for arch, names in sorted(types_by_target.items())],
    )


def render_bit_operations(_: str) -> str:
    """Render the bit operations of bmma_sync."""
    rows = []
    for operation in BIT_OPERATIONS:
        instruction = find(f"wmma.mma.{operation.ptx}.popc.row.col.m8n8k128.s32.b1.b1.s32")
        support = catalog.get_target_support(instruction)
        rows.append(
            (
                f"`{operation.cpp}` ({operation.value})",
                format_link(f"`.{operation.ptx}.popc`", link_instruction(instruction)),
                support.ptx_version,
                format_targets(support.targets),
                operation.meaning,
            )
        )
    return format_table(("operation", "PTX", "from PTX", "targets", ""), rows)
