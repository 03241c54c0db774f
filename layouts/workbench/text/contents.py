"""The contents of a text: pieces (maps, layouts, descriptors, instructions) and every use of a descriptor.

`workbench_builder.py` builds on TextContents, which evaluates the code once and records assumptions and missing
information.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from itertools import chain
from typing import Any

from lanescope.bits import format_word
from lanescope.cxx.source_text import WORD_START
from lanescope.names import lookup
from lanescope.ptx.instruction import Instruction
from lanescope.reader.code.descriptors import builders
from lanescope.reader.code.descriptors.builders import DescriptorBuilder
from lanescope.reader.code.evaluation import Evaluation, evaluate_text
from lanescope.reader.code.findings import Pitfall
from lanescope.reader.code.maps import tensor_maps
from lanescope.reader.code.running.work_words import may_have_work
from lanescope.reader.compiler_output import printed_maps
from lanescope.workbench.copies.loaded_maps import find_loaded_maps
from lanescope.workbench.descriptors.descriptor_arguments import DescriptorArgument
from lanescope.workbench.descriptors.descriptor_use import DescriptorUse
from lanescope.workbench.descriptors.uses import find_code_uses
from lanescope.workbench.descriptors.words import find_word_uses
from lanescope.workbench.kernels.kernel_runs import KernelText
from lanescope.workbench.reads import alignment, verification
from lanescope.workbench.reads.stores import TileStore
from lanescope.workbench.results import Assumption, Span, TextPiece
from lanescope.workbench.tensor_memory.tcgen05 import TARGET_KEY, TCGEN05_KEY
from lanescope.workbench.text import helpers, named_wgmma, pieces, scan, sizes
from lanescope.workbench.text.addresses import list_start_names
from lanescope.workbench.text.tensors import find_named_layouts, find_shared_tensors

Pairs = tuple[tuple[str, str], ...]
LONGEST_MACRO = 200  # characters of a macro's value
HEADERS_KEY = "headers"  # parts of a text that are not its own: "120-4000 5100-6000"
WORK_KEY = "work"  # whether only code with relevant words is evaluated
_GIVEN = re.compile(r"[A-Za-z_]\w*(?:(?:::|\.)[A-Za-z_]\w*)*")  # BK, Config::BK, p.pitch
_MACRO = "macro."  # keys of macros that a text does not define
_BLACKWELL = re.compile(rf"{WORD_START}tcgen05\.mma\b|\bSM100_MMA_\w+|\bUMMA::", re.I)


def _parse_macros(choices: Mapping[str, str]) -> Pairs:
    """Parse the values given for macros that a text does not define."""
    macros = ((key.removeprefix(_MACRO), value) for key, value in choices.items() if key.startswith(_MACRO))
    return tuple(
        sorted((name, value) for name, value in macros if _GIVEN.fullmatch(name) and len(value) <= LONGEST_MACRO)
    )


def list_given_values(choices: Mapping[str, str]) -> dict[str, str]:
    """List the values given for names."""
    return dict(_parse_macros(choices))


def list_given_macros(choices: Mapping[str, str]) -> dict[str, str]:
    """List the values given for macros; members and qualified names, which no directive tests, are left out."""
    return {name: value for name, value in list_given_values(choices).items() if name.isidentifier()}


def evaluate_with_choices(source: str, patience: int, choices: Mapping[str, str]) -> Evaluation | None:
    """Evaluate a text's code with values for macros and open names; None if a checked text has no relevant word."""
    if WORK_KEY in choices and not may_have_work(source):
        return None
    return _evaluate(source, patience, (), _parse_macros(choices), parse_headers(choices))


def format_headers(spans: Iterable[Span]) -> str:
    """Format parts of a text as the choice HEADERS_KEY has them."""
    return " ".join(f"{first}-{past}" for first, past in spans)


def parse_headers(choices: Mapping[str, str]) -> tuple[Span, ...]:
    """Parse the spans of a text that come from included files."""
    parts = re.findall(r"(\d{1,9})-(\d{1,9})", choices.get(HEADERS_KEY, ""))
    return tuple((int(first), int(past)) for first, past in parts)


def _evaluate(
    source: str, patience: int, standard: Pairs, macros: Pairs, headers: tuple[Span, ...]
) -> Evaluation | None:
    """Evaluate a text.

    Trailing empty arguments are left out: `evaluate_text` caches by its arguments, and the reader and `check` call it
    with the text and the patience alone.
    """
    more: list[Any] = [standard, macros, headers]
    while more and not more[-1]:
        more.pop()
    return evaluate_text(source, patience, *more)


ContentsState = tuple[dict[str, Assumption], list[str], set[int], dict[str, int], list[TextPiece]]


class TextContents:
    """One text whose code was evaluated with the choices: pieces, storages, assumptions, missing information.

    source: the text's code as excerpt.extract_code returns it; `find_uses` fills the pieces.
    """

    def __init__(self, text: str, source: str, choices: dict[str, str], patience: int) -> None:
        self.text = text
        self.source = source
        self.choices = choices
        self.pieces: list[TextPiece] = []
        self.stores: list[TileStore] = []
        self.assumed: dict[str, Assumption] = {}
        self.missing: list[str] = []
        self.used: set[int] = set()  # stores of the tiles so far
        self.symbols: dict[str, int] = {}  # assumed values of names in the code
        self.built: list[tuple[int, DescriptorBuilder]] = []  # builder → its piece
        self.starts: dict[int, tuple[set[str], frozenset[str]]] = {}  # id of a builder → its starts, their terms
        self.printed_pieces: dict[str, int] = {}  # label of printed words → their piece
        self.doubtful: dict[int, list[Pitfall]] = {}
        self.aligned = alignment.find_declared_alignments(text)
        self.mentions = scan.find_mentions(text)
        self.code = self._evaluate_code(patience)
        self._assume_instruction()
        self.sizes: list[Assumption] = []
        self.size_values: dict[str, int] = {}
        if self.code:
            assumed_sizes = sizes.assume_sizes(self.code, self._find_reader(), self.choices)
            self.sizes = [assumption for _, assumption in assumed_sizes]
            self.size_values = {size: int(assumption.value) for size, assumption in assumed_sizes}
            self.code = sizes.substitute_sizes(self.code, self.size_values)

    @cached_property
    def kernel_text(self) -> KernelText | None:
        """The text as the kernel checks need it, None without code."""
        return KernelText(self.code) if self.code else None

    def _evaluate_code(self, patience: int) -> Evaluation | None:
        """Evaluate the code, with the given or assumed definitions of undefined functions and macros."""
        macros = _parse_macros(self.choices)
        headers = parse_headers(self.choices)
        code = evaluate_with_choices(self.source, patience, self.choices)
        self.helpers = helpers.find_missing_calls(code, self.mentions)
        assumptions = helpers.assume_helpers(self.helpers, self.choices)
        for assumption in (*assumptions, *helpers.assume_encoders(code), *helpers.assume_foreign_types(code)):
            self.assumed[assumption.key] = assumption
        chosen = tuple(
            (head, assumption.value)
            for head in self.helpers
            if not (assumption := self._get_builder_assumption(head)).missing
        )
        if chosen:
            code = _evaluate(self.source, patience, chosen, macros, headers)
        for name, value in macros:
            self.assumed[_MACRO + name] = Assumption(_MACRO + name, f"Macro {name}", value, "as given")
        for macro in code.presumed if code else ():
            key = _MACRO + macro.name
            self.assumed[key] = Assumption(key, f"Macro {macro.name}", macro.value, macro.why)
        return code

    def _get_builder_assumption(self, head: str) -> Assumption:
        """Return the assumption about a function that builds descriptors and has no body."""
        return self.assumed[f"builder.{head}"]

    def _assume_instruction(self) -> None:
        """Assume the instruction that a call's name implies if the text has none."""
        if self.code and not any(m.instruction.family.by_descriptor for m in self.mentions):
            maps = tensor_maps.find_named_maps(self.code)
            if (
                called := named_wgmma.find_named_wgmma(self.code, (tensor_map.data_type for tensor_map in maps))
            ) is not None:
                self.mentions = (*self.mentions, called[0])
                self.assumed["instruction"] = called[1]

    def _find_reader(self) -> Instruction | None:
        """Find the first instruction of the text that reads a descriptor, or the requested one."""
        if "instruction" in self.choices:
            return lookup.parse_instruction(self.choices["instruction"], "instruction")
        return next((m.instruction for m in self.mentions if m.instruction.family.by_descriptor), None)

    @property
    def target(self) -> str:
        """What the text is compiled for; "" for any."""
        return self.choices.get(TARGET_KEY, "")

    def _find_code_uses(self) -> list[DescriptorUse]:
        if self.code is None:
            return []
        return find_code_uses(self.code, self.mentions, TCGEN05_KEY in self.choices, self.target)

    # pieces -----------------------------------------------------------------------------------------------------------

    def find_uses(self) -> list[DescriptorUse]:
        """Fill the pieces and the stores; return every use of a descriptor."""
        self._add_maps()
        reads = self._find_reader()
        open_bits = reads.operand("a").element.bits if reads else None
        uses = self._find_code_uses()
        self._add_layouts(uses, open_bits)
        self._add_builders()
        self._add_unknown_builders()
        printed = self._add_words()
        self._add_instructions()
        return find_word_uses(printed, self.mentions) if printed and not uses else uses

    def _add_maps(self) -> None:
        encoded = tensor_maps.find_named_maps(self.code) if self.code else ()
        known = (*encoded, *printed_maps.find_printed_maps(self.text))
        loaded = find_loaded_maps(self.code, list_given_values(self.choices)) if self.code and not known else ()
        for tensor_map in (*known, *loaded):
            self.stores.append(TileStore(len(self.pieces), map=tensor_map))
            self.pieces.append(pieces.make_map_piece(tensor_map))

    def _add_layouts(self, uses: list[DescriptorUse], open_bits: int | None) -> None:
        """Add the tensors of shared memory, then the other layouts. open_bits: bits of an element of open type."""
        # a layout in a comment of a header is an example, not a tile of this text
        inside = [*(piece.spans[0] for piece in self.pieces), *parse_headers(self.choices)]
        spelled = [
            layout
            for layout in (*scan.find_layouts(self.text), *scan.find_tiled_layouts(self.source, open_bits))
            if not _begins_within(layout.span, inside)
        ]
        known = {layout.span[0] for layout in spelled}
        for name, span, laid in find_named_layouts(self.code, open_bits) if self.code else ():
            layout = None if span[0] in known else scan.make_printed_layout(laid, name, span)
            if layout is not None and len(spelled) < scan.MOST:
                spelled.append(layout)
                known.add(span[0])
        for layout in self._add_tensors(uses, open_bits, spelled):
            self.stores.append(TileStore(len(self.pieces), layout=layout, name=layout.label))
            self.pieces.append(pieces.make_layout_piece(layout, (layout.span,)))

    def _add_tensors(
        self, uses: list[DescriptorUse], bits: int | None, spelled: list[scan.PrintedLayout]
    ) -> list[scan.PrintedLayout]:
        """Add the tensors that code makes in shared memory; return the other layouts."""
        starts = [line for use in uses for g in use.arguments.values() if (line := g.address) is not None]
        for tensor in find_shared_tensors(self.code, bits, starts) if self.code else ():
            layout = (
                scan.make_printed_layout(tensor.layout, tensor.names[-1], tensor.span)
                if tensor.layout is not None
                else None
            )
            alike = [s for s in spelled if s.span == tensor.span or (layout and s.notation == layout.notation)]
            spelled = [s for s in spelled if s not in alike]
            names = tuple(dict.fromkeys((*tensor.names[1:], *(s.label for s in alike if s.label))))
            store = TileStore(
                len(self.pieces),
                layout=layout,
                name=tensor.names[0],
                others=names,
                begins=sizes.substitute_in_line(tensor.begins, self.size_values),
                bits=tensor.bits,
                open=tensor.open or ("" if layout else "has not two modes, or three with the stages"),
                function=tensor.function,
            )
            self.stores.append(store)
            spans = tuple(dict.fromkeys((*(s.span for s in alike), tensor.span)))
            self.pieces.append(pieces.make_layout_piece(layout, spans, self.text))
        return spelled

    def _add_builders(self) -> None:
        """Add the code that builds descriptors, one piece for all that differ only in their place in one tile."""
        alike: dict[tuple[Any, ...], list[DescriptorBuilder]] = {}
        for builder in builders.find_evaluation_builders(self.code, self.target) if self.code else ():
            alike.setdefault(pieces.make_tile_key(builder), []).append(builder)
        for same in alike.values():
            self.built += [(len(self.pieces), builder) for builder in same]
            self.doubtful[len(self.pieces)] = [doubt for builder in same for doubt in builder.doubts]
            self.pieces.append(pieces.make_builder_piece(same))

    def _add_unknown_builders(self) -> None:
        """Add the calls of functions that build descriptors and have no code here, and were not chosen."""
        for head, calls in self.helpers.items():
            if self._get_builder_assumption(head).missing:
                self.pieces.append(helpers.make_helper_piece(head, calls))
                self.missing.append(helpers.describe_missing_code(head))

    def _add_words(self) -> list[scan.PrintedWord]:
        """Add the printed words that are not in the code of a builder; return them."""
        covered = [
            span
            for _, builder in self.built
            for span in (builder.span, *(s for o in builder.origins.values() for s in o))
        ]
        printed = [word for word in scan.find_words(self.text) if not _begins_within(word.span, covered)]
        labels: dict[str, list[scan.PrintedWord]] = {}
        for word in printed:
            labels.setdefault(scan.strip_label_number(word.label), []).append(word)
        for label, words in labels.items():
            self.printed_pieces[label] = len(self.pieces)
            self.pieces.append(pieces.make_word_piece(label, words))
        return printed

    def _add_instructions(self) -> None:
        first: dict[str, scan.InstructionMention] = {}
        for mention in self.mentions:
            first.setdefault(mention.instruction.ptx, mention)
        for mention in first.values():
            spans = tuple(m.span for m in self.mentions if m.instruction is mention.instruction)
            self.pieces.append(pieces.make_instruction_piece(mention, spans))

    def name_missing(self) -> None:
        """Record the missing information if nothing could be verified."""
        kinds = {piece.kind for piece in self.pieces}
        if _BLACKWELL.search(self.text):
            self.missing.append("tcgen05.mma reads descriptors of another format; Lanescope verifies those of wgmma.")
        if "descriptor" not in kinds:
            self.missing.append("The text has no matrix descriptor: paste its words, or the code that builds it.")
        if not any(m.instruction.family.by_descriptor for m in self.mentions):
            self.missing.append(
                "The text does not say which wgmma reads the descriptor: paste its PTX line or its CUTLASS atom."
            )

    def save_state(self) -> ContentsState:
        """Return what verifying a group of uses changes, for `restore_state`."""
        return dict(self.assumed), list(self.missing), set(self.used), dict(self.symbols), list(self.pieces)

    def restore_state(self, state: ContentsState) -> None:
        """Undo what was recorded since `save_state`."""
        assumed, missing, used, symbols, pieces = state
        self.assumed, self.missing, self.used = dict(assumed), list(missing), set(used)
        self.symbols, self.pieces = dict(symbols), list(pieces)

    def find_piece(self, turns: list[verification.OperandTurn]) -> int:
        """Return the piece of the descriptor that an iteration uses."""
        argument = turns[0].argument
        if turns[0].use.site[0] == "word":
            return self.printed_pieces[scan.strip_label_number(argument.name)]
        if (
            argument.value.known is not None
            and (piece := self._find_piece_of_number(argument, argument.value.known)) is not None
        ):
            return piece
        if self.built:
            return self._find_likeliest_builder(argument)
        # no code builds a descriptor: the descriptor arguments as spelled
        spelled = next((n for n, piece in enumerate(self.pieces) if piece.spans == (argument.span,)), None)
        if spelled is not None:
            return spelled
        title = " ".join(self.text[slice(*argument.span)].split())
        self.pieces.append(TextPiece("descriptor", title, (argument.span,), {"name": argument.name}))
        return len(self.pieces) - 1

    def _find_piece_of_number(self, argument: DescriptorArgument, value: int) -> int | None:
        """Return the piece of a number spelled out in the code; None if a builder may have made it."""
        number = format_word(value % (1 << 64))
        spelled = next((n for n, piece in enumerate(self.pieces) if number in piece.facts.get("words", ())), None)
        if spelled is not None or any(builder.known >> 16 == value >> 16 for _, builder in self.built):
            return spelled
        self.pieces.append(
            TextPiece("descriptor", number, (argument.span,), {"words": [number], "name": argument.name})
        )
        return len(self.pieces) - 1

    def _find_likeliest_builder(self, argument: DescriptorArgument) -> int:
        """Return the piece of the builder most like a descriptor, by its fields, start, buffer and name."""
        upper = argument.value.const >> 16
        names = set(list_start_names(argument.value))
        line = argument.address
        start = "" if line is None else str(line) if line.terms else str(line.const)

        # where its bits come from, which tells descriptors apart if the start is open
        marks = argument.value.marks if not start else ()
        origins = {span for mark in marks for span in (mark.span, *mark.origin)}

        def rank_difference(judged: tuple[int, DescriptorBuilder]) -> tuple[bool, bool, bool, int]:
            begins, terms = self._list_starts(judged[1])
            shared = origins.intersection(chain.from_iterable(judged[1].origins.values()))
            return start not in begins, names.isdisjoint(terms), judged[1].name != argument.name, -len(shared)

        alike = [judged for judged in self.built if judged[1].known >> 16 == upper]
        return min(alike or self.built, key=rank_difference)[0]

    def _list_starts(self, builder: DescriptorBuilder) -> tuple[set[str], frozenset[str]]:
        """Return the starts of a builder, and the terms of its first."""
        known = self.starts.get(id(builder))
        if known is None:
            begins = {str(step.start) for step in builder.steps} or {str(builder.start)}
            known = self.starts[id(builder)] = begins, frozenset(pieces.get_start_terms(builder))
        return known

    def assume(self, assumption: Assumption, operand: str = "") -> None:
        """Record an assumption. operand: the only one, so far, whose verdict it can change."""
        old = self.assumed.get(assumption.key)
        if old is None:
            self.assumed[assumption.key] = replace(assumption, operands=(operand,)) if operand else assumption
        elif old.operands and operand not in old.operands:
            self.assumed[assumption.key] = replace(old, operands=(*old.operands, operand) if operand else ())


def _begins_within(span: tuple[int, int], others: Iterable[tuple[int, int]]) -> bool:
    """Return whether a span begins inside one of the others."""
    return any(first <= span[0] < past for first, past in others)
