"""Find the mistakes of a source text in its descriptors, tensor maps and instructions, and what it leaves open.

The workbench evaluates the text; this module reports only what rests on no guess. If another choice of an assumed value
removes a mismatch (`guesses.py`), the mismatch is an open point that names what the text would have to state.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from lanescope.deadline import OverdueError
from lanescope.descriptor.matrix import Descriptor
from lanescope.errors import refuse_deep_recursion
from lanescope.inputs import join_words
from lanescope.reader import statements
from lanescope.reader.code import builders, tensor_maps
from lanescope.reader.code.builders import DescriptorBuilder
from lanescope.reader.code.evaluation import Evaluation
from lanescope.reader.code.findings import Pitfall
from lanescope.reader.code.ptx_module import find_source_line, is_ptx_module
from lanescope.reader.excerpt import extract_code
from lanescope.reader.unknown_instructions import find_unknown_instructions
from lanescope.workbench import (
    Bench,
    OperandStep,
    VerifiedOperand,
    build_bench,
    copy_bounds,
    copy_overlaps,
    cute_copies,
    exchanged_products,
    filled_tiles,
    order,
    shared_budget,
    stage_distances,
    tensor_memory_order,
    tile_starts,
    transfers,
    warpgroup_rows,
)
from lanescope.workbench.bench_builder import LONGEST as LONGEST_PASTE
from lanescope.workbench.blame import BlameFinder
from lanescope.workbench.check_report import CheckFinding, CheckReport, OpenPoint
from lanescope.workbench.conditional_checks import check_conditions
from lanescope.workbench.consequences import drop_consequences, drop_explained_doubts, find_constant_place, follows
from lanescope.workbench.contents import HEADERS_KEY, WORK_KEY, evaluate_with_choices, format_headers
from lanescope.workbench.cute_reads import (
    describe_assumed_type,
    describe_open_fragment,
    list_cute_fragments,
    name_open_parameters,
)
from lanescope.workbench.fragment_blame import assign_fragment_blame
from lanescope.workbench.gaps import CheckedDescriptor, find_library, find_multiplier, list_checked_descriptors
from lanescope.workbench.guesses import PATIENCE, Guesses
from lanescope.workbench.idesc_checks import check_tensor_code
from lanescope.workbench.kernel_runs import KernelText
from lanescope.workbench.pieces import describe_unread
from lanescope.workbench.pitfalls import find_pitfall_edits, find_pitfalls, group_pitfalls
from lanescope.workbench.results import TextPiece
from lanescope.workbench.tally import count_verified, drop_proved, list_first_wrong_steps
from lanescope.workbench.target_checks import find_missing_instructions, make_target_macros
from lanescope.workbench.tcgen05 import TARGET_KEY, TCGEN05_KEY
from lanescope.workbench.thread_gaps import list_kernels_by_text
from lanescope.workbench.thread_tiles import FragmentReport, check_thread_tiles
from lanescope.workbench.tiled_mma_checks import check_tiled_mmas
from lanescope.workbench.unfinished import find_unfinished
from lanescope.workbench.wrong_reads import WrongRead, list_wrong_reads

Span = tuple[int, int]
LONGEST = PATIENCE * LONGEST_PASTE


def _list_refused(text: str) -> list[CheckFinding]:
    """List the lines of PTX that ptxas refuses."""
    refused = [(finding.message, finding.span) for finding in statements.find_refused_lines(text)]
    unknown = [(finding.message, finding.span) for finding in find_unknown_instructions(text)]
    return [CheckFinding("ptxas_refuses", message, span) for message, span in refused + unknown]


def _list_doubts(bench: Bench, built: Iterable[DescriptorBuilder]) -> list[CheckFinding]:
    """List doubts about the descriptors of the bench."""
    doubted = {message for piece in bench.pieces for message in piece.doubts}
    every = (finding for builder in built for finding in builder.doubts)
    return [_make_pitfall_finding(finding) for finding in every if finding.message in doubted]


def _close_proved(descriptor: CheckedDescriptor, proved: frozenset[tuple[str, str]]) -> CheckedDescriptor:
    """Clear the gap of a descriptor if running the threads verified everything that reads it."""
    return replace(descriptor, gap="") if descriptor.readers and proved.issuperset(descriptor.readers) else descriptor


@refuse_deep_recursion()
def check_text(
    text: str, choices: Mapping[str, str] | None = None, headers: Iterable[Span] = (), target: str = ""
) -> CheckReport:
    """Check a source text for mistakes.

    choices: values that the text leaves open, by the keys of `Bench.assumed`; headers: parts of the text that come
    from included files, whose functions run only if the main part calls them; target: the architecture that ptxas
    compiles for, "" for any.

    LayoutError `bad_text` if it is longer than LONGEST characters, `too_deep` if it is nested too deeply.

    >>> check_text("uint64_t desc = (uint64_t)(smem & 0x3FFFF) | (uint64_t)64 << 32 | 1ull << 62;").findings[0].code
    'not_shifted'
    """
    return check_conditions(
        text, make_choices(choices, headers, target), lambda chosen: _check_chosen(text, chosen, target)
    )


def _check_chosen(text: str, choices: Mapping[str, str], target: str) -> CheckReport:
    """Check a text with the choices that build_bench takes."""
    guesses = _build_guesses(text, choices)
    bench = guesses.bench
    code = evaluate_with_choices(extract_code(text, text), PATIENCE, choices)
    built = builders.find_evaluation_builders(code, target) if code else ()
    maps = tensor_maps.find_evaluation_maps(code) if code else ()
    broken = (_make_pitfall_finding(problem) for tensor_map in maps for problem in tensor_map.problems)
    findings = [*_repair_pitfalls(text, built, choices), *broken]
    refused = _list_refused(text)
    findings += _find_kernel_mistakes(code, bench, target) if code else []
    blame = BlameFinder(text, bench, built)
    mismatches, open_ = _check_operands(guesses, bench, {finding.code for finding in findings}, blame)
    tiles = check_tensor_code(text, code.asm_runs if code else (), bench, target) + check_tiled_mmas(text)
    findings += map(_make_pitfall_finding, tiles)
    findings = drop_consequences([*findings, *mismatches, *refused, *_find_wrong_versions(bench, blame)])
    findings += map(_make_pitfall_finding, tile_starts.find_small_alignments(text, bench))
    placed, rests = _find_assumed_starts(bench, guesses)
    open_ += rests
    lacking, unsure = find_missing_instructions(text, code, target, choices)
    findings += map(_make_pitfall_finding, lacking)
    open_ += (OpenPoint(message, span) for message, span in unsure)
    open_ += _find_unread(bench, built)
    open_ += find_unfinished(code)
    doubts = _list_doubts(bench, built)
    checked = tuple(list_checked_descriptors(text, bench, guesses))
    findings = [_name_source_line(text, finding) for finding in findings]
    steps, unverified = count_verified(bench, guesses, partial(_explain_open, guesses))
    needed = _needs_thread_run(text, checked)
    fragments, late = (
        _check_fragments(text, choices) if needed else (FragmentReport(), [])
    )  # last, since time may run out
    judged = assign_fragment_blame(fragments, tuple(built), blame, lambda text: _check_fragments(text, choices)[0])
    findings += [CheckFinding(f.code, f.message, f.span, "", f.reads, edits=f.edits) for f in judged]
    open_ = _drop_proved_points(open_, bench, fragments.proved) + late
    open_ += (OpenPoint(kernel.message, kernel.span, kernel.needs) for kernel in fragments.kernels if kernel.gap)
    unverified = drop_proved(unverified, bench, fragments.proved)
    checked = tuple(_close_proved(one, fragments.proved) for one in checked)
    given = {key.removeprefix("macro.") for key in choices}
    cute = [name_open_parameters(one, code.text, given) for one in list_cute_fragments(code)] if code else []
    findings += (_make_pitfall_finding(one.problem) for one in cute if one.problem)
    findings += map(_make_pitfall_finding, cute_copies.find_copy_mistakes(code) if code else ())
    open_ += (OpenPoint(describe_open_fragment(one), one.span) for one in cute if one.gap)
    open_ += (OpenPoint(describe_assumed_type(one), one.span) for one in cute if one.assumed_bits and not one.gap)
    checked += tuple(CheckedDescriptor((one.span,), one.gap) for one in cute)
    unique = {(finding.code, finding.span): finding for finding in reversed(findings)}
    return CheckReport(
        tuple(sorted(unique.values(), key=lambda finding: (finding.span, finding.code))),
        tuple(dict.fromkeys(open_)),
        tuple(dict.fromkeys(drop_explained_doubts(doubts, findings))),
        len(checked),
        len(maps),
        steps + fragments.verified + sum(one.reads for one in cute),
        unverified,
        checked,
        find_multiplier(text) or find_library(text),
        tuple(fragments.kernels),
        placed + sum(one.reads for one in cute if one.swizzled),
    )


def make_choices(choices: Mapping[str, str] | None, headers: Iterable[Span], target: str) -> dict[str, str]:
    """Return the choices that build_bench takes for a check; the arguments are those of check_text."""
    return {
        **make_target_macros(target),
        **(choices or {}),
        TCGEN05_KEY: "verified",
        **({TARGET_KEY: target} if target else {WORK_KEY: "checked"}),
        HEADERS_KEY: format_headers(headers),
    }


def _name_source_line(text: str, finding: CheckFinding) -> CheckFinding:
    """Return a finding in PTX with the line of the source that its `.loc` names."""
    line = find_source_line(text, finding.span[0]) if is_ptx_module(text) else ""
    return replace(finding, message=f"{finding.message} It comes from {line}.") if line else finding


def _find_kernel_mistakes(code: Evaluation, bench: Bench, target: str) -> list[CheckFinding]:
    """Find instructions of kernels in a wrong order, and copies with wrong boxes, byte counts or addresses."""
    text = KernelText(code)
    filled = filled_tiles.find_fill_mistakes(text, bench)
    budget = shared_budget.find_budget_mistakes(text, target)
    # with a wrong box the byte counts are wrong as well
    bytes_ = [] if filled else transfers.find_transfer_mistakes(text)
    # a box of the other operand's map has another size, too
    other_map = any(mistake.code == "tma_map_other" for mistake in filled)
    overlaps = [] if other_map else copy_overlaps.find_overlaps(text, bench)
    ordered = (*order.find_order_mistakes(text), *tensor_memory_order.find_tensor_memory_mistakes(text))
    rows = warpgroup_rows.find_overlapping_rows(text, bench)
    distances = stage_distances.find_stage_distances(text) if not overlaps else []
    bounds = copy_bounds.find_copies_past_arrays(text) if not (overlaps or distances) else []
    crossed = exchanged_products.find_exchanged_products(text, bench) if not filled else []
    every = (*ordered, *filled, *bytes_, *budget, *overlaps, *rows, *crossed, *distances, *bounds)
    return [_make_pitfall_finding(mistake) for mistake in every]


def _needs_thread_run(text: str, checked: Collection[CheckedDescriptor]) -> bool:
    """Return whether running all threads could decide more.

    That is so for fragments in registers, and for descriptors that no tensor map or layout has settled; tcgen05.cp is
    excluded.
    """
    left = any(one.gap and (one.readers or "tcgen05.cp" not in text) for one in checked)
    settled = any(one.readers and not one.gap for one in checked)
    return left or not settled or next(list_kernels_by_text(text), None) is not None


def _check_fragments(text: str, choices: Mapping[str, str]) -> tuple[FragmentReport, list[OpenPoint]]:
    """Check the tiles that threads fill; also return an open point if time ran out."""
    values = {key.removeprefix("macro."): value for key, value in choices.items() if key.startswith("macro.")}
    try:
        return check_thread_tiles(text, values), []
    except OverdueError as error:
        at = error.place or 0
        late = [replace(one, gap=one.gap or "not reached in time") for one in list_kernels_by_text(text)]
        return FragmentReport(kernels=late), [
            OpenPoint("Tiles that threads fill are not checked: the time was over.", (at, at))
        ]


# mistakes of the code itself ------------------------------------------------------------------------------------------


def _make_pitfall_finding(pitfall: Pitfall) -> CheckFinding:
    return CheckFinding(pitfall.code, pitfall.message, pitfall.span)


def _repair_pitfalls(
    text: str, built: Iterable[DescriptorBuilder], choices: Mapping[str, str]
) -> Iterator[CheckFinding]:
    """Yield C pitfalls with the edits that remove them."""

    def find_codes(edited: str) -> Counter[str]:
        code = evaluate_with_choices(extract_code(edited, edited), PATIENCE, choices)
        found = builders.find_evaluation_builders(code, choices.get(TARGET_KEY, "")) if code else ()
        return Counter(finding.code for finding in find_pitfalls(edited, found))

    for finding, places in group_pitfalls(text, built):
        follows = tuple(WrongRead("This descriptor gets it.", place) for place in places)
        edits = find_pitfall_edits(text, finding, find_codes)
        yield replace(_make_pitfall_finding(finding), edits=edits, follows=follows)


def _build_guesses(text: str, choices: Mapping[str, str]) -> Guesses:
    """Return the bench of a text with the assumptions that its mismatches depend on.

    It has repairs if a read is wrong for every choice: each that is tried costs an evaluation of the text.
    """
    made: list[Guesses] = []

    def is_certain(bench: Bench) -> bool:
        made.append(Guesses(text, bench, choices))
        wrong = ((operand, step) for operand in bench.operands for step in list_first_wrong_steps(operand))
        return any(not _explain_open(made[0], operand, step) for operand, step in wrong)

    bench = build_bench(text, choices, PATIENCE, copied=False, repair=is_certain)
    guesses = made[0] if made else Guesses(text, bench, choices)
    guesses.bench = bench
    return guesses


# reads that are verified ----------------------------------------------------------------------------------------------


def _check_operands(
    guesses: Guesses, bench: Bench, known: set[str], blame: BlameFinder
) -> tuple[list[CheckFinding], list[OpenPoint]]:
    """Return (findings of wrong reads, open points). known: codes of mistakes that were already found in the code."""
    places: dict[tuple[str, Span], list[tuple[VerifiedOperand, OperandStep]]] = {}
    open_: list[OpenPoint] = []
    for operand in bench.operands:
        if operand.verdict == "unknown":
            open_.append(_make_unverified_point(bench, operand))
        for step in list_first_wrong_steps(operand):
            code = step.causes[0].code if step.causes else ""
            if code == "not_canonical" and _is_map_refused(bench, operand):
                continue  # the map is reported instead
            if why := _explain_open(guesses, operand, step):
                open_.append(OpenPoint(why, step.span))
            elif not follows(code, known):
                places.setdefault((code, blame.find_blamed_span(operand, step)), []).append((operand, step))
    return [_make_mismatch_finding(bench, alike, span) for (_, span), alike in places.items()], open_


def _make_unverified_point(bench: Bench, operand: VerifiedOperand) -> OpenPoint:
    """Return the open point for an operand without a verdict, with the reason."""
    why = operand.missing[0] if operand.missing else "the file does not say enough."
    if operand.storage is None and (not operand.missing or "paste its tensor map" in why):
        why = "nothing in the file says how it is stored."
    at = bench.pieces[operand.descriptor].spans[0]
    return OpenPoint(f"{operand.name.upper()} of {operand.instruction} is not verified: {why}", at)


def _drop_proved_points(points: list[OpenPoint], bench: Bench, proved: Collection[tuple[str, str]]) -> list[OpenPoint]:
    """Drop the open points of operands that were verified by running the threads."""
    told = {
        _make_unverified_point(bench, operand)
        for operand in bench.operands
        if operand.verdict == "unknown" and (operand.instruction, operand.name) in proved
    }
    return [point for point in points if point not in told]


def _is_map_refused(bench: Bench, operand: VerifiedOperand) -> bool:
    """Return whether an operand is stored by a tensor map that breaks a rule of TMA."""
    return operand.storage is not None and bool(bench.pieces[operand.storage].notices)


def _explain_open(guesses: Guesses, operand: VerifiedOperand, step: OperandStep) -> str:
    """Explain why a wrong step is not a finding; "" if it is one."""
    crossed = next((cause.message for cause in step.causes if cause.code == "operands_exchanged"), "")
    if crossed:
        return crossed
    doubt = guesses.find_guess(operand, step)
    where = f"{operand.name.upper()} of {operand.instruction} would be read from the wrong place"
    return f"{where}, but {doubt}" if doubt else ""


def _make_mismatch_finding(bench: Bench, alike: list[tuple[VerifiedOperand, OperandStep]], span: Span) -> CheckFinding:
    """Make one finding for operands that one place makes wrong for one cause; the first is described in full."""
    wrong = alike[0][1]
    names = {other.name for other, _ in alike}
    assumed = tuple(
        (a.key, a.value) for a in bench.assumed if a.summary and (not a.operands or names & set(a.operands))
    )
    reads = sum(step.span == wrong.span for other, _ in alike for step in other.wrong)
    head = _describe_wrong_elements(alike)
    follows = tuple(list_wrong_reads(bench, alike))
    if not wrong.causes:
        return CheckFinding("other_bytes", head, span, "", reads, assumed, follows=follows)
    repaired = next((r for r in bench.repairs if all(bench.operands.index(o) in r.operands for o, _ in alike)), None)
    edits = repaired.edits if repaired else ()
    cause = wrong.causes[0]
    moved = any(a.key.startswith("at.") for a in bench.assumed)  # the word would contain an assumed address
    fix = str(cause.fix) if cause.fix and not moved else ""
    return CheckFinding(cause.code, f"{head} {cause.message}", span, fix, reads, assumed, edits, follows)


def _describe_wrong_elements(alike: list[tuple[VerifiedOperand, OperandStep]]) -> str:
    """Describe how many elements the first operand reads from wrong addresses, and which operands do the same."""
    operand, wrong = alike[0]
    turns = ", ".join(f"{name} = {value}" for name, value in wrong.loops.items())
    where = f"{operand.name.upper()} of {operand.instruction}" + (f" at {turns}" if turns else "")
    lost = wrong.total - wrong.matched
    if not lost:
        return f"{where}."
    head = f"{where}: {lost:,} of {wrong.total:,} elements are read from the wrong place."
    others = dict.fromkeys(other.name.upper() for other, _ in alike if other.name != operand.name)
    return f"{head} So are those of {join_words(list(others))}." if others else head


def _find_wrong_versions(bench: Bench, blame: BlameFinder) -> Iterator[CheckFinding]:
    """Yield descriptors that read the right bytes and lack a constant of their format: PTX ISA 9.1, 9.7.16.4.1."""
    for operand in bench.operands:
        for step in operand.steps:
            word = Descriptor(step.word, operand.form)
            for name, value in operand.form.constants.items():
                if step.verdict == "match" and (had := word.get_amount(name)) != value:
                    place = operand.form.format_place(name)
                    message = (
                        f"{operand.name.upper()} of {operand.instruction}: the {name} in {place} is {had}; it is"
                        f" {value} in every descriptor of {operand.form.reader}."
                    )
                    at = find_constant_place(blame, operand, step, name)
                    yield CheckFinding("version_wrong", message, at, "", len(operand.steps))


def _find_assumed_starts(bench: Bench, guesses: Guesses) -> tuple[int, list[OpenPoint]]:
    """Return (number of verified reads that depend on an assumed tile start, the open points for these starts)."""
    count, open_ = 0, []
    for operand in bench.operands:
        starts = tile_starts.list_assumed_starts(bench, operand) if operand.verdict == "match" else []
        alone = replace(bench, operands=(operand,)) if starts else bench
        if starts and (reads := count_verified(alone, guesses, partial(_explain_open, guesses))[0]):
            count += reads
            at = bench.pieces[operand.descriptor].spans[0]
            open_ += [OpenPoint(tile_starts.describe_assumed_start(operand, start), at) for start in starts]
    return count, open_


def _find_unread(bench: Bench, built: Iterable[DescriptorBuilder]) -> list[OpenPoint]:
    """List descriptors that no known instruction reads."""
    read = {n for operand in bench.operands for n in (operand.descriptor, *operand.others)}
    same = [_make_build_key(bench.pieces[n]) for n in read]  # the same word under another name: desc = m.raw
    without = [
        OpenPoint(f"{piece.title}: what it builds is not checked.", span)
        for piece in bench.pieces
        if piece.kind == "descriptor" and not {"fields", "words"} & piece.facts.keys()
        for span in piece.spans
    ]
    if without or not any(True for _ in built):
        return without
    unread = [
        piece
        for n, piece in enumerate(bench.pieces)
        if piece.kind == "descriptor" and n not in read and _make_build_key(piece) not in same
    ]
    return [OpenPoint(*describe_unread(piece)) for piece in unread]


def _make_build_key(piece: TextPiece) -> tuple[object, ...]:
    """Return a key that equal descriptor code has in common; the title for a piece without code."""
    facts = piece.facts
    return (facts["format"], dict(facts["fields"]), facts["start"]) if "fields" in facts else (piece.title,)
