"""Messages of the workbench: contents of a text, mistakes, and assumptions behind a verdict.

`workbench_builder.py` calls `build_message` when all operands are judged; the page of a paste calls
`describe_contents`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lanescope.descriptor import causes, notices
from lanescope.descriptor.matrix import Descriptor, view
from lanescope.inputs import join_words
from lanescope.ptx import catalog
from lanescope.workbench.results import Assumption, TextPiece, VerifiedOperand

_PAST = {  # cause and major → what a step does in place of its slice
    ("k_advance_past_atom", "K"): "past the swizzle atom",
    ("k_step_missing", "K"): "the first slice again",
    ("k_step_missing", "MN"): "the first slice again",
    **{("operands_exchanged", major): "the other operand’s buffer" for major in ("K", "MN")},
    **{("stages_overlap", major): "bytes of another stage" for major in ("K", "MN")},
    **{("tma_destination", major): "a tile that begins where TMA cannot store it" for major in ("K", "MN")},
}
_KINDS = {
    "tensor_map": ("tensor map", "tensor maps"),
    "layout": ("CuTe layout", "CuTe layouts"),
    "descriptor": ("descriptor", "descriptors"),
    "instruction": ("instruction", "instructions"),
}


@dataclass(frozen=True, slots=True)
class Message:
    """The message about a text: a headline, its reason, and reservations about operands that are right."""

    headline: str
    detail: str
    caution: tuple[str, ...]


def decide_verdict(operands: Sequence[VerifiedOperand], pieces: Sequence[TextPiece]) -> str:
    """Return mismatch if a step is wrong or a map breaks a TMA rule, match if all operands are right, else unknown."""
    if any(operand.wrong for operand in operands) or _build_rules_message(pieces):
        return "mismatch"
    return "match" if _build_match_message(operands) else "unknown"


def _build_match_message(operands: Sequence[VerifiedOperand]) -> bool:
    return bool(operands) and all(operand.verdict == "match" for operand in operands)


def _build_rules_message(pieces: Sequence[TextPiece]) -> list[str]:
    """Return the rules of TMA that tensor maps break."""
    return [notice for piece in pieces for notice in piece.notices if piece.kind == "tensor_map"]


def build_message(
    operands: Sequence[VerifiedOperand],
    pieces: Sequence[TextPiece],
    assumed: Sequence[Assumption],
    missing: Sequence[str],
) -> Message:
    """Return the headline and its reason: the cause, or the assumptions behind a verdict."""
    line, why = render_headline(operands, pieces, missing)
    caution = () if decide_verdict(operands, pieces) == "mismatch" else list_cautions(operands, assumed)
    right = _build_match_message(operands)
    rests = list_grounds([assumption for assumption in assumed if right or assumption.detailed]) if operands else []
    if not right:
        return Message(line, _join_sentences(why, *rests), caution)
    beside = [assumption for assumption in caution if assumption not in rests]
    return Message(
        _qualify_headline(line, operands, assumed, caution),
        _join_sentences(why, *beside, *rests, describe_assumed_alignment(assumed)),
        caution,
    )


def _join_sentences(*sentences: str) -> str:
    return " ".join(filter(None, sentences))


def _qualify_headline(
    line: str, operands: Sequence[VerifiedOperand], assumed: Sequence[Assumption], caution: Sequence[str]
) -> str:
    """Return the headline of right operands with the reservations."""
    reserved = [sentence for sentence in caution if sentence.startswith("Reserved")]
    rests = describe_first_bytes(operands, assumed)
    if not reserved:
        return f"{line}, {rests}" if rests else line
    line = notices.summarize_caution(reserved)
    return f"{line}; this holds {rests}" if rests else line


def format_wrong_steps(operand: VerifiedOperand) -> str:
    """Format the wrong steps of an operand: `K step 2 of A`, `K steps 4 to 7 of A`, `every K step of A in stage 1`."""
    wrong, alone = operand.wrong, f" of {operand.name.upper()}"
    if len(wrong) == len(operand.steps):
        return f"every K step{alone}" if operand.k_steps > 1 else f"the descriptor{alone}"
    ks = sorted({step.k // step.depth for step in wrong})
    where = _describe_place(operand)
    if where and len(ks) == len({s.k for s in operand.steps}):
        return f"every K step{alone}{where}"
    if len(ks) == 1:
        return f"K step {ks[0]}{alone}{where}"
    in_a_row = ks[-1] - ks[0] + 1 == len(ks) > 2
    numbers = f"{ks[0]} to {ks[-1]}" if in_a_row else join_words([str(k) for k in ks])
    return f"K steps {numbers}{alone}{where}"


def _describe_place(operand: VerifiedOperand) -> str:
    """Return the stages and rows of an operand's wrong steps, if others are right."""
    stages, tiles = sorted({s.stage for s in operand.wrong}), sorted({(s.mn, s.rows) for s in operand.wrong})
    where = ""
    if len(stages) < operand.stages:
        where = f" in stage{'s' if len(stages) > 1 else ''} {join_words([str(n) for n in stages])}"
    if len(tiles) < len({s.mn for s in operand.steps}):
        mn, rows = tiles[0]
        where += f" for {'rows' if operand.name == 'a' else 'columns'} {mn} to {mn + rows - 1}"
    return where


def render_headline(
    operands: Sequence[VerifiedOperand], pieces: Sequence[TextPiece], missing: Sequence[str]
) -> tuple[str, str]:
    """Return (headline, reason)."""
    if broken := _build_rules_message(pieces):
        return _describe_broken_map(pieces), broken[0]
    if any(operand.wrong for operand in operands):
        return _describe_wrong_operand(operands)
    if any(operand.verdict == "match" for operand in operands):
        return _describe_right_operand(operands)
    return "No verdict yet", missing[0] if missing else ""


def _describe_broken_map(pieces: Sequence[TextPiece]) -> str:
    maps = [piece for piece in pieces if piece.kind == "tensor_map"]
    letters = dict.fromkeys(name.upper() for piece in maps if piece.notices for name in piece.operands)
    of = f" of {join_words(list(letters))}" if letters and len(maps) > 1 else ""
    return f"The tensor map{of} breaks a rule of TMA"


def _describe_wrong_operand(operands: Sequence[VerifiedOperand]) -> tuple[str, str]:
    """Return (headline, cause) of the first wrong operand, with those that are wrong in the same way."""
    operand, first = next((operand, first) for operand in operands if (first := operand.first_wrong))
    cause = first.causes[0] if first.causes else None
    code, why = (cause.code, cause.message) if cause else ("", "")
    which = _describe_wrong_steps(operand, code, operands)
    if any(other.instruction != operand.instruction and not other.wrong for other in operands):
        which += f" of {operand.instruction if operand.form.by_idesc else catalog.find(operand.instruction).shape}"
    verb = "read" if which.startswith(("K steps", "the descriptors")) else "reads"
    subject = f"{which[0].upper()}{which[1:]} {verb}"
    where = _PAST.get((code, operand.major))
    if where:
        return f"{subject} {'past the end of a row' if 'edge of a row' in why else where}", why
    title = f": {_lower_title(causes.get_cause_title(code))}" if code else ""
    return f"{subject} the wrong bytes{title}", why


def _describe_wrong_steps(operand: VerifiedOperand, code: str, operands: Sequence[VerifiedOperand]) -> str:
    """Describe the wrong steps of an operand and of operands with the same wrong steps and cause."""
    which, same = format_wrong_steps(operand), []
    for other in operands:
        step, name = other.first_wrong, other.name.upper()
        same_cause = step is not None and step.causes and step.causes[0].code == code
        if same_cause and format_wrong_steps(other).replace(f"of {name}", "") == which.replace(
            f"of {operand.name.upper()}", ""
        ):
            same.append(name)
    if len(set(same)) < 2:
        return which
    which = which.replace(f" of {operand.name.upper()}", f" of {join_words(list(dict.fromkeys(same)))}", 1)
    return which.replace("the descriptor of", "the descriptors of")


def _describe_right_operand(operands: Sequence[VerifiedOperand]) -> tuple[str, str]:
    """Return (headline, reason) of right operands, and the missing information for those without a verdict."""
    right = [operand for operand in operands if operand.verdict == "match"]
    names = join_words(list(dict.fromkeys(operand.name.upper() for operand in right)))
    if max(operand.k_steps for operand in right) > 1:
        sentence = f"Every K step of {names} reads what is stored"
    elif "and" in names:
        sentence = f"The descriptors of {names} read what is stored"
    else:
        sentence = f"The descriptor of {names} reads what is stored"
    unsaid = [operand for operand in operands if operand.verdict == "unknown"]
    rest = next((m for operand in unsaid for m in operand.missing), "")
    return sentence, f"No verdict for {unsaid[0].name.upper()}. {rest}" if rest else ""


def list_cautions(operands: Sequence[VerifiedOperand], assumed: Sequence[Assumption]) -> tuple[str, ...]:
    """List reservations about right operands: reserved bits of their words, assumptions."""
    right = [operand for operand in operands if operand.verdict == "match"]
    bits: dict[str, list[str]] = {}
    for operand in right:
        seen = operand.seen or view(catalog.find(operand.instruction), operand.name, operand.major)
        for step in operand.steps:
            for caution in notices.list_cautions(Descriptor(step.word, seen.form), seen):
                names = bits.setdefault(caution, [])
                names += [operand.name.upper()] if operand.name.upper() not in names else []
    reserved = [
        caution.replace(" set", f" set in {_format_descriptors(names)}", 1)
        if caution.startswith("Reserved")
        else caution
        for caution, names in bits.items()
    ]
    own_names = {operand.name for operand in right}
    relevant = [
        assumption
        for assumption in assumed
        if right and (not (about := _list_assumed_operands(assumption)) or own_names & about)
    ]
    return (*reserved, *list_grounds(relevant))


def _format_descriptors(names: Sequence[str]) -> str:
    return f"{names[0]}’s descriptor" if len(names) == 1 else f"the descriptors of {join_words(names)}"


def _list_assumed_operands(assumption: Assumption) -> set[str]:
    """Return the operands that an assumption concerns; empty if it concerns all."""
    name = assumption.key.partition(".")[2]
    return {name} if name in ("a", "b") else set(assumption.operands)


def describe_first_bytes(operands: Sequence[VerifiedOperand], assumed: Sequence[Assumption]) -> str:
    """Return the headline's remark that tiles are assumed to start at the word's address, which therefore is not
    verified.
    """
    right = {operand.name for operand in operands if operand.verdict == "match"}
    bases = [
        assumption
        for assumption in assumed
        if assumption.key.startswith("base.") and assumption.summary and assumption.key[5:] in right
    ]
    if not bases:
        return ""
    names, values = [base.key[5:].upper() for base in bases], [base.value for base in bases]
    if len(bases) == 1:
        return f"if the word is right that {names[0]}’s tile begins at {values[0]}"
    return f"if the words are right that the tiles of {join_words(names)} begin at {join_words(values)}"


def list_grounds(assumed: Sequence[Assumption]) -> list[str]:
    """Return the assumptions behind a verdict, a sentence each; names assumed to be equal share one sentence."""
    names: dict[str, list[str]] = {}
    for assumption in assumed:
        name = assumption.key.removeprefix("size.") if assumption.key.startswith("size.") else ""
        if assumption.summary:
            summary = (
                assumption.summary.replace(f"{name} is", "they are").replace(name, "{}") if name else assumption.summary
            )
            names.setdefault(summary, []).append(name or assumption.summary)
    single = {assumption.key.removeprefix("size."): assumption.summary for assumption in assumed}
    return [
        single.get(same[0], same[0]) if len(same) == 1 else summary.replace("{}", join_words(same), 1)
        for summary, same in names.items()
    ]


def describe_assumed_alignment(assumed: Sequence[Assumption]) -> str:
    """Describe the addresses that are assumed to be aligned; "" if the text guarantees all alignments."""
    names = [assumption.label for assumption in assumed if assumption.placed]
    return f"Taken 1024-byte aligned: {join_words(names)}." if names else ""


def describe_contents(pieces: Sequence[TextPiece], operands: Sequence[VerifiedOperand]) -> str:
    """Describe the contents of the text: One tensor map, one descriptor and one instruction, in a K loop of 8 steps."""
    counts = {kind: sum(piece.kind == kind for piece in pieces) for kind in _KINDS}
    counted = [f"{_spell_count(n)} {_KINDS[kind][n > 1]}" for kind, n in counts.items() if n]
    if not counted:
        return ""
    text = join_words(counted)
    steps = max((operand.k_steps for operand in operands), default=0)
    return f"{text[0].upper()}{text[1:]}{f', in a K loop of {steps} steps' if steps > 1 else ''}."


def _spell_count(n: int) -> str:
    return ("no", "one", "two", "three", "four", "five", "six")[n] if n < 7 else str(n)


def _lower_title(title: str) -> str:
    """Lower a title's first letter for use inside a sentence, unless the word is in capitals."""
    first = title.split(" ")[0]
    return title if len(first) > 1 and first[:3].isupper() else title[0].lower() + title[1:]
