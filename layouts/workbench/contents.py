"""What a text holds: its pieces, and every use of a descriptor."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from lanescope.bits import hex_word
from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction
from lanescope.reader import printed_map
from lanescope.reader.code import builders, tensor_maps
from lanescope.reader.code.builders import Builder
from lanescope.reader.code.evaluate import Evaluation, evaluate
from lanescope.reader.code.finding import Pitfall
from lanescope.workbench import helpers, judge, named, pieces, placed, scan, sizes, uses
from lanescope.workbench.found import Assumed, Piece
from lanescope.workbench.stores import Store
from lanescope.workbench.tensors import named_layouts, shared_tensors
from lanescope.workbench.uses import Use, of_code, of_words

LONGEST_MACRO = 200  # characters of what is given for one
_MACRO = "macro."  # keys of macros that a text does not define
_BLACKWELL = re.compile(r"\btcgen05\.mma\b|\bSM100_MMA_\w+|\bUMMA::", re.I)


def _macros(given: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Macros that are given for those that a text does not define, and their values."""
    found = ((key.removeprefix(_MACRO), value) for key, value in given.items() if key.startswith(_MACRO))
    return tuple(sorted((name, value) for name, value in found if name.isidentifier() and len(value) <= LONGEST_MACRO))


class Contents:
    """One text, its code evaluated with what is given: pieces, storages, assumptions, and what is missing. source: the
    text's code, as excerpt.code_of has it.
    """

    def __init__(self, text: str, source: str, given: dict[str, str], patience: int) -> None:
        self.text = text
        self.source = source
        self.given = given
        self.pieces: list[Piece] = []
        self.stores: list[Store] = []
        self.assumed: dict[str, Assumed] = {}
        self.missing: list[str] = []
        self.mentions = tuple(scan.mentions(text))
        macros = _macros(given)
        self.code: Evaluation | None = evaluate(source, patience, (), macros) if macros else evaluate(source, patience)
        self.helpers = helpers.called(self.code, self.mentions)
        for one in (*helpers.asked(self.helpers, given), *helpers.encoders(self.code), *helpers.foreign(self.code)):
            self.assumed[one.key] = one
        chosen = tuple((h, one.value) for h in self.helpers if not (one := self.assumed[f"builder.{h}"]).missing)
        if chosen:
            self.code = evaluate(source, patience, chosen, macros) if macros else evaluate(source, patience, chosen)
        for name, value in macros:
            self.assumed[_MACRO + name] = Assumed(_MACRO + name, f"Macro {name}", value, "as given")
        for macro in self.code.presumed if self.code else ():
            key = _MACRO + macro.name
            self.assumed[key] = Assumed(key, f"Macro {macro.name}", macro.value, macro.why)
        if self.code and not any(m.instruction.family.by_descriptor for m in self.mentions):
            maps = tensor_maps.named_maps(self.code)
            if (called := named.called(self.code, (one.data_type for one in maps))) is not None:
                self.mentions = (*self.mentions, called[0])
                self.assumed["instruction"] = called[1]
        self.aligned = placed.declared(text)
        self.sizes: list[Assumed] = []
        self.size_values: dict[str, int] = {}
        self.doubtful: dict[int, list[Pitfall]] = {}
        if self.code:
            taken = sizes.taken(self.code, self._reads(), self.given)
            self.sizes = [one for _, one in taken]
            self.size_values = {size: int(one.value) for size, one in taken}
            self.code = sizes.put(self.code, self.size_values)

    def _reads(self) -> Instruction | None:
        """The first instruction of the text that reads a descriptor, or the one that was given."""
        if "instruction" in self.given:
            return catalog.named(self.given["instruction"], "instruction")
        return next((m.instruction for m in self.mentions if m.instruction.family.by_descriptor), None)

    def _read(self) -> list[Use]:
        """The pieces, and every use of a descriptor."""
        made = tensor_maps.named_maps(self.code) if self.code else ()
        for one in (*made, *printed_map.maps(self.text)):
            self.stores.append(Store(len(self.pieces), map=one))
            self.pieces.append(pieces.of_map(one))
        inside = [piece.spans[0] for piece in self.pieces]
        reads = self._reads()
        open_bits = reads.operand("a").element.bits if reads else None
        found = list(builders.of_evaluation(self.code)) if self.code else []
        taken = of_code(self.code, self.mentions) if self.code else []
        spelled = [
            layout
            for layout in (*scan.layouts(self.text), *scan.tiled(self.source, open_bits))
            if not any(a <= layout.span[0] < b for a, b in inside)
        ]
        known = {layout.span[0] for layout in spelled}
        for name, span, laid in named_layouts(self.code, open_bits) if self.code else ():
            layout = None if span[0] in known else scan.of_cute(laid, name, span)
            if layout is not None and len(spelled) < scan.MOST:
                spelled.append(layout)
                known.add(span[0])
        for layout in self._of_tensors(taken, open_bits, spelled):
            self.stores.append(Store(len(self.pieces), layout=layout, name=layout.label))
            self.pieces.append(pieces.of_layout(layout, (layout.span,)))
        self.built: list[tuple[int, Builder]] = []
        alike: dict[tuple[Any, ...], list[Builder]] = {}
        for builder in found:
            alike.setdefault(pieces.alike(builder), []).append(builder)
        for same in alike.values():
            self.built += [(len(self.pieces), builder) for builder in same]
            self.pieces.append(pieces.of_builders(same))
            self.doubtful[len(self.pieces) - 1] = [doubt for builder in same for doubt in builder.doubts]
        for head, calls in self.helpers.items():
            if self.assumed[f"builder.{head}"].missing:
                self.pieces.append(helpers.piece(head, calls))
                self.missing.append(helpers.missing(head))
        covered = [span for _, one in self.built for span in (one.span, *(s for o in one.origins.values() for s in o))]
        printed = [w for w in scan.words(self.text) if not any(a <= w.span[0] < b for a, b in covered)]
        labels: dict[str, list[scan.Word]] = {}
        for word in printed:
            labels.setdefault(scan.plain_label(word.label), []).append(word)
        self.printed_pieces: dict[str, int] = {}
        for label, words in labels.items():
            self.printed_pieces[label] = len(self.pieces)
            self.pieces.append(pieces.of_words(label, words))
        if printed and not taken:
            taken = of_words(printed, self.mentions)
        seen = set()
        for mention in self.mentions:
            key = (mention.instruction.ptx,)
            spans = tuple(m.span for m in self.mentions if m.instruction is mention.instruction)
            if key not in seen:
                seen.add(key)
                self.pieces.append(pieces.of_mention(mention, spans))
        return taken

    def _of_tensors(self, taken: list[Use], bits: int | None, spelled: list[scan.Layout]) -> list[scan.Layout]:
        """Keep the tensors that code makes of shared memory; return the layouts that are none of theirs."""
        starts = [line for use in taken for g in use.given.values() if (line := uses.address(g.value)[0]) is not None]
        for one in shared_tensors(self.code, bits, starts) if self.code else ():
            begins = sizes.put_line(one.begins, self.size_values)
            layout = scan.of_cute(one.layout, one.names[-1], one.span) if one.layout is not None else None
            open_ = one.open or ("" if layout else "has not two modes, or three with the stages")
            alike = [s for s in spelled if s.span == one.span or (layout and s.whole == layout.whole)]
            spelled = [s for s in spelled if s not in alike]
            names = tuple(dict.fromkeys((*one.names[1:], *(s.label for s in alike if s.label))))
            self.stores.append(
                Store(
                    len(self.pieces),
                    None,
                    layout,
                    spec=None,
                    name=one.names[0],
                    others=names,
                    begins=begins,
                    bits=one.bits,
                    open=open_,
                    of=one.of,
                )
            )
            spans = tuple(dict.fromkeys((*(s.span for s in alike), one.span)))
            self.pieces.append(pieces.of_layout(layout, spans, self.text))
        return spelled

    def _nothing(self) -> None:
        """Say what is missing where nothing could be verified."""
        kinds = {piece.kind for piece in self.pieces}
        if _BLACKWELL.search(self.text):
            self.missing.append("tcgen05.mma reads descriptors of another format; Lanescope verifies those of wgmma.")
        if "descriptor" not in kinds:
            self.missing.append("The text has no matrix descriptor: paste its words, or the code that builds it.")
        if not any(m.instruction.family.by_descriptor for m in self.mentions):
            self.missing.append(
                "The text does not say which wgmma reads the descriptor: paste its PTX line or its CUTLASS atom."
            )

    def _piece_of(self, found: list[judge.Turn]) -> int:
        """The piece of the descriptor that a turn has."""
        given = found[0].given
        if found[0].use.site[0] == "word":
            return self.printed_pieces[scan.plain_label(given.name)]
        if given.value.known is not None:  # a number that the code spells out
            number = hex_word(given.value.known % (1 << 64))
            own = (n for n, piece in enumerate(self.pieces) if number in piece.facts.get("words", ()))
            if (spelled := next(own, None)) is not None:
                return spelled
            if not any(one.known >> 16 == given.value.known >> 16 for _, one in self.built):
                self.pieces.append(Piece("descriptor", number, (given.span,), {"words": [number], "name": given.name}))
                return len(self.pieces) - 1
        if not self.built:  # no code here builds a descriptor: what is given for one, as it is spelled
            spelled = next((n for n, piece in enumerate(self.pieces) if piece.spans == (given.span,)), None)
            if spelled is None:
                title = " ".join(self.text[slice(*given.span)].split())
                self.pieces.append(Piece("descriptor", title, (given.span,), {"name": given.name}))
            return len(self.pieces) - 1 if spelled is None else spelled
        upper = given.value.const >> 16
        names = set(uses.names(given.value))
        line, _ = uses.address(given.value)
        start = "" if line is None else str(line) if line.terms else str(line.const)

        def unlike(judged: tuple[int, Builder]) -> tuple[bool, bool, bool, bool]:
            one = judged[1]
            begins = {str(step.start) for step in one.steps} or {str(one.start)}
            return (
                one.known >> 16 != upper,
                start not in begins,
                names.isdisjoint(pieces.base(one)),
                one.name != given.name,
            )

        return min(self.built, key=unlike)[0]

    def _assume(self, one: Assumed, operand: str = "") -> None:
        """Keep what was taken; operand: the only one, so far, that it can change."""
        old = self.assumed.get(one.key)
        if old is None:
            self.assumed[one.key] = replace(one, operands=(operand,)) if operand else one
        elif old.operands and operand not in old.operands:
            self.assumed[one.key] = replace(old, operands=(*old.operands, operand) if operand else ())
