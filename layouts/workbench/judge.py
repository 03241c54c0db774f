"""One operand's steps, each verified element for element against where the tile lies."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lanescope.deadline import check_deadline
from lanescope.descriptor.case import Diagnosis
from lanescope.descriptor.fits import fits
from lanescope.descriptor.matrix import Descriptor, View, reads
from lanescope.descriptor.repair import expected_reads
from lanescope.descriptor.verify import inside, verify
from lanescope.errors import LayoutError
from lanescope.reader.code.finding import Pitfall
from lanescope.reader.code.word import Linear
from lanescope.shared import tma
from lanescope.shared.storage import Storage, storage
from lanescope.shared.swizzle import WIDEST_PATTERN
from lanescope.workbench import placed, stages
from lanescope.workbench.found import K_OF_INSTRUCTION, Assumed, Operand, Span, Step
from lanescope.workbench.order import Place, staged
from lanescope.workbench.stores import Tile
from lanescope.workbench.uses import Given, Use, address, evaluated, values_of

MOST_STEPS = 64  # of one operand
MOST_CAUSES = 8  # chains of calls of one operand whose causes are looked for
# what programs call the elements of K that one instruction takes: WGMMA_K, WGMMA::K, kWgmmaK, INST_K
_INSTRUCTION_K = re.compile(r"(?:mma|inst(?:r|ruction)?)(?:<[^<>]*>)?(?:_|::)?k(?:_?dim)?$", re.I)
_BRANCH = re.compile(r"\(.* \? (\d+) : (\d+)\)")
_OF_CODE = ("shifts_of_32_bits", "sign_extended", "high_word_missing", "generic_pointer")


@dataclass(frozen=True, slots=True)
class Turn:
    """A use of one operand: its descriptor, and which slice it is about."""

    use: Use
    given: Given
    place: Place
    tile: int  # of M or N


def turns(uses: Sequence[Use], where: Sequence[Place], operand: str) -> list[Turn]:
    """The different turns of one operand, in order: one that another operand's tiles repeat is told once, and so is one
    that another call repeats with the same descriptor.
    """
    out: dict[tuple[Any, ...], Turn] = {}
    sites: dict[tuple[int, int, int], Turn] = {}
    for use, place in zip(uses, where, strict=True):
        given = use.given.get(operand)
        if given is None:
            continue
        tile = place.m if operand == "a" else place.n
        turn, at = Turn(use, given, place, tile), (place.stage, tile, place.k)
        first = sites.setdefault(at, turn)
        again = first.use.site != use.site and first.given.value != given.value
        out.setdefault((*at, given.value) if again else at, turn)
    return list(out.values())


def extents(found: Sequence[Turn], seen: View) -> tuple[int, int]:
    """Rows and elements of K that the turns reach."""
    return (1 + max(t.tile for t in found)) * seen.rows, (1 + max(t.place.k for t in found)) * seen.k


def bases(found: Sequence[Turn], symbols: Mapping[str, int], apart: bool) -> dict[tuple[int, int], int]:
    """(stage, tile) → first byte of its tile: where its first step begins. apart: every tile of M or N is one of its
    own; else those of a stage lie in one.
    """
    out: dict[tuple[int, int], int] = {}
    for turn in found:
        key = (turn.place.stage, turn.tile if apart else 0)
        line, _ = address(turn.given.value)
        at = evaluated(line, symbols) if line is not None else None
        if key not in out and at is not None:
            out[key] = at
    return out


def steps(
    found: Sequence[Turn],
    seen: View,
    tile: Tile | None,
    *,
    symbols: Mapping[str, int],
    base: int | None,
    first_k: int,
    pitfalls: Sequence[Pitfall],
    by_tma: bool = False,
    endless: Collection[str] = (),
    why: bool = True,
) -> list[Step]:
    """Every turn as a step; without a tile none has a verdict. base: the tile's first byte, where one was given;
    by_tma: a tensor map stores it, so it begins where TMA may write; endless: variables of loops with an open end; why:
    whether the causes of a mismatch are looked for. LayoutError for one whose slice does not lie in the tile.
    """
    apart = tile is not None and tile.mn is not None and tile.mn < extents(found, seen)[0]
    several = len({_major(turn) for turn in found} - {""}) > 1  # an immediate of its own for each instruction
    begins = bases(found, symbols, apart)
    out: list[Step] = []
    ran: list[tuple[Turn, Storage | None]] = []
    for turn in found[:MOST_STEPS]:
        check_deadline()
        word = values_of(turn.given.value, symbols)
        if word is None:
            continue
        mn = 0 if apart else turn.tile * seen.rows
        k = first_k + turn.place.k * seen.k
        own = begins.get((turn.place.stage, turn.tile if apart else 0), 0)
        stored = None
        if tile is not None:
            own = own if base is None else base + own - begins.get((found[0].place.stage, 0), own)
            if tile.stage_bytes and staged(turn.use):  # a layout with stages says where each begins
                first = found[0].place.stage
                own = begins.get((first, turn.tile if apart else 0), own)
                own += (turn.place.stage - first) * tile.stage_bytes
            stored = tile.at(max(own, 0), seen)
        own_view = replace(seen, major=_major(turn) or seen.major) if several else seen
        step = replace(_step(turn, Descriptor(word), own_view, stored, mn, k), base=stored.base if stored else None)
        if own_view.major != seen.major:  # what is wrong is the call that gives the immediate
            step = replace(step, span=turn.use.site[-1], around=())
        if by_tma and stored is not None and stored.base % tma.ALIGNED:
            step = replace(step, verdict="mismatch", causes=(_nowhere(turn, stored.base),))
        out.append(step)
        ran.append((turn, stored))
    if tile is not None and ran:
        operand = next(name for name, own in ran[0][0].use.given.items() if own is ran[0][0].given)
        out = stages.apart(operand, out, [turn.use for turn, _ in ran], seen, endless)
    told: set[tuple[Span, ...]] = set()
    words: dict[tuple[int, int, int], tuple[Turn, Step]] = {}  # the first turn with each word of a tile
    for n, (turn, stored) in enumerate(ran):
        check_deadline()
        before, earlier = words.setdefault((out[n].stage, out[n].mn, out[n].word), (turn, out[n]))
        step, chain = out[n], (turn.given.span, *turn.given.around)
        if step.verdict == "mismatch" and stored is not None and chain not in told and len(told) < MOST_CAUSES:
            told.add(chain)
            if step.causes:
                continue
            own_view = replace(seen, major=_major(turn) or seen.major) if several else seen
            if not why:
                inside(own_view, stored, step.mn, step.k)  # what looking for causes would refuse
                continue
            read = Descriptor(step.word)
            of_step = causes(
                read, own_view, stored, mn=step.mn, k=step.k, computed=turn.use.computed, pitfalls=pitfalls
            )
            again = turn.use.again or (before.use.site != turn.use.site and 0 < earlier.k != step.k)
            if again and of_step:
                of_step = (_again(step, earlier, of_step[0]), *of_step)
            out[n] = replace(step, causes=of_step)
    return out


def _major(turn: Turn) -> str:
    """What the transpose immediate of a turn's instruction says; "" where the text does not."""
    return next((turn.use.majors.get(name, "") for name, own in turn.use.given.items() if own is turn.given), "")


def _again(step: Step, earlier: Step, other: Diagnosis) -> Diagnosis:
    """A word that is one before it once more."""
    before = earlier.k // step.depth
    moved = "the start did not move for this step"
    why = moved if earlier.k + step.depth == step.k else "this step needs a start of its own"
    says = f"The descriptor of K step {before} stands here again: {why}."
    return Diagnosis("other_slice", says, other.fix, other.changes)


def blamed(operands: Sequence[Operand]) -> list[Operand]:
    """The operands with every wrong step laid to a place: where its descriptor is written or, where other calls run the
    same place and are right, the innermost call of which all that it runs is wrong. The first step of a place has its
    causes.
    """
    out = []
    chains = [(one.name, (step.span, *step.around), step) for one in operands for step in one.steps]
    wrong = {(name, chain) for name, chain, step in chains if step.verdict == "mismatch"}
    shared = {(name, span) for name, chain, _ in chains if (name, chain) not in wrong for span in chain}
    for one in operands:
        steps: list[Step] = []
        places: set[Span] = set()
        for step in one.steps:
            chain = (step.span, *step.around)
            if (one.name, chain) in wrong:
                span = next((span for span in chain if (one.name, span) not in shared), step.span)
                causes = () if step.verdict != "mismatch" or span in places else step.causes
                places.update([span] if step.verdict == "mismatch" else [])
                step = replace(step, span=span, causes=causes)
            steps.append(step)
        out.append(replace(one, steps=tuple(steps)))
    return out


def _nowhere(turn: Turn, base: int) -> Diagnosis:
    """A tile that begins where TMA writes no box (CUDA driver API 13.0: the shared-memory address)."""
    where = f"The tile of stage {turn.place.stage}" if turn.place.stage else "The tile"
    says = (
        f"{where} begins at {base:#x}, {base % tma.ALIGNED} bytes past a multiple of {tma.ALIGNED}. TMA stores a box"
        f" only at a multiple of {tma.ALIGNED} bytes, and a swizzle of 128B repeats every {WIDEST_PATTERN}: begin every"
        " stage at a multiple of that."
    )
    return Diagnosis("tma_destination", says)


def spoilt(steps: Sequence[Step], pitfall: Pitfall) -> list[Step]:
    """Steps that are right but for what stands above the address in the word, as wrong for that: the address is a
    symbol here, and has no such bits.
    """
    cause = Diagnosis(pitfall.code, pitfall.message)
    out, told = [], False
    for step in steps:
        if step.verdict == "match":
            step = replace(step, verdict="mismatch", matched=0, causes=() if told else (cause,))
            told = True
        out.append(step)
    return out


def _step(turn: Turn, word: Descriptor, seen: View, stored: Storage | None, mn: int, k: int) -> Step:
    address_of = reads(word, seen)
    total = seen.rows * seen.k
    expected, matched, verdict = None, 0, "unknown"
    outside = stored is not None and (
        (stored.mn is not None and mn + seen.rows > stored.mn) or (stored.k is not None and k + seen.k > stored.k)
    )
    if stored is not None and not outside:
        wanted = expected_reads(stored, seen, mn, k)
        matched = int(np.count_nonzero(address_of == wanted))
        expected, verdict = int(wanted[0, 0]), "match" if matched == total else "mismatch"
    return Step(
        loops=dict(turn.use.loops),
        stage=turn.place.stage,
        word=word.word,
        mn=mn,
        k=k,
        rows=seen.rows,
        depth=seen.k,
        verdict=verdict,
        expected=expected,
        read=int(address_of[0, 0]),
        matched=matched,
        total=total,
        causes=(),
        span=turn.given.span,
        around=turn.given.around,
    )


def causes(
    word: Descriptor, seen: View, stored: Storage, *, mn: int, k: int, computed: bool, pitfalls: Sequence[Pitfall]
) -> tuple[Diagnosis, ...]:
    """Why a step reads other bytes; a pitfall of C that the code fell into comes first."""
    found = list(verify(word, seen, stored, mn=mn, k=k, computed=computed).diagnoses)
    of_code = [p for p in pitfalls if p.code in _OF_CODE]
    if of_code and all(one.code != of_code[0].code for one in found):
        rest = found[0] if found else Diagnosis("", "")
        found.insert(0, Diagnosis(of_code[0].code, of_code[0].message, rest.fix, rest.changes))
    return tuple(found)


def fitting(turn: Turn, seen: View, symbols: Mapping[str, int]) -> tuple[str, ...]:
    """Standard tiles that a step reads, where nothing is known of the storage."""
    word = values_of(turn.given.value, symbols)
    if word is None:
        return ()
    try:
        return tuple(storage(spec, seen.bits, seen.major).text for spec, _ in fits(Descriptor(word), seen)[:2])
    except LayoutError:
        return ()


def symbols_of(
    found: Sequence[Turn], given: Mapping[str, str], known: dict[str, int], seen: View, aligned: Mapping[str, int]
) -> list[Assumed]:
    """Values for the symbols of the turns' descriptors, put into `known`; what was taken for them, or is missing.

    A symbol that every turn's start has in the same way only moves the whole tile: an address is taken where its
    declaration lets it be (`aligned`), 1024-aligned without one, another symbol as 0. One that a field or the distance
    of two turns depends on has to be given.
    """
    from lanescope.reading import number

    out: list[Assumed] = []
    lines = [address(turn.given.value)[0] for turn in found]
    terms = [dict(line.terms) if line is not None else {} for line in lines]
    alike = {n: f for n, f in (terms[0] if terms else {}).items() if all(t.get(n) == f for t in terms)}
    stages = {turn.place.stage for turn in found}
    names = dict.fromkeys(name for turn in found for piece in turn.given.value.pieces for name, _ in piece.source.terms)
    starts = [n for n, f in alike.items() if f == 1]
    least = min((line.const for line in lines if line is not None), default=0)
    address_name = next((n for n in starts if _looks(n)), starts[0] if starts else "")
    for name in names:
        key = f"at.{name}"
        elsewhere = any(
            p.low >= 14 and any(n == name for n, _ in p.source.terms) for turn in found for p in turn.given.value.pieces
        )
        if key in given:
            known[name] = number(given[key], key, 0, 1 << 40)
            if not any(a.key == key for a in out):
                out.append(Assumed(key, f"{name}", given[key], "as given"))
        elif name in known:
            continue
        elif name in alike and not elsewhere:
            at = 0x400 + 0x8000 * sum(v >= 0x400 for v in known.values()) if name == address_name else 0
            if name != address_name and least < 0 < alike[name]:  # (threadIdx.x / 128 - 1) * 8192 of the second group
                at = -(least // alike[name])
                least += at * alike[name]
            known[name], why = at if at < 0x38000 else 0x400, "moves the whole tile only"
            if name == address_name:
                known[name], why = placed.begin(name, known[name], aligned)
            out.append(Assumed(key, name, hex(known[name]) if name == address_name else str(at), why))
        elif _INSTRUCTION_K.search(name):
            known[name] = seen.k
            out.append(Assumed(key, name, str(seen.k), K_OF_INSTRUCTION))
        else:
            either = _BRANCH.fullmatch(name)
            choices = (either[1], either[2]) if either else ()
            out.append(Assumed(key, name, "", "descriptors depend on it" if stages else "", choices))
    return out


def _looks(name: str) -> bool:
    return any(word in name.lower() for word in ("smem", "shared", "ptr", "addr", "base", "tile", "buf", "&", "s"))


__all__ = ["Linear", "Turn", "bases", "causes", "extents", "fitting", "steps", "symbols_of", "turns"]
