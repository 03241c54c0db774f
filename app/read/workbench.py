"""The workbench as facts: the engine's Workbench with the pages that show its parts, and the text split into pieces."""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

from lanescope import workbench
from lanescope.app.kit import links
from lanescope.app.kit.fact import copy_fact
from lanescope.app.memory.storage import replace_storage
from lanescope.app.read.facts import (
    BenchAssumed,
    BenchCause,
    BenchEdit,
    BenchFacts,
    BenchOperand,
    BenchPiece,
    BenchRepair,
    BenchSlice,
    BenchStep,
)
from lanescope.descriptor import causes
from lanescope.descriptor.case import Diagnosis
from lanescope.errors import LayoutError
from lanescope.ptx import catalog
from lanescope.reader import LONGEST
from lanescope.reader.grammars import pasted_text
from lanescope.reader.instructions import statements
from lanescope.workbench import OperandStep, TextPiece, VerifiedOperand, Workbench
from lanescope.workbench.messages import describe_contents
from lanescope.workbench.results import Repair
from lanescope.workbench.text.scan import find_mentions

LONGEST_ADDRESS = 7 << 10  # longest query that every address holds
LONGEST_SHOWN = 2000  # longest query that a page gives itself; a longer text is posted
KEYS = (
    "at.",
    "builder.",
    "encode.",
    "type.",
    "size.",
    "macro.",
    "boxes.",
    "box.",
    "swizzle.",
    "inner.",
    "panel.",
    "base.",
    "major.",
    "storage.",
    "stored.",
    "operand",
    "instruction",
)


def has_verdict(bench: Workbench) -> bool:
    """Return whether a text has several parts that are verified together, or one that is wrong by itself."""
    has_broken_map = any(piece.notices for piece in bench.pieces if piece.kind == "tensor_map")
    has_several_kinds = len(bench.kinds) > 1 and bench.kinds & {"descriptor", "tensor_map", "layout"}
    leaves_open = any(
        assumption.key.startswith("builder.") for assumption in bench.assumed
    )  # the result of a function without code
    return bool(bench.operands or has_broken_map or has_several_kinds or leaves_open)


def has_descriptor_reader(text: str) -> bool:
    """Return whether an instruction of the text reads through descriptors; its bare name needs no verdict."""
    return any(
        mention.instruction.family.by_descriptor and mention.arguments
        for mention in find_mentions(pasted_text.clean_text(text))
    )


def link_workbench(text: str) -> str:
    """Link the page of a text with code that builds descriptors, or with more to verify; "" for any other text."""
    try:
        bench = workbench.build_workbench(text)
    except LayoutError:
        return ""
    has_descriptor = any(piece.kind == "descriptor" for piece in bench.pieces)
    return link_text(text, {}) if "\n" in text.strip() and has_descriptor else ""


def parse_assumptions(query: Mapping[str, str]) -> dict[str, str]:
    """Parse the values of a query that the workbench accepts; it chooses blank ones itself."""
    return {k: v.strip() for k, v in query.items() if k.startswith(KEYS) and v.strip()}


def drop_default_assumptions(text: str, assumptions: Mapping[str, str]) -> dict[str, str]:
    """Drop the values that are the workbench's defaults: a form sends all values."""
    try:
        bench = workbench.build_workbench(text) if assumptions else None
    except LayoutError:
        bench = None
    defaults = {assumption.key: assumption.value for assumption in bench.assumed} if bench else {}
    return {key: value for key, value in assumptions.items() if defaults.get(key) != value}


def build_answer(bench: Workbench, text: str, assumptions: Mapping[str, str]) -> BenchFacts:
    """Build the answer of POST /read."""
    refusals = [(refused_line.span, refused_line.message) for refused_line in statements.find_refused_lines(text)]
    pieces = tuple(_build_piece(bench, n, refusals) for n in range(len(bench.pieces)))
    piece_notices = {notice for piece in pieces for notice in piece.notices}
    return copy_fact(
        BenchFacts,
        bench,
        holds=describe_contents(bench.pieces, bench.operands),
        pieces=pieces,
        operands=tuple(_build_operand(operand, text) for operand in bench.operands),
        assumed=tuple(
            copy_fact(BenchAssumed, assumption, value=assumption.value or None) for assumption in bench.assumed
        ),
        missing=(*bench.missing, *dict.fromkeys(notice for _, notice in refusals if notice not in piece_notices)),
        repairs=tuple(_build_repair(repair, bench, text) for repair in bench.repairs),
        link=link_text(text, assumptions),
    )


def _build_repair(repair: Repair, bench: Workbench, text: str) -> BenchRepair:
    names = dict.fromkeys(bench.operands[at].name for at in repair.operands)
    edits = tuple(
        BenchEdit(
            first=edit.span[0],
            past=edit.span[1],
            line=find_line(text, edit.span[0]),
            column=edit.span[0] - text.rfind("\n", 0, edit.span[0]),
            before=text[slice(*edit.span)],
            text=edit.text,
        )
        for edit in repair.edits
    )
    return BenchRepair(edits=edits, operands=tuple(names), words=repair.words)


def find_line(text: str, at: int) -> int:
    """Return the line of a character, from 1."""
    return text.count("\n", 0, at) + 1


def _build_piece(bench: Workbench, n: int, refusals: Sequence[tuple[tuple[int, int], str]]) -> BenchPiece:
    """Build a piece of the text. refusals: the lines that ptxas rejects, by their places."""
    piece = bench.pieces[n]
    notices = (notice for span, notice in refusals if piece.kind == "instruction" and span in piece.spans)
    return copy_fact(
        BenchPiece, piece, notices=(*piece.notices, *dict.fromkeys(notices)), link=_link_piece(bench, n, piece)
    )


def _link_piece(bench: Workbench, n: int, piece: TextPiece) -> str:
    """Link the page of a piece."""
    if piece.kind == "instruction":
        return links.link_instruction(catalog.find(piece.facts["ptx"]))
    if piece.kind == "layout":
        return f"/read?{urlencode({'text': piece.facts['cute']})}" if piece.facts else ""
    operand = next(
        (
            candidate
            for candidate in bench.operands
            if n in (candidate.descriptor, candidate.storage) and candidate.steps
        ),
        None,
    )
    if operand is None:
        return ""
    step = operand.steps[0]
    if piece.kind == "descriptor":
        return links.link_descriptor(step.descriptor, _select_view(operand))
    storage = operand.stored or {}
    rows, bits = step.rows, int(catalog.find(operand.instruction).operand("a").element.bits)
    if storage.get("kind") != "atoms" or storage["line_stride"] != storage["width_bytes"]:
        return _link_step(operand, step)
    lines, panel_elements = storage["inner_stride"] // storage["line_stride"], storage["width_bytes"] * 8 // bits
    extent = max((s.k + s.depth if storage["inner"] == "K" else s.mn + s.rows) for s in operand.steps)
    inner = -(-extent // panel_elements) * panel_elements
    sizes = {"mn": lines, "k": inner} if storage["inner"] == "K" else {"mn": inner, "k": lines}
    query = {
        "element_bits": bits,
        "major": storage["inner"],
        "swizzle": storage["swizzle"],
        **sizes,
        "rows": rows,
        "order": "mn" if storage["inner"] == "K" else "k",
        "base": hex(storage["base"]),
    }
    return links.link_smem(query)


def _select_view(operand: VerifiedOperand) -> dict[str, str]:
    return {"instruction": operand.instruction, "operand": operand.name, "major": operand.major}


def _build_operand(operand: VerifiedOperand, text: str) -> BenchOperand:
    return copy_fact(
        BenchOperand,
        operand,
        storage=operand.stored,
        storage_why=operand.stored_why,
        steps=tuple(_build_step(operand, step) for step in operand.steps),
        line=find_line(text, operand.place[0]) if operand.place else None,
    )


def _build_step(operand: VerifiedOperand, step: OperandStep) -> BenchStep:
    return copy_fact(
        BenchStep,
        step,
        loops=dict(step.loops),
        slice=copy_fact(BenchSlice, step),
        diagnoses=[_build_cause(cause) for cause in step.causes],
        link=_link_step(operand, step),
    )


def _build_cause(cause: Diagnosis) -> BenchCause:
    fix = str(cause.fix) if cause.fix else None
    return BenchCause(code=cause.code, title=causes.get_cause_title(cause.code), message=cause.message, fix=fix)


def _link_step(operand: VerifiedOperand, step: OperandStep) -> str:
    """Link the descriptor page of one step."""
    query = {**_select_view(operand), "slice_mn": str(step.mn), "slice_k": str(step.k)}
    if operand.stored is None or step.base is None:
        return links.link_descriptor(step.descriptor, query)
    return f"/descriptor/wgmma/{step.descriptor}?{replace_storage(query, {**operand.stored, 'base': hex(step.base)})}"


# the address ----------------------------------------------------------------------------------------------------------


def link_text(text: str, assumptions: Mapping[str, str], longest: int = LONGEST_ADDRESS) -> str:
    """Link the page of a text with the assumptions: the text itself if a query of `longest` characters holds it, else
    compressed; without it if even that is too long.
    """
    for carrier in ({"text": text}, {"z": compress_text(text)}, {}):
        query = urlencode({**carrier, **assumptions})
        if len(query) <= longest:
            return f"/read?{query}" if query else "/read"
    return "/read"


def has_text(link: str) -> bool:
    """Return whether a link contains its text."""
    return link.partition("?")[2].startswith(("text=", "z="))


def compress_text(text: str) -> str:
    """Compress a text for `z=`: zlib's format in URL-safe base64 without padding."""
    return base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).decode().rstrip("=")


def expand_text(z: str) -> str:
    """Unpack the text of `z=`; raise LayoutError `bad_text` for garbage, and for a text that would be too long."""
    wrong = LayoutError("bad_text", "The address holds no text that can be unpacked.", "Paste the text again.", "z")
    try:
        raw = base64.b64decode(z.encode("ascii") + b"=" * (-len(z) % 4), b"-_", validate=True)
        decompressor = zlib.decompressobj()
        plain = decompressor.decompress(raw, 4 * LONGEST + 4)
        if len(plain) > 4 * LONGEST:
            raise LayoutError("bad_text", "The text is too long.", f"At most {LONGEST} characters.", "z")
        if not decompressor.eof or decompressor.unused_data:
            raise wrong
        return plain.decode()
    except (UnicodeError, binascii.Error, zlib.error, ValueError):
        raise wrong from None
