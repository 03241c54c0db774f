"""The workbench's sentences: what a text holds, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Sequence

from lanescope.descriptor import causes
from lanescope.descriptor import matrix as descriptor
from lanescope.descriptor.matrix import Descriptor, view
from lanescope.ptx import catalog
from lanescope.reading import listed
from lanescope.workbench.found import Assumed, Operand, Piece

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


def steps_text(one: Operand) -> str:
    """Which steps of an operand are wrong: `K step 2 of A`, `K steps 4 to 7 of A`, `every K step of A in stage 1`."""
    wrong = one.wrong
    ks = sorted({step.k // step.depth for step in wrong})
    alone = f" of {one.name.upper()}"
    if len(wrong) == len(one.steps):
        return f"every K step{alone}" if one.k_steps > 1 else f"the descriptor{alone}"
    where = ""
    stages, tiles = sorted({s.stage for s in wrong}), sorted({(s.mn, s.rows) for s in wrong})
    if len(stages) < one.stages:
        where = f" in stage{'s' if len(stages) > 1 else ''} {listed([str(n) for n in stages])}"
    if len(tiles) < len({s.mn for s in one.steps}):
        mn, rows = tiles[0]
        where += f" for {'rows' if one.name == 'a' else 'columns'} {mn} to {mn + rows - 1}"
    if where and len(ks) == len({s.k for s in one.steps}):
        return f"every K step{alone}{where}"
    if len(ks) == 1:
        return f"K step {ks[0]}{alone}{where}"
    in_a_row = ks[-1] - ks[0] + 1 == len(ks) > 2
    return f"K steps {f'{ks[0]} to {ks[-1]}' if in_a_row else listed([str(k) for k in ks])}{alone}{where}"


def headline(operands: Sequence[Operand], pieces: Sequence[Piece], missing: Sequence[str]) -> tuple[str, str]:
    """(one sentence, why)."""
    wrong = [(one, first) for one in operands if (first := one.first_wrong)]
    broken = [notice for piece in pieces for notice in piece.notices if piece.kind == "tensor_map"]
    if broken:
        maps = [piece for piece in pieces if piece.kind == "tensor_map"]
        own = listed(list(dict.fromkeys(name.upper() for piece in maps if piece.notices for name in piece.operands)))
        which = f"The tensor map{f' of {own}' if own and len(maps) > 1 else ''}"
        return f"{which} breaks a rule of TMA", broken[0]
    if wrong:
        one, first = wrong[0]
        code = first.causes[0].code if first.causes else ""
        alike = [other for other, step in wrong if step.causes and step.causes[0].code == code]
        which = steps_text(one)
        same = [
            other.name.upper()
            for other in alike
            if steps_text(other).replace(f"of {other.name.upper()}", "") == which.replace(f"of {one.name.upper()}", "")
        ]
        if len(set(same)) > 1:
            which = which.replace(f" of {one.name.upper()}", f" of {listed(list(dict.fromkeys(same)))}", 1)
            which = which.replace("the descriptor of", "the descriptors of")
        if any(o.instruction != one.instruction and not o.wrong for o in operands):
            which += f" of {catalog.find(one.instruction).shape}"
        where = _PAST.get((code, one.major))
        if where and "edge of a row" in first.causes[0].message:
            where = "past the end of a row"
        verb = "read" if which.startswith(("K steps", "the descriptors")) else "reads"
        title = "" if where or not code else f": {_lower(causes.title(code))}"
        said = f"{which[0].upper()}{which[1:]} {verb} {where or 'the wrong bytes'}{title}"
        return said, first.causes[0].message if first.causes else ""
    right = [one for one in operands if one.verdict == "match"]
    unsaid = [one for one in operands if one.verdict == "unknown"]
    if right:
        names = listed(list(dict.fromkeys(one.name.upper() for one in right)))
        several = max(one.k_steps for one in right) > 1
        said = f"{'Every K step' if several else 'The descriptor'} of {names} reads what is stored"
        if not several and "and" in names:
            said = f"The descriptors of {names} read what is stored"
        rest = next((m for one in unsaid for m in one.missing), "")
        return said, f"No verdict for {unsaid[0].name.upper()}. {rest}" if unsaid and rest else ""
    return "No verdict yet", missing[0] if missing else ""


def cautions(operands: Sequence[Operand], assumed: Sequence[Assumed]) -> tuple[str, ...]:
    """What speaks against calling the operands right that are: reserved bits of their words, what was assumed."""
    right = [one for one in operands if one.verdict == "match"]
    bits: dict[str, list[str]] = {}
    for one in right:
        seen = view(catalog.find(one.instruction), one.name, one.major)
        for step in one.steps:
            for said in descriptor.cautions(Descriptor(step.word), seen):
                names = bits.setdefault(said, [])
                names += [one.name.upper()] if one.name.upper() not in names else []
    reserved = [
        said.replace(" set", f" set in {_descriptors(names)}", 1) if said.startswith("Reserved") else said
        for said, names in bits.items()
    ]
    own_names = {one.name for one in right}
    own = [one for one in assumed if right and (not _about(one) or own_names & _about(one))]
    return (*reserved, *resting(own))


def _descriptors(names: Sequence[str]) -> str:
    return f"{names[0]}’s descriptor" if len(names) == 1 else f"the descriptors of {listed(names)}"


def _about(one: Assumed) -> set[str]:
    """The operands that an assumption is about; none for all."""
    name = one.key.partition(".")[2]
    return {name} if name in ("a", "b") else set(one.operands)


def first_bytes(operands: Sequence[Operand], assumed: Sequence[Assumed]) -> str:
    """What a headline says of tiles whose first byte is the word's own: it cannot confirm the word."""
    right = {one.name for one in operands if one.verdict == "match"}
    own = [one for one in assumed if one.key.startswith("base.") and one.said and one.key[5:] in right]
    if not own:
        return ""
    names, values = [one.key[5:].upper() for one in own], [one.value for one in own]
    if len(own) == 1:
        return f"if the word is right that {names[0]}’s tile begins at {values[0]}"
    return f"if the words are right that the tiles of {listed(names)} begin at {listed(values)}"


def resting(assumed: Sequence[Assumed]) -> list[str]:
    """What a verdict rests on, a sentence each; of names that are taken for the same one sentence."""
    names: dict[str, list[str]] = {}
    for one in assumed:
        name = one.key.removeprefix("size.") if one.key.startswith("size.") else ""
        if one.said:
            alike = one.said.replace(f"{name} is", "they are").replace(name, "{}") if name else one.said
            names.setdefault(alike, []).append(name or one.said)
    single = {one.key.removeprefix("size."): one.said for one in assumed}
    return [
        single.get(own[0], own[0]) if len(own) == 1 else alike.replace("{}", listed(own), 1)
        for alike, own in names.items()
    ]


def addresses(assumed: Sequence[Assumed]) -> str:
    """The addresses that are taken to be aligned, in a sentence; "" where the text promises it of all."""
    names = [one.label for one in assumed if one.placed]
    return f"Taken 1024-byte aligned: {listed(names)}." if names else ""


def holds(pieces: Sequence[Piece], operands: Sequence[Operand]) -> str:
    """What the text holds: One tensor map, one descriptor and one instruction, in a K loop of 8 steps."""
    counts = {kind: sum(piece.kind == kind for piece in pieces) for kind in _KINDS}
    told = [f"{_count(n)} {_KINDS[kind][n > 1]}" for kind, n in counts.items() if n]
    if not told:
        return ""
    text = listed(told)
    steps = max((one.k_steps for one in operands), default=0)
    return f"{text[0].upper()}{text[1:]}{f', in a K loop of {steps} steps' if steps > 1 else ''}."


def _count(n: int) -> str:
    return ("no", "one", "two", "three", "four", "five", "six")[n] if n < 7 else str(n)


def _lower(title: str) -> str:
    """A title inside a sentence: names in capitals stay."""
    first = title.split(" ")[0]
    return title if len(first) > 1 and first[:3].isupper() else title[0].lower() + title[1:]
