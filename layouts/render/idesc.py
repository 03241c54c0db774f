"""Code for one instruction descriptor: a C++ constant, CUTLASS's call, and the PTX that takes it."""

from __future__ import annotations

from lanescope.blackwell.idesc import CALLED, IdescWord, find_legal_forms, fit_kind
from lanescope.blackwell.kind import KindField, MmaKind
from lanescope.ptx.dtypes import DTYPES, get_dtype
from lanescope.ptx.table.kinds import ALONE, WS

MEMBERS = {
    "sparsity_selector": "sparse_id2_",
    "max_shift": "max_shift_",
    "sfa_id": "a_sf_id_",
    "sfb_id": "b_sf_id_",
    "k": "k_size_",
}


def render_constant(idesc: IdescWord) -> str:
    """Return the word as `constexpr uint32_t idesc = …`, one field per line; reserved bits have a separate line."""
    terms = [_render_term(part, idesc) for part in idesc.kind.parts if part.field.get(idesc.word)]
    if idesc.reserved:
        terms.append((f"{idesc.reserved:#x}u", "reserved bits"))
    if not terms:
        return "constexpr uint32_t idesc = 0;"
    wide = max(len(code) for code, _ in terms)
    lines = []
    for n, (code, says) in enumerate(terms):
        lead = "constexpr uint32_t idesc = " if n == 0 else " " * 25 + "| "
        last = n == len(terms) - 1
        lines.append(f"{lead}{code}{';' if last else ''}{' ' * (wide - len(code) + (1 if last else 2))}// {says}")
    return "\n".join([*lines, f"static_assert(idesc == {idesc}u);"])


def _render_term(part: KindField, idesc: IdescWord) -> tuple[str, str]:
    code = part.field.get(idesc.word)
    return f"{code}u << {part.field.low}", f"{part.field.title} {describe_field(part, idesc)}"


def describe_field(part: KindField, idesc: IdescWord) -> str:
    """Return the meaning of a field's value in words: `MN-major`, `bf16`, `128`."""
    text = idesc.format_field(part.name)
    return f"{text}-major" if text in ("K", "MN") else text


def get_cutlass_type(kind: MmaKind, name: str) -> str:
    """Return CUTLASS's C++ type of a kind's elements.

    For types below 8 bits it depends on whether each element takes a byte.
    """
    row = get_dtype(name)
    return row.names.padded if row.bits < min(kind.element_bits, 8) else row.names.cutlass


def render_cutlass(idesc: IdescWord) -> str:
    """Return the word as CUTLASS's constant; fields that CUTLASS sets at run time are assigned after it.

    "" where a type has no meaning in the kind, and where fields of sm_107 are used, which CUTLASS's call does not set.
    """
    if idesc.on_rubin and idesc.word & fit_kind(idesc.kind, "").reserved_mask:
        return ""
    row, types = idesc.kind, idesc.types
    elements = [types["a"], types["b"], types["d"], *([idesc.format_field("scale_type")] if row.scaled else [])]
    if any(text not in DTYPES for text in elements):
        return ""
    names = [get_cutlass_type(idesc.kind, text) for text in elements]
    majors = [f"cute::UMMA::Major::{idesc.format_field(f'transpose_{side}')}" for side in "ab"]
    signs = [f"cute::UMMA::ScaleIn::{'Neg' if idesc.get_code(f'negate_{side}') else 'One'}" for side in "ab"]
    more = [f"cute::UMMA::Saturate::{'True' if idesc.get_code('saturate') else 'False'}"] if not row.scaled else []
    function = "make_instr_desc_block_scaled" if row.scaled else "make_instr_desc"
    lines = [
        f"auto idesc = cute::UMMA::{function}<",
        f"    {', '.join(names)},",
        f"    {idesc.m}, {idesc.n}, {', '.join(majors)},",
        f"    {', '.join([*signs, *more, 'true' if idesc.sparse else 'false'])}>();",
    ]
    return "\n".join([*lines, *_assign_members(idesc), f"assert(uint32_t(idesc) == {idesc}u);"])


def _assign_members(idesc: IdescWord) -> list[str]:
    """Return the assignments of the fields that CUTLASS sets at run time."""
    codes = {member: idesc.get_code(name) for name, member in MEMBERS.items()}
    return [f"idesc.{member} = {code};" for member, code in codes.items() if code]


def get_opcode(idesc: IdescWord, form: str = "") -> str:
    """Return the PTX opcode that takes the word, in the requested form or the first legal one."""
    form = form or next(iter(find_legal_forms(idesc)), ALONE)
    row = idesc.kind
    words = ["tcgen05.mma", *(["ws"] if form == WS else []), *(["sp"] if idesc.sparse else [])]
    group = CALLED[ALONE if form == WS else form].removeprefix(".")
    scale = ["block_scale", get_scale_vector(idesc)] if row.scaled else []
    return ".".join([*words, group, f"kind::{row.name}", *scale])


def get_scale_vector(idesc: IdescWord) -> str:
    """Return the scale qualifier of the opcode: .block16 or .block32 for K = 96, else .scale_vec."""
    fine = idesc.format_field("scale_type") == "ue4m3"
    if idesc.format_field("k") == "96":
        return "block16" if fine else "block32"
    return "scale_vec::" + (list(idesc.kind.scaled)[-1] if fine else next(iter(idesc.kind.scaled)))


def render_statement(idesc: IdescWord, form: str = "") -> str:
    """Return a C++ statement that issues the MMA as inline PTX, for a single thread."""
    metadata = ["[%5]"] if idesc.sparse else []
    first = 6 if idesc.sparse else 5
    scales = [f"[%{first}]", f"[%{first + 1}]"] if idesc.kind.scaled else []
    operands = ", ".join(["[%0]", "%1", "%2", *metadata, "%3", *scales, "p"])
    inputs = ['"r"(d_tmem)', '"l"(a_desc)', '"l"(b_desc)', '"r"(idesc)', '"r"(accumulate)']
    inputs += ['"r"(metadata_tmem)'] * idesc.sparse
    inputs += ['"r"(scale_a_tmem)', '"r"(scale_b_tmem)'] if idesc.kind.scaled else []
    return "\n".join(
        (
            "asm volatile(",
            '    "{\\n.reg .pred p;\\nsetp.ne.b32 p, %4, 0;\\n"',
            f'    "{get_opcode(idesc, form)} {operands};\\n}}\\n"',
            f"    :: {', '.join(inputs)});",
        )
    )


def render_code(idesc: IdescWord) -> dict[str, str]:
    """Return {"constant", "cutlass", "ptx"}; cutlass is "" where its types cannot express the word."""
    return {"constant": render_constant(idesc), "cutlass": render_cutlass(idesc), "ptx": render_statement(idesc)}
