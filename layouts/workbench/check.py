"""Find the mistakes of a source text in its descriptors, tensor maps and instructions, and what cannot be verified.

The workbench evaluates the text; this module reports only mistakes that depend on no assumption. If another choice of
an assumed value removes a mismatch (`guesses.py`), it is an open point that names the missing information.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial

from lanescope.deadline import OverdueError
from lanescope.errors import refuse_deep_recursion
from lanescope.reader.code.descriptors import builders
from lanescope.reader.code.descriptors.builders import DescriptorBuilder
from lanescope.reader.code.evaluation import Evaluation
from lanescope.reader.code.maps import tensor_maps
from lanescope.reader.code.maps.tma_rules import TensorMap
from lanescope.reader.code.preprocessing.uncompiled import blank_uncompiled_code
from lanescope.reader.code.preprocessing.used_functions import blank_spans
from lanescope.reader.code.ptx.ptx_module import find_source_line, is_ptx_module
from lanescope.reader.code.running.run_records import KernelLaunchRecord
from lanescope.workbench import Workbench
from lanescope.workbench.barriers.barrier_protocol import TITLES as PROTOCOL_TITLES, find_protocol_mistakes
from lanescope.workbench.check_report import CheckReport, FindRepair, OpenPoint, report_mistakes
from lanescope.workbench.copies import unfilled_findings, unfilled_reads
from lanescope.workbench.copies.box_maps import MapFinder
from lanescope.workbench.cute import cute_copies, cute_names
from lanescope.workbench.cute.cute_reads import (
    CuteFragment,
    describe_assumed_type,
    describe_open_fragment,
    list_named_fragments,
)
from lanescope.workbench.cute.tiled_mma_checks import check_tiled_mmas
from lanescope.workbench.fragments.fragment_report import FragmentReport
from lanescope.workbench.fragments.thread_gaps import ORDER_OPEN, close_settled_gaps, fills_tiles, list_kernels_by_text
from lanescope.workbench.fragments.thread_order import check_thread_order, find_short_launches
from lanescope.workbench.fragments.thread_tiles import check_thread_tiles
from lanescope.workbench.kernels import bulk_store_order
from lanescope.workbench.kernels.kernel_checks import find_kernel_mistakes
from lanescope.workbench.kernels.kernel_runs import KernelText
from lanescope.workbench.products.known_mistakes import find_other_map_types
from lanescope.workbench.products.origin_search import find_origin_search
from lanescope.workbench.products.product_report import ProductReport
from lanescope.workbench.products.result_judge import find_product_search, judge_results
from lanescope.workbench.products.result_origins import OriginReport, check_origins, list_settled
from lanescope.workbench.products.result_stores import find_result_mistakes
from lanescope.workbench.reads import swizzle_codes, tile_starts
from lanescope.workbench.reads.operand_findings import (
    build_guesses,
    check_operands,
    drop_proved_points,
    explain_mismatch_doubt,
    find_assumed_starts,
    find_wrong_versions,
    list_unread_descriptors,
)
from lanescope.workbench.repair.blame import BlameFinder
from lanescope.workbench.repair.cause_search import find_cause
from lanescope.workbench.repair.consequences import drop_consequences, drop_settled_doubts, is_misread
from lanescope.workbench.repair.pitfalls import list_repaired_pitfalls
from lanescope.workbench.repair.repairs import apply_edits, move_span
from lanescope.workbench.results import DOUBTS, CheckFinding, Span, TextEdit, make_finding
from lanescope.workbench.source import refused_code
from lanescope.workbench.source.condition_balance import find_unbalanced_conditions
from lanescope.workbench.source.conditional_checks import check_conditions
from lanescope.workbench.source.gaps import CheckedDescriptor, list_checked_descriptors, name_multiplier
from lanescope.workbench.source.guesses import Guesses, evaluate_file
from lanescope.workbench.source.other_kernels import add_other_kernels
from lanescope.workbench.source.tally import count_verified, drop_proved, settle_reads
from lanescope.workbench.source.target_checks import find_missing_instructions, make_choices
from lanescope.workbench.source.unfinished import find_overruled_values, find_unfinished
from lanescope.workbench.tensor_memory.idesc_checks import check_tensor_code, place_majors
from lanescope.workbench.text.contents import list_given_macros, list_given_values


def _list_doubts(bench: Workbench, built: Iterable[DescriptorBuilder]) -> list[CheckFinding]:
    """List doubts about the descriptors of the bench."""
    doubted = {message for piece in bench.pieces for message in piece.doubts}
    doubts = (finding for builder in built for finding in builder.doubts)
    return [make_finding(finding) for finding in doubts if finding.message in doubted]


@refuse_deep_recursion()
def check_text(
    text: str,
    choices: Mapping[str, str] | None = None,
    headers: Iterable[Span] = (),
    target: str = "",
    search: bool = False,
) -> CheckReport:
    """Check a source text for mistakes.

    choices: values that the text leaves open, by the keys of `Workbench.assumed`; headers: parts of the text that come
    from included files, whose functions run only if the main part calls them; target: the architecture that ptxas
    compiles for, "" for any; search: whether to search for the number that causes the mistakes, which checks the text
    again with other numbers.

    LayoutError `bad_text` if it is longer than LONGEST characters, `too_deep` if it is nested too deeply.

    >>> check_text("uint64_t desc = (uint64_t)(smem & 0x3FFFF) | (uint64_t)64 << 32 | 1ull << 62;").findings[0].code
    'not_shifted'
    """
    headers = tuple(headers)
    choices = make_choices(choices, headers, target)
    report = _check_variants(text, choices, target)

    def recheck(edit: TextEdit) -> CheckReport:
        moved = make_choices(choices, [move_span(span, edit) for span in headers], target)
        return _check_variants(apply_edits(text, (edit,)), moved, target, {one.code for one in report.findings})

    report = find_cause(text, report, recheck) if search else report
    report = add_other_kernels(text, report, partial(_check_variants, choices=choices, target=target))
    unbalanced = () if headers else map(make_finding, find_unbalanced_conditions(text))  # each file by itself
    return replace(report, findings=(*unbalanced, *report.findings))


@dataclass(frozen=True, slots=True)
class _EvaluatedText:
    """A text as the checks take it: its code (None without any), its bench, and the descriptors and maps it makes."""

    text: str
    choices: Mapping[str, str]
    target: str
    code: Evaluation | None
    guesses: Guesses
    bench: Workbench
    builders: Sequence[DescriptorBuilder]
    maps: Sequence[TensorMap]
    blame: BlameFinder

    @property
    def macros(self) -> Mapping[str, str]:
        """The values that are given for macros."""
        return list_given_values(self.choices)

    @property
    def launches(self) -> Sequence[KernelLaunchRecord]:
        """The launches that the evaluation has reached."""
        return self.code.launches if self.code is not None else ()


def _evaluate_text(text: str, choices: Mapping[str, str], target: str, brief: Set[str]) -> _EvaluatedText:
    """Evaluate a text with the choices that build_workbench takes."""
    guesses = build_guesses(text, choices, bool(brief))
    code = evaluate_file(text, choices)
    built = builders.find_evaluation_builders(code, target) if code else ()
    maps = tensor_maps.find_evaluation_maps(code) if code else ()
    blame = BlameFinder(text, guesses.bench, built)
    return _EvaluatedText(text, choices, target, code, guesses, guesses.bench, built, maps, blame)


def _check_variants(text: str, choices: Mapping[str, str], target: str, brief: Set[str] = frozenset()) -> CheckReport:
    """Check a text with its undecided macros undefined, and in its other variants."""
    return check_conditions(text, choices, lambda chosen: _check_chosen(text, chosen, target, brief))


def _check_chosen(text: str, choices: Mapping[str, str], target: str, brief: Set[str]) -> CheckReport:
    """Check a text with the choices that build_workbench takes. brief: the codes of the mistakes that an edit is to
    remove, to stop at the first mistake; none to list all.

    The threads of its kernels are run last, since the time may run out there.
    """
    text = blank_uncompiled_code(text, list_given_macros(choices))
    source, of_kernels = _judge_kernels(_evaluate_text(text, choices, target, brief))
    if brief and source.bench.verdict == "mismatch":
        return report_mistakes([CheckFinding("mismatch", source.bench.headline, (0, 0))])
    bench, guesses, code = source.bench, source.guesses, source.code
    findings, open_ = _find_mistakes(source, of_kernels)
    assumed_start_reads, assumed_starts = find_assumed_starts(bench, guesses)
    cute = list_named_fragments(source.code, source.choices)
    in_words, doubted = _find_word_mistakes(source, cute)
    findings += in_words
    if brief and findings:
        return report_mistakes(findings)
    open_ += (*assumed_starts, *doubted, *find_unfinished(code), *find_overruled_values(code, source.macros))
    doubts = _list_doubts(bench, source.builders)
    descriptors = tuple(list_checked_descriptors(text, bench, guesses))
    findings = [_name_source_line(text, finding) for finding in findings]
    steps, unverified = count_verified(bench, guesses, partial(explain_mismatch_doubt, guesses))
    fragments, found, lost = _run_threads(source, of_kernels, findings, descriptors, brief)
    findings = [one for one in found if one.level != "note"]
    doubts += (one for one in found if one.level == "note")
    steps, unverified = settle_reads(steps, unverified, bool(fragments.settled))
    open_ = drop_proved_points(open_, bench, fragments.proved) + lost
    open_ += list_unread_descriptors(bench, source.builders, fragments.settled)
    open_ += (OpenPoint(kernel.message, kernel.place, kernel.needs) for kernel in fragments.kernels if kernel.gap)
    descriptors = tuple(one.close_proved(fragments.proved, fragments.settled) for one in descriptors)
    open_ += _list_cute_points(cute)
    descriptors += tuple(CheckedDescriptor((fragment.span,), fragment.gap) for fragment in cute)
    unique = {(finding.code, finding.span): finding for finding in reversed(findings)}
    return CheckReport(
        tuple(sorted(unique.values(), key=lambda finding: (finding.span, finding.code))),
        tuple(dict.fromkeys(open_)),
        tuple(drop_settled_doubts(doubts, findings, descriptors)),
        descriptors=len(descriptors),
        maps=len(source.maps),
        steps=steps + fragments.verified + sum(fragment.reads for fragment in cute),
        unverified=drop_proved(unverified, bench, fragments.proved),
        checked=descriptors,
        multiplier=name_multiplier(text, code.unused if code else ()),
        kernels=tuple(fragments.kernels),
        placed=assumed_start_reads + sum(fragment.reads for fragment in cute if fragment.swizzled),
        slices=bench.slices,
        find_repair=fragments.find_repair,
    )


def _judge_kernels(source: _EvaluatedText) -> tuple[_EvaluatedText, list[CheckFinding]]:
    """Return (the text, in which reads of bytes that no copy fills have no verdict; mistakes of its kernels)."""
    if source.code is None:
        return source, []
    text = KernelText(source.code)
    unfilled = unfilled_reads.find_unfilled_reads(text, source.bench)
    found = find_kernel_mistakes(text, source.bench, source.target, unfilled)
    found += find_other_map_types(source.text, source.bench, text.maps)
    if unfilled:
        bench = unfilled_findings.leave_open(source.bench, unfilled)
        source.guesses.bench = bench
        source = replace(source, bench=bench, blame=BlameFinder(source.text, bench, source.builders))
    return source, list(map(make_finding, found))


def _find_mistakes(
    source: _EvaluatedText, of_kernels: Collection[CheckFinding]
) -> tuple[list[CheckFinding], list[OpenPoint]]:
    """Return (findings about the code and its reads, open points about operands)."""
    text, bench, code, target = source.text, source.bench, source.code, source.target
    broken = (make_finding(problem) for tensor_map in source.maps for problem in tensor_map.problems)
    findings = [*list_repaired_pitfalls(text, source.builders, source.choices), *broken]
    runs = code.asm_runs if code else ()
    refused = refused_code.list_refused(text, runs)
    findings += of_kernels
    mismatches, open_ = check_operands(source.guesses, bench, {finding.code for finding in findings}, source.blame)
    mismatches = list(place_majors(text, runs, mismatches, target))
    tiles = check_tensor_code(text, runs, bench, target) + check_tiled_mmas(text)
    findings += map(make_finding, tiles)
    known = any(finding.code == "version_wrong" for finding in findings)  # by the instruction that takes it
    versions = () if known else find_wrong_versions(bench, source.blame)
    findings = drop_consequences([*findings, *mismatches, *refused, *versions])
    findings += map(make_finding, tile_starts.find_small_alignments(text, bench))
    if not any(finding.code == "wgmma_swizzle_code" for finding in findings):
        findings += map(make_finding, swizzle_codes.find_wgmma_codes(text, source.builders, source.maps))
    return findings, open_


def _find_word_mistakes(
    source: _EvaluatedText, cute: Iterable[CuteFragment]
) -> tuple[list[CheckFinding], list[OpenPoint]]:
    """Return (findings about instructions, names and calls of CuTe; open points about instructions and names)."""
    lacking, unsure = find_missing_instructions(source.text, source.code, source.target)
    unknown, doubted = cute_names.check_names(source.text)
    copies = cute_copies.find_copy_mistakes(source.code) if source.code else ()
    problems = (fragment.problem for fragment in cute if fragment.problem is not None)
    found = list(map(make_finding, (*lacking, *unknown, *problems, *copies)))
    return found, [OpenPoint(message, span) for message, span in (*unsure, *doubted)]


def _run_threads(
    source: _EvaluatedText,
    of_kernels: list[CheckFinding],
    findings: Sequence[CheckFinding],
    descriptors: Collection[CheckedDescriptor],
    brief: Set[str],
) -> tuple[FragmentReport, list[CheckFinding], list[OpenPoint]]:
    """Run the threads of each kernel; return (fragments, all findings and notes, open points).

    of_kernels: mistakes of kernels, which a run may explain; findings: those that need no run; brief: see
    _check_chosen.
    """
    fragments, found, open_ = _check_threads(source, descriptors)
    lost: Sequence[OpenPoint] = []
    if not found:
        found, origins = _check_barriers(source, of_kernels, brief, is_misread(source.text, findings))
        settled = list_settled(source.code, origins)
        readers = frozenset(reader for one in descriptors for reader in one.readers) if settled else fragments.proved
        fragments = replace(fragments, settled=settled, proved=readers).join(origins.fragments)
        lost = origins.open
        found = [replace(one, of_result=True) for one in found]
    notes = [one for one in found if one.level == "note"]
    findings = drop_consequences([*findings, *(one for one in found if one.level != "note")])
    if findings:
        find_repair = None if brief else _find_search(source, fragments, findings)
        return replace(fragments, settled=(), find_repair=find_repair), [*findings, *notes], [*open_, *lost]
    fragments = fragments.add_tile_kernels(source.text, descriptors)
    products = _check_products(source, fragments)
    if products.open and not products.mistakes and not brief:
        fragments = replace(fragments, find_repair=_find_search(source, fragments))
    if fragments.unordered is not None:
        kernels, more = close_settled_gaps(fragments.kernels, products.proved, fragments.unordered)
        fragments = replace(fragments, kernels=kernels, verified=fragments.verified + more)
    return fragments, products.list_findings(notes), [*open_, *products.open, *lost]


def _check_threads(
    source: _EvaluatedText, descriptors: Collection[CheckedDescriptor]
) -> tuple[FragmentReport, list[CheckFinding], list[OpenPoint]]:
    """Return (the fragments, if running the threads could decide more; findings; an open point if time ran out)."""
    text = blank_spans(source.text, source.code.unused) if source.code is not None else source.text
    macros, launches = source.macros, source.launches
    if not _needs_thread_run(text, descriptors):
        stored = find_result_mistakes(text, macros, launches)
        return FragmentReport(), stored, []
    fragments, late = _check_fragments(text, macros, launches)
    if fragments.findings or late:  # which bytes are read is not right, or not known
        return fragments, list(fragments.findings), late
    ordered = check_thread_order(text, macros, launches, bool(fragments.proved))
    kernels = [replace(k, gap=ORDER_OPEN) if k.name in ordered.left and not k.gap else k for k in fragments.kernels]
    short, maybe_short = find_short_launches(text, macros, launches, ordered.needed)
    repeated = [one.finding for one in fragments.suspects if (one.kernel, one.array) in ordered.unread]
    wrong = [*map(make_finding, (*ordered.mistakes, *short)), *repeated]
    late += [OpenPoint(one.message, one.span) for one in maybe_short]
    return replace(fragments, kernels=kernels, unordered=ordered.left), wrong, late


# mistakes of a kernel that no phase of an mbarrier follows from
_APART = frozenset({*bulk_store_order.TITLES, "proxy_fence_missing", "element_type"})


def _check_barriers(
    source: _EvaluatedText, of_kernels: Collection[CheckFinding], brief: Set[str], misread: bool
) -> tuple[list[CheckFinding], OriginReport]:
    """Check mbarriers and the origin of D if the kernels have no mistakes from which theirs may follow.

    brief: see _check_chosen; an edit for a mistake of the origin is tried on this first. misread: by descriptors.
    """
    if any(one.code not in _APART for one in of_kernels) or source.code is None:
        return [], OriginReport()
    macros, launches, text = source.macros, source.launches, KernelText(source.code)
    known = {one.code for one in of_kernels}
    judge = partial(check_origins, text, macros, launches, partial(evaluate_file, choices=source.choices))
    origins = judge() if brief and not brief & PROTOCOL_TITLES.keys() else None
    if origins is not None and any(one.code not in {*known, *DOUBTS} for one in origins.mistakes):
        return list(map(make_finding, origins.mistakes)), OriginReport()
    found = find_protocol_mistakes(source.text, macros, launches, MapFinder(text).list_bytes)
    if misread or any(one.code not in DOUBTS for one in found):
        return list(map(make_finding, found)), OriginReport()
    origins = origins or judge()
    found += [one for one in origins.mistakes if one.code not in known]
    return list(map(make_finding, found)), origins


def _check_products(source: _EvaluatedText, fragments: FragmentReport) -> ProductReport:
    """Check D of the kernels whose fragments are right, and which may still not be A·B, or have no verdict."""
    return judge_results(source.text, source.macros, source.launches, *fragments.choose_kernels())


def _find_search(
    source: _EvaluatedText, fragments: FragmentReport, findings: Sequence[CheckFinding] = ()
) -> FindRepair | None:
    """Return what finds the edit that makes D A·B. findings: mistakes of the text."""
    of_result = {one.code for one in findings if one.of_result}
    if of_result and source.maps and source.code is not None:
        evaluate = partial(evaluate_file, choices=source.choices)
        return find_origin_search(KernelText(source.code), source.macros, evaluate, of_result)
    certain = bool(fragments.findings) or any(one.code == "stores_overlap" for one in findings)
    names = {kernel.name for kernel in fragments.kernels if kernel.name} | fragments.described
    return find_product_search(source.text, source.macros, source.launches, names, certain)


def _list_cute_points(fragments: Sequence[CuteFragment]) -> list[OpenPoint]:
    """List the open points of CuTe fragments: those without a verdict, then those whose element type is assumed."""
    unverified = [OpenPoint(describe_open_fragment(fragment), fragment.span) for fragment in fragments if fragment.gap]
    assumed = [fragment for fragment in fragments if fragment.assumed_bits and not fragment.gap]
    return unverified + [OpenPoint(describe_assumed_type(fragment), fragment.span) for fragment in assumed]


def _name_source_line(text: str, finding: CheckFinding) -> CheckFinding:
    """Add the source line of `.loc` to a finding in PTX."""
    line = find_source_line(text, finding.span[0]) if is_ptx_module(text) else ""
    return replace(finding, message=f"{finding.message} It comes from {line}.") if line else finding


def _needs_thread_run(text: str, checked: Collection[CheckedDescriptor]) -> bool:
    """Return whether running all threads could decide more.

    That is so for fragments in registers, and for descriptors that no tensor map or layout has settled; tcgen05.cp is
    excluded.
    """
    left = any(descriptor.gap and (descriptor.readers or "tcgen05.cp" not in text) for descriptor in checked)
    settled = any(descriptor.readers and not descriptor.gap for descriptor in checked)
    return left or not settled or next(list_kernels_by_text(text), None) is not None or fills_tiles(text)


def _check_fragments(
    text: str, macros: Mapping[str, str], launches: Sequence[KernelLaunchRecord]
) -> tuple[FragmentReport, list[OpenPoint]]:
    """Check the tiles that threads fill; also return an open point if time ran out."""
    try:
        return check_thread_tiles(text, macros, launches), []
    except OverdueError as error:
        at = error.place or 0
        late = [replace(kernel, gap=kernel.gap or "not reached in time") for kernel in list_kernels_by_text(text)]
        return FragmentReport(kernels=late), [
            OpenPoint("Tiles that threads fill are not checked: the time limit was reached.", (at, at))
        ]
