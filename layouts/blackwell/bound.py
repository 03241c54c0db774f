"""Bind a tcgen05.mma to an instruction descriptor: M, N, types, and the map of every operand in tensor memory.

The opcode has kind, CTAs, sparsity and scale vectors (layouts/ptx/table/umma.py), the descriptor the rest
(layouts/blackwell/idesc); layouts/blackwell/tmem has the places of operands. Maps are those of one CTA.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

from lanescope.blackwell import idesc, tmem, umma
from lanescope.blackwell.idesc import IdescWord
from lanescope.blackwell.kind import MmaKind
from lanescope.blackwell.tmem import TmemMma, TmemOperandLayout
from lanescope.blackwell.umma import MmaOpcode
from lanescope.errors import LayoutError
from lanescope.inputs import join_words
from lanescope.ptx.dtypes import get_dtype
from lanescope.ptx.instruction import Instruction, InstructionVerb, Operand
from lanescope.ptx.role import TENSOR, SourceReference
from lanescope.ptx.table.kinds import ALONE, PAIR, WS
from lanescope.ptx.table.tmem import INFERRED


@dataclass(frozen=True, slots=True)
class OperandEvidence:
    """The evidence for one operand's map: the number of equal maps of CUTLASS, or that it is inferred."""

    operand: str
    text: str
    inferred: bool


@dataclass(frozen=True)
class BoundMma(Instruction):
    """A product in tensor memory with its instruction descriptor.

    tensor_operands: its operands; maps: operand → number of equal maps of CUTLASS; open: operand → why its place is not
    known.
    """

    mma: TmemMma = field(kw_only=True, hash=False)
    word: IdescWord = field(kw_only=True, hash=False)
    tensor_operands: tuple[Operand, ...] = ()
    maps: Mapping[str, int] = field(default_factory=dict, hash=False)
    open: Mapping[str, str] = field(default_factory=dict, hash=False)

    @cached_property
    def operands(self) -> dict[str, Operand]:
        return {op.name: op for op in self.tensor_operands}

    @property
    def operand_names(self) -> tuple[str, ...]:
        return tuple(self.operands)


def get_mma_opcode(instruction: Instruction) -> MmaOpcode:
    """Return kind, form and sparsity of a tcgen05.mma of the catalogue; LayoutError for another instruction."""
    issue = instruction.family.issue
    if issue is None:
        raise LayoutError(
            "bad_instruction",
            f"{instruction.ptx} has no instruction descriptor.",
            f"E.g. {umma.DEFAULT}.",
            "instruction",
        )
    form = WS if issue.stationary else PAIR if PAIR in instruction.modifiers else ALONE
    return MmaOpcode(idesc.get_kind(issue.kind), form, issue.sparse)


def make_default_idesc(instruction: Instruction, target: str = "") -> IdescWord:
    """Return the default descriptor: the kind's first types, K-major, the largest M of a CTA (a pair), N 128."""
    return _encode_default(get_mma_opcode(instruction), _get_factors(instruction), target)


@lru_cache(maxsize=512)
def _encode_default(by: MmaOpcode, factors: str, target: str) -> IdescWord:
    sizes = by.kind.sizes[by.form, by.sparse]
    fields = {"m": max(m for m in sizes.m if m <= 128) if by.form != PAIR else max(sizes.m), "n": 128}
    types = idesc.get_factor_types(by.kind, factors)
    return idesc.encode(by.kind, {**fields, "sparse": int(by.sparse), **types}, by.form, target)


def _get_factors(instruction: Instruction) -> str:
    """Return the vector size of the scale factors, "" without block scaling."""
    assert instruction.family.issue is not None
    return instruction.family.issue.factors


def list_types(instruction: Instruction, word: IdescWord) -> dict[str, str]:
    """Return the types of D, A, B and the scale factors, by their operands."""
    return {**word.types, **({"s": word.format_field("scale_type")} if _get_factors(instruction) else {})}


def encode_fields(instruction: Instruction, fields: Mapping[str, object], target: str = "") -> IdescWord:
    """Return the descriptor with these fields (M, N, types, majors) and those that the PTX text determines.

    target: "" for any. LayoutError names the field.
    """
    by = get_mma_opcode(instruction)
    chosen = {name: value for name, value in fields.items() if value not in ("", None)}
    first = make_default_idesc(instruction, target)
    sizes = {"m": first.m, "n": first.n} | {name: chosen[name] for name in ("m", "n") if name in chosen}
    factors = idesc.get_factor_types(by.kind, _get_factors(instruction))
    return idesc.encode(by.kind, {**factors, **chosen, **sizes, "sparse": int(by.sparse)}, by.form, target)


def parse_idesc(instruction: Instruction, text: object, target: str = "") -> IdescWord:
    """Parse the descriptor of a request: the word in any spelling, or fields such as `m=128,n=64,a=bf16`."""
    by = get_mma_opcode(instruction)
    if not isinstance(text, str) or "=" not in text:
        return IdescWord(idesc.parse_idesc_word(text, "idesc"), by.kind, target)
    fields = dict(part.strip().partition("=")[::2] for part in text.split(",") if part.strip())
    try:
        return encode_fields(instruction, {name.strip(): value.strip() for name, value in fields.items()}, target)
    except LayoutError as error:
        raise error.move_to_field("idesc", "bad_idesc") from None


def bind(found: Instruction, descriptor: object = None, target: str = "") -> BoundMma:
    """Return the instruction with its descriptor: sizes, types and the operands of one CTA.

    descriptor: the word or its fields, as parse_idesc accepts them; None for the default. target: determines the fields
    of the word and K; "" for any. LayoutError if the word is illegal for the instruction.

    >>> from lanescope.ptx.catalog import find
    >>> d = bind(find("tcgen05.mma.cta_group::1.kind::f16"), 0x08400490).operand("d")
    >>> d.owner(7, 44), d.row_count, d.col_count
    ([(7, 44)], 128, 256)
    """
    word = make_default_idesc(found, target) if descriptor is None else parse_idesc(found, descriptor, target)
    return _bind_idesc(found, word)


def bind_fields(instruction: Instruction, fields: Mapping[str, object]) -> BoundMma:
    """Return the instruction with the descriptor of these fields; LayoutError names the illegal field."""
    return _bind_idesc(instruction, encode_fields(instruction, fields))


def _bind_idesc(instruction: Instruction, word: IdescWord) -> BoundMma:
    by = get_mma_opcode(instruction)
    for operand in "ab":
        umma.make_view(by, word, operand)
    issue, factors = instruction.family.issue, _get_factors(instruction)
    assert issue is not None
    if word.format_field("scale_type") == "ue4m3" and factors != "4X" and not word.on_rubin:
        message = f"The word selects ue4m3 factors; with {factors} they are ue8m0."
        raise LayoutError("bad_idesc", message, "Bit 23: 1. ue4m3 requires scale_vec::4X or block16.", "idesc")
    _check_factor_ids(by.kind, word, factors)
    mma = TmemMma(by.kind, by.form, by.sparse, word.m, word.n, 96 if word.k == 96 else 0, scale_vec=factors)
    shifts = "ashift" in instruction.modifiers
    if shifts and word.m < 128:
        raise LayoutError("bad_idesc", f"M is {word.m}. .ashift requires M = 128 or 256.", "Bits 24 to 28.", "idesc")
    operands, maps, open_ = [], {}, {}
    for name in issue.operands:
        if why := _explain_open_place(word, name):
            open_[name] = why
            continue
        try:
            layout = tmem.make_tmem_layout(mma, name)
        except LayoutError as error:
            open_[name] = error.message
            continue
        operands.append(_make_tmem_operand(layout, mma, word))
        maps[name] = layout.maps
    sizes = {"m": word.m, "n": word.n, "k": word.k}
    family = replace(
        instruction.family, verb=InstructionVerb.MULTIPLY, elsewhere={**instruction.family.elsewhere, **open_}
    )
    return BoundMma(
        instruction.ptx,
        family,
        "m{m}n{n}k{k}".format(**sizes),
        list_types(instruction, word),
        sizes,
        instruction.listed_ptx,
        tensor_operands=tuple(operands),
        maps=maps,
        open=open_,
        mma=mma,
        word=word,
    )


def _explain_open_place(word: IdescWord, operand: str) -> str:
    """Return why an operand's place on sm_107 is not known; "" if it is.

    PTX ISA 9.4: Table 66 lists A of 8 bits with the usual K only, Table 68 and 9.7.18.10.7.2 contradict each other
    about the number of factors with K = 128, and the rest is in figures only.
    """
    if not word.on_rubin or operand == "d":
        return ""
    if operand == "scale_a" and word.get_code("sfa_layout"):
        return "PTX describes the layout of A's scale factors in 128 lanes in figures only."
    if word.k == word.kind.k * (1 + word.sparse) or (word.k == 96 and not word.sparse):
        return ""
    name = {"a": "A", "metadata": "the metadata"}.get(operand, "the scale factors")
    return f"The layout of {name} in tensor memory with K = {word.k} is documented in figures only."


def _check_factor_ids(row: MmaKind, word: IdescWord, factors: str) -> None:
    """Raise LayoutError for a scale-factor id that the vector size does not allow; any is accepted with K = 96."""
    for name in ("sfa_id", "sfb_id"):
        if factors and word.k != 96 and word.get_code(name) not in row.scaled[factors]:
            title, ids = row.get_field(name).field.title, join_words([str(code) for code in row.scaled[factors]], "or")
            message = f"{title} is {word.get_code(name)}; with scale_vec::{factors} it is {ids}."
            raise LayoutError("bad_idesc", message, f"See {idesc.IDS}.", "idesc")


def _make_tmem_operand(layout: TmemOperandLayout, mma: TmemMma, word: IdescWord) -> Operand:
    """Return an operand in tensor memory, whose threads are lanes."""
    name = layout.operand
    element = {"d": word.types["d"], "a": word.types["a"], "metadata": "u4"}.get(name, word.format_field("scale_type"))
    axes = layout.axes
    if name == "a":
        axes = ("row", "col", *axes[2:])
    dims = {"d": ("m", "n"), "a": ("m", "s" if mma.sparse else "k")}.get(name, axes[:2])
    kept = mma.kind.kept if mma.sparse and name == "a" else None
    document, _, section = layout.source.partition(", ")
    return Operand(
        name,
        get_dtype(element),
        layout.bits,
        pattern=layout.pattern,
        axes=axes,
        dims=dims,
        threads=TENSOR.threads,
        source=SourceReference(document, section),
        holder_scope=TENSOR,
        compressed=kept,
    )


def list_evidence(bound_mma: BoundMma) -> list[OperandEvidence]:
    """Return the evidence for each operand's map."""
    evidence = []
    for name, maps in bound_mma.maps.items():
        title = name.upper() if len(name) == 1 else name.replace("_", " ")
        text = f"{title} agrees with CUTLASS ({maps} maps)" if maps else f"{title} {INFERRED}: no map shows it"
        evidence.append(OperandEvidence(name, text, not maps))
    return evidence


def describe_share(mma: TmemMma) -> str:
    """Return a sentence about the parts of A, B and D that one CTA of a pair holds; "" for a single CTA."""
    if mma.ctas == 1:
        return ""
    rows = mma.place.rows
    return (
        f"Shown is CTA 0 of the pair, rows 0 to {rows - 1} of A and D; CTA 1 holds rows {rows} to {2 * rows - 1} in the"
        f" same lanes and columns. Each CTA's shared memory holds {mma.n // 2} of the {mma.n} columns of B."
    )


def describe_open(instruction: Instruction) -> str:
    """Return a sentence about the properties that the instruction descriptor determines."""
    by = get_mma_opcode(instruction)
    sizes = by.kind.sizes[by.form, by.sparse]
    names = [f"M ({join_words([str(m) for m in sizes.m], 'or')})", f"N ({sizes.n_words})"]
    names += ["the types"] if len(by.kind.get_field("a").codes) > 1 else []
    return f"{join_words([*names, 'the majors'])} are not in the text: the instruction descriptor has them."
