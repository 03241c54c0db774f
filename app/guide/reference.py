"""The parts of guide pages that come from tables of the engine: a line `@part name arguments` in a page is one of
PARTS, as Markdown.

Code that a part shows is compiled or assembled in the tests; tables hold what the catalogue holds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from app.kit.links import path_of
from layouts import catalog, differences, find, overview, qualifiers, wmma
from layouts.dtypes import DTYPES
from layouts.errors import LayoutError
from layouts.instruction import Feed, Instruction, Operand, Place
from layouts.render import ptx, wgmma_order, wmma_cpp
from layouts.table import wgmma_order as order
from layouts.table.wmma_api import BIT_OPERATIONS, BY_NAME, FUNCTIONS

_PART = re.compile(r"^@part (\S+)(?: (.+))?$", re.M)


def fill(text: str) -> str:
    """A page's Markdown with its parts put in; LayoutError for a name that is none."""
    return _PART.sub(lambda match: part(match[1], match[2] or ""), text)


def part(name: str, arguments: str) -> str:
    """One part as Markdown."""
    if name not in PARTS:
        raise LayoutError("bad_part", f"No part '{name}'.", f"Allowed: {', '.join(PARTS)}.", "guide")
    return PARTS[name](arguments)


def table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """A Markdown table."""
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def block(code: str) -> str:
    return f"```\n{code.rstrip()}\n```"


def link(text: str, address: str) -> str:
    return f"[{text}]({address})"


# reading an instruction -----------------------------------------------------------------------------------------------


def words(text: str) -> str:
    """An opcode, word by word."""
    found = find(text)
    rows = [(f"`{word.text}`", word.meaning) for word in qualifiers.parts(found)]
    operands = [(f"`{slot.text}`", _operand(slot)) for slot in ptx.slots(found, found.family.forms[-1])]
    return table(("part", "meaning"), [*rows, *operands])


def _operand(slot: ptx.Slot) -> str:
    count = (
        f"{slot.registers} × .{slot.type}: "
        if slot.type and slot.registers > 1
        else f".{slot.type}: "
        if slot.type
        else ""
    )
    return count + slot.what


def declare(text: str) -> str:
    """The register declarations of an instruction and its line."""
    found = find(text)
    lines = []
    for slot in ptx.slots(found):
        if slot.kind == "vector":
            lines.append(
                f".reg .{slot.type} {slot.name}<{slot.registers}>;".ljust(20)
                + f"// {slot.name}0 to {slot.name}{slot.registers - 1}: {slot.what}"
            )
    return block("\n".join([*lines, f"{found.ptx} {', '.join(slot.text for slot in ptx.slots(found))};"]))


def packing(_: str) -> str:
    """How many elements share a register, by width."""
    used = {name for i in catalog.instructions() for name in i.types.values()}
    groups: dict[tuple[int, int], list[str]] = {}
    for name, row in DTYPES.items():
        if name in used and (row.kind != "bits" or name == "b1"):
            groups.setdefault((row.bits, row.register_bits), []).append(name)
    rows = []
    for (bits, wide), names in sorted(groups.items(), reverse=True):
        per = "8-bit containers, 4 a register" if bits == 6 else f"{wide // bits} in {wide} bits"
        if bits == 4:
            per += "; e2m1 with .kind::f8f6f4 and mxf8f6f4 in 8-bit containers, 4 a register"
        rows.append((str(bits), ", ".join(names), per))
    return table(("bits", "types", "elements in a register"), rows)


SPACES = (
    ("none", "generic: global, shared or another space, found from the address", ""),
    ("`.global`", "memory of the whole device", "global"),
    ("`.shared`", "shared memory; the same as `.shared::cta`", "shared"),
    ("`.shared::cta`", "shared memory of the CTA that executes", "shared::cta"),
)


def spaces(_: str) -> str:
    """State spaces and the matrix instructions that take them."""
    rows = []
    for name, what, key in SPACES:
        takers = dict.fromkeys(
            i.syntax.opcode
            for i in catalog.instructions()
            if i.family.spaces and (key in i.family.spaces or (not key and i.family.memory is Place.MATRIX))
        )
        rows.append((name, what, ", ".join(f"`{opcode}`" for opcode in takers)))
    return table(("qualifier", "space", "taken by"), rows)


# overviews ------------------------------------------------------------------------------------------------------------


def shapes(section: str) -> str:
    """One section of the overview: types, accumulators, shapes with a link each, PTX version, targets."""
    lines = [row for row in overview.rows() if row.section == section]
    if not lines:
        raise LayoutError("bad_part", f"No section '{section}'.", f"Allowed: {', '.join(overview.SECTIONS)}.", "guide")
    kinds = any(row.kind for row in lines)
    head = ("A × B", *(("kind",) if kinds else ()), "C and D", "shapes", "PTX", "targets")
    rows = []
    for row in lines:
        newer = "".join(f"; `{name}` from PTX {version}, {where}" for name, version, where in row.newer)
        cells = (
            row.multiplicands,
            *((f"`.{row.kind.replace(' ', ' .')}`" if row.kind else "",) if kinds else ()),
            row.accumulators,
        )
        rows.append((*cells, _shape_links(row), row.ptx_version, row.target_text + newer))
    return table(head, rows)


def _shape_links(row: overview.Row) -> str:
    first = {i.shape: i for i in reversed(row.found)}
    out = []
    for text in overview.fold_shapes(row.shapes):
        shape = text.split(",")[0]
        some = first.get(shape) or next(
            i
            for i in row.found
            if i.shape.startswith(shape.split("N")[0])
            and i.shape.endswith(shape.split("N")[-1])
            and i.sizes["n"] in (64, row.found[0].sizes["n"])
        )
        out.append(link(text, path_of(some)))
    return ", ".join(out)


_WHERE = {Place.REGISTERS: "registers", Place.DESCRIPTOR: "shared memory", Place.TENSOR: "tensor memory"}


def generations(_: str) -> str:
    """wmma, mma and wgmma side by side, from the catalogue."""
    held: dict[str, list[Instruction]] = {}
    for i in sorted(catalog.instructions(), key=lambda i: i.family.menu):
        if i.family.multiplies:
            held.setdefault(i.family.opcode.words[0], []).append(i)

    def line(what: str, of: Callable[[list[Instruction]], str]) -> tuple[str, ...]:
        return (what, *(of(found) for found in held.values()))

    return table(
        ("", *(f"**{name}**" for name in held)),
        [
            line("threads", lambda found: f"{found[0].threads}, {found[0].family.scope.warps}"),
            line(
                "A",
                lambda found: " or ".join(
                    _WHERE[place] for place in found[0].family.reads.get("a", (Place.REGISTERS,))
                ),
            ),
            line(
                "B",
                lambda found: " or ".join(
                    _WHERE[place] for place in found[0].family.reads.get("b", (Place.REGISTERS,))
                ),
            ),
            line("C and D", lambda found: "registers, in place" if found[0].family.in_place else "registers"),
            line(
                "fragment layout",
                lambda found: "specified" if found[0].family.specified else "left to the architecture",
            ),
            line(
                "types of A and B",
                lambda found: ", ".join(
                    name for name in DTYPES if any(name == i.operands["a"].element.name for i in found)
                ),
            ),
            line("sparse A", lambda found: "yes" if any(i.operands["a"].sparsity for i in found) else "no"),
            line("block scale", lambda found: "yes" if any(i.scales for i in found) else "no"),
            line(
                "targets",
                lambda found: overview.target_text(
                    tuple(t for t in catalog.TARGETS if any(t in catalog.assembled(i).targets for i in found))
                ),
            ),
        ],
    )


# wmma in C++ ----------------------------------------------------------------------------------------------------------


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


# the order of a wgmma -------------------------------------------------------------------------------------------------


def ordering(name: str) -> str:
    """One instruction that keeps a wgmma in order."""
    row = order.BY_NAME[name]
    said = f" ({row.diagnosed})" if row.diagnosed else ""
    facts = [
        ("syntax", "<br>".join(f"`{text}`" for text in row.syntax)),
        ("orders", row.orders),
        ("where", row.where),
        ("executed by", row.scope),
        ("without it", row.without + said),
        ("from", f"PTX {row.ptx_version}, {row.target}"),
    ]
    return table(("", ""), facts)


def orders(_: str) -> str:
    """The four instructions, each with its page."""
    return table(
        ("instruction", "orders", "where it stands"),
        [(link(f"`{row.name}`", f"/guide/{row.name}"), row.orders, row.where) for row in order.ORDER],
    )


def pattern(name: str) -> str:
    """A sequence of instructions, right or wrong, and what ptxas says of it."""
    return block(wgmma_order.BY_NAME[name].text)


# differences ----------------------------------------------------------------------------------------------------------


def slips(_: str) -> str:
    """Every difference with its proofs, and a list of them before."""
    rows = differences.rows()
    head = ("what", "where", "proved by")
    out = [table(head, [(link(row.title, f"#{row.key}"), f"{row.document}, {row.place}", _kinds(row)) for row in rows])]
    for row in rows:
        out.append(
            f"## {row.title} {{#{row.key}}}\n\n**{row.document}**, {row.place}, says: {row.says}\n\n**In fact:**"
            f" {row.really}\n\n{proofs(row)}"
        )
    return "\n\n".join(out)


def _kinds(row: differences.Difference) -> str:
    told = {"a run": row.ran, "ptxas": row.assembled or row.refused, "a test": row.test, "the text": row.stated}
    return ", ".join(name for name, there in told.items() if there)


def proofs(row: differences.Difference) -> str:
    """What proves a row, a line each."""
    lines = []
    if row.ran:
        devices = [catalog.short(run.device) for run in catalog.runs(find(row.ran[0])) if run.agrees]
        lines.append(f"- ran on {' and '.join(devices)}: {_some(row.ran)}")
    if row.assembled:
        lines.append(f"- ptxas 13.0 assembles {_some(row.assembled)}")
    if row.refused:
        message = f', "{row.message}"' if row.message else ""
        lines.append(f"- ptxas 13.0 refuses {', '.join(f'`{text}`' for text in row.refused)}{message}")
    if row.test:
        answer = f', "{row.message}"' if row.message and not row.refused else ""
        lines.append(f"- shown by `{row.test}`{answer}")
    if row.stated:
        lines.append(f"- stated in {row.stated}; no run of this project shows it")
    return "\n".join(lines)


def _some(texts: tuple[str, ...], most: int = 4) -> str:
    rest = f" and {len(texts) - most} more" if len(texts) > most else ""
    return ", ".join(link(f"`{text}`", path_of(find(text))) for text in texts[:most]) + rest


PARTS: dict[str, Callable[[str], str]] = {
    "words": words,
    "declare": declare,
    "packing": packing,
    "spaces": spaces,
    "overview": shapes,
    "generations": generations,
    "api": api,
    "function": function,
    "kernel": kernel,
    "fragments": fragments,
    "memory": memory,
    "strides": strides,
    "elements": elements,
    "since": since,
    "bits": bits,
    "order": ordering,
    "orders": orders,
    "pattern": pattern,
    "differences": slips,
}
