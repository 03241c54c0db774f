"""The workbench as facts: the engine's Bench with the pages that show its parts, and the text cut into pieces."""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from lanescope import workbench
from lanescope.app.kit import links
from lanescope.app.memory.storage import replace_storage
from lanescope.app.read.facts import (
    BenchAssumed,
    BenchCause,
    BenchFacts,
    BenchOperand,
    BenchPiece,
    BenchSlice,
    BenchStep,
)
from lanescope.descriptor import causes
from lanescope.descriptor.case import Diagnosis
from lanescope.errors import LayoutError
from lanescope.ptx import catalog
from lanescope.reader import LONGEST, pasted_text, statements
from lanescope.workbench import Bench, OperandStep, TextPiece, VerifiedOperand
from lanescope.workbench.messages import describe_contents
from lanescope.workbench.scan import find_mentions

FAR = 64  # columns that the card of a text surely shows
LONGEST_ADDRESS = 7 << 10  # characters of a query that an address surely holds
KEYS = (
    "at.",
    "builder.",
    "encode.",
    "type.",
    "size.",
    "boxes.",
    "box.",
    "swizzle.",
    "inner.",
    "panel.",
    "base.",
    "major.",
    "storage.",
    "operand",
    "instruction",
)
TAGS = {"tensor_map": "map", "descriptor": "desc", "instruction": "mma", "layout": "layout"}


def verify_text(text: str, given: Mapping[str, str]) -> Bench | None:
    """The Bench of a text that has more than one thing in it to verify; None for any other. LayoutError where a given
    value is wrong.
    """
    made = workbench.build_bench(text, given)
    broken = any(piece.notices for piece in made.pieces if piece.kind == "tensor_map")
    several = len(made.kinds) > 1 and made.kinds & {"descriptor", "tensor_map", "layout"}
    asks = any(one.key.startswith("builder.") for one in made.assumed)  # what a function without code gives
    return made if made.operands or broken or several or asks else None


def has_descriptor_reader(text: str) -> bool:
    """Whether an instruction of the text is given descriptors to read; its bare name asks for no verdict."""
    return any(
        one.instruction.family.by_descriptor and one.arguments for one in find_mentions(pasted_text.clean_text(text))
    )


def link_workbench(text: str) -> str:
    """The page of a text with code that builds descriptors, or with more to verify; "" for any other text."""
    try:
        made = workbench.build_bench(text)
    except LayoutError:
        return ""
    builds = any(piece.kind == "descriptor" for piece in made.pieces)
    return link_text(text, {}) if "\n" in text.strip() and builds else ""


def parse_assumptions(query: Mapping[str, str]) -> dict[str, str]:
    """The values of a query that the workbench may take; a blank one is left to it."""
    return {k: v.strip() for k, v in query.items() if k.startswith(KEYS) and v.strip()}


def drop_default_assumptions(text: str, given: Mapping[str, str]) -> dict[str, str]:
    """The values that are other than what the workbench takes by itself: a form sends all of them."""
    try:
        made = workbench.build_bench(text) if given else None
    except LayoutError:
        made = None
    taken = {one.key: one.value for one in made.assumed} if made else {}
    return {key: value for key, value in given.items() if taken.get(key) != value}


def build_answer(made: Bench, text: str, given: Mapping[str, str]) -> BenchFacts:
    """The answer of POST /read."""
    verdict: Any = made.verdict
    wrong = [(one.span, one.message) for one in statements.find_refused_lines(text)]
    pieces = tuple(_build_piece(made, n, wrong) for n in range(len(made.pieces)))
    shown = {said for piece in pieces for said in piece.notices}
    return BenchFacts(
        verdict=verdict,
        headline=made.headline,
        detail=made.detail,
        holds=describe_contents(made.pieces, made.operands),
        pieces=pieces,
        operands=tuple(_build_operand(one, text) for one in made.operands),
        assumed=tuple(
            BenchAssumed(key=a.key, label=a.label, value=a.value or None, why=a.why, choices=a.choices)
            for a in made.assumed
        ),
        missing=(*made.missing, *dict.fromkeys(said for _, said in wrong if said not in shown)),
        caution=made.caution,
        complete=made.complete,
        link=link_text(text, given),
    )


def _build_piece(made: Bench, n: int, wrong: Sequence[tuple[tuple[int, int], str]]) -> BenchPiece:
    """A piece of the text. wrong: the lines that ptxas refuses, by their places."""
    one = made.pieces[n]
    kind: Any = one.kind
    refused = (said for at, said in wrong if one.kind == "instruction" and at in one.spans)
    return BenchPiece(
        kind=kind,
        title=one.title,
        spans=one.spans,
        operands=one.operands,
        notices=(*one.notices, *dict.fromkeys(refused)),
        doubts=one.doubts,
        link=_link_piece(made, n, one),
    )


def _link_piece(made: Bench, n: int, one: TextPiece) -> str:
    """The page of a piece."""
    if one.kind == "instruction":
        return links.link_instruction(catalog.find(one.facts["ptx"]))
    if one.kind == "layout":
        return f"/read?{urlencode({'text': one.facts['cute']})}" if one.facts else ""
    own = next((o for o in made.operands if n in (o.descriptor, o.storage) and o.steps), None)
    if own is None:
        return ""
    step = own.steps[0]
    if one.kind == "descriptor":
        return links.link_descriptor(step.descriptor, _select_view(own))
    stored = own.stored or {}
    rows, bits = step.rows, _get_element_bits(own)
    if stored.get("kind") != "atoms" or stored["line_stride"] != stored["width_bytes"]:
        return _link_step(own, step)
    lines, wide = stored["inner_stride"] // stored["line_stride"], stored["width_bytes"] * 8 // bits
    along = max((s.k + s.depth if stored["inner"] == "K" else s.mn + s.rows) for s in own.steps)
    inner = -(-along // wide) * wide
    sizes = {"mn": lines, "k": inner} if stored["inner"] == "K" else {"mn": inner, "k": lines}
    query = {
        "element_bits": bits,
        "major": stored["inner"],
        "swizzle": stored["swizzle"],
        **sizes,
        "rows": rows,
        "order": "mn" if stored["inner"] == "K" else "k",
        "base": hex(stored["base"]),
    }
    return links.link_smem(query)


def _get_element_bits(own: VerifiedOperand) -> int:
    return int(catalog.find(own.instruction).operand("a").element.bits)


def _select_view(own: VerifiedOperand) -> dict[str, str]:
    return {"instruction": own.instruction, "operand": own.name, "major": own.major}


def _build_operand(own: VerifiedOperand, text: str) -> BenchOperand:
    name: Any = own.name
    major: Any = own.major
    verdict: Any = own.verdict
    return BenchOperand(
        name=name,
        instruction=own.instruction,
        major=major,
        why=own.why,
        storage=own.stored,
        storage_why=own.stored_why,
        verdict=verdict,
        k_steps=own.k_steps,
        stages=own.stages,
        fits=own.fits,
        missing=own.missing,
        notices=own.notices,
        steps=tuple(_build_step(own, step) for step in own.steps),
        place=own.place,
        line=text.count("\n", 0, own.place[0]) + 1 if own.place else None,
    )


def _build_step(own: VerifiedOperand, step: OperandStep) -> BenchStep:
    verdict: Any = step.verdict
    return BenchStep(
        loops=dict(step.loops),
        stage=step.stage,
        descriptor=step.descriptor,
        slice=BenchSlice(mn=step.mn, k=step.k, rows=step.rows, depth=step.depth),
        verdict=verdict,
        matched=step.matched,
        total=step.total,
        expected=step.expected,
        read=step.read,
        diagnoses=[_build_cause(one) for one in step.causes],
        link=_link_step(own, step),
    )


def _build_cause(one: Diagnosis) -> BenchCause:
    fix = str(one.fix) if one.fix else None
    return BenchCause(code=one.code, title=causes.get_cause_title(one.code), message=one.message, fix=fix)


def _link_step(own: VerifiedOperand, step: OperandStep) -> str:
    """The descriptor page of one step."""
    query = {**_select_view(own), "slice_mn": str(step.mn), "slice_k": str(step.k)}
    if own.stored is None or step.base is None:
        return links.link_descriptor(step.descriptor, query)
    return f"/descriptor/wgmma/{step.descriptor}?{replace_storage(query, {**own.stored, 'base': hex(step.base)})}"


# the address ----------------------------------------------------------------------------------------------------------


def link_text(text: str, given: Mapping[str, str]) -> str:
    """The page of a text with the values given: the text itself where the address holds it, else compressed; without it
    where even that is too long."""
    for carried in ({"text": text}, {"z": compress_text(text)}, {}):
        query = urlencode({**carried, **given})
        if len(query) <= LONGEST_ADDRESS:
            return f"/read?{query}" if query else "/read"
    return "/read"


def compress_text(text: str) -> str:
    """A text as `z=` has it: zlib's format in URL-safe base64 without padding."""
    return base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).decode().rstrip("=")


def expand_text(z: str) -> str:
    """Unpack the text of `z=`; raise LayoutError `bad_text` for garbage, and for a text that would be too long."""
    wrong = LayoutError("bad_text", "The address holds no text that can be unpacked.", "Paste the text again.", "z")
    try:
        raw = base64.b64decode(z.encode("ascii") + b"=" * (-len(z) % 4), b"-_", validate=True)
        opened = zlib.decompressobj()
        plain = opened.decompress(raw, 4 * LONGEST + 4)
        if len(plain) > 4 * LONGEST:
            raise LayoutError("bad_text", "The text is too long.", f"At most {LONGEST} characters.", "z")
        if not opened.eof or opened.unused_data:
            raise wrong
        return plain.decode()
    except (UnicodeError, binascii.Error, zlib.error, ValueError):
        raise wrong from None


# the text, marked -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TextRun:
    """A run of characters of one line. piece: its number, -1 outside all; first: the first of its piece; wrong: gives
    the first wrong step."""

    text: str
    piece: int
    kind: str
    tag: str
    first: bool
    wrong: bool


def mark_pieces(text: str, made: Bench) -> list[list[TextRun]]:
    """The lines of a text, each cut where a piece begins or ends; of pieces one in another the smaller has it."""
    owner = [-1] * len(text)
    spans = [(b - a, a, b, n) for n, piece in enumerate(made.pieces) for a, b in piece.spans]
    for _, a, b, n in sorted(spans, reverse=True):
        owner[a:b] = [n] * (b - a)
    bad = {at for one in made.operands if one.place for at in range(*one.place)}
    lines: list[list[TextRun]] = []
    tags = _place_tags(text, made.pieces, owner)
    at = 0
    for line in text.removesuffix("\n").split("\n"):
        runs: list[TextRun] = []
        start = at
        end = at + len(line)
        while start < end:
            key = (owner[start], start in bad)
            stop = start + 1
            while stop < end and (owner[stop], stop in bad) == key:
                stop += 1
            tagged = key[0] >= 0 and start <= tags[key[0]] < stop
            runs += _build_runs(text[start:stop], key, made.pieces, tagged)
            start = stop
        lines.append(runs)
        at = end + 1
    return lines


def _place_tags(text: str, pieces: Sequence[TextPiece], owner: Sequence[int]) -> list[int]:
    """Where the tag of each piece stands: at the first of its places, which is where it is used, unless that is far to
    the right of its line and another is not; -1 where none of its characters is its own.
    """
    out = []
    for n, piece in enumerate(pieces):
        places = (next((i for i in range(a, b) if _is_owned(text, owner, i, n)), -1) for a, b in piece.spans)
        own = [at for at in places if at >= 0]
        near = [at for at in own if at - text.rfind("\n", 0, at) <= FAR]
        out.append((near or own or [-1])[0])
    return out


def _is_owned(text: str, owner: Sequence[int], at: int, piece: int) -> bool:
    return owner[at] == piece and not text[at].isspace()


def _build_runs(text: str, key: tuple[int, bool], pieces: Sequence[TextPiece], tagged: bool) -> list[TextRun]:
    """A run; its blanks in front are not marked."""
    n, wrong = key
    body = text.lstrip()
    out = [TextRun(text[: len(text) - len(body)], -1, "", "", False, False)] if len(body) < len(text) else []
    if not body:
        return out
    if n < 0:
        return [*out, TextRun(body, -1, "", "", False, wrong)]
    piece = pieces[n]
    tag = " ".join((TAGS[piece.kind], *(name.upper() for name in piece.operands)))
    return [*out, TextRun(body, n, piece.kind, tag, tagged, wrong)]
