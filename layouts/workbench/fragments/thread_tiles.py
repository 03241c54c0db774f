"""Check fragments of tiles that threads fill and mma reads.

`lanescope.reader.threads` runs every kernel for all threads of its block; `thread_fragments.py` traces the elements of
each operand. Only fragments that cannot belong to a product are reported: elements that do not form rows and columns,
or a mistake whose correction was verified.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace

from lanescope.cxx.source_text import is_kernel_head
from lanescope.errors import LayoutError
from lanescope.reader.code.running.run_records import KernelLaunchRecord
from lanescope.reader.threads.kernels import KNOWN_SIZE, KernelRun, run_kernels
from lanescope.reader.threads.memory.records import MatrixLoad, MmaUse
from lanescope.reader.threads.runner import KernelRunner
from lanescope.workbench.copies.block_indices import find_equal_blocks
from lanescope.workbench.fragments.descriptor_slices import find_descriptor_slice_mistakes
from lanescope.workbench.fragments.fragment_causes import (
    History,
    JudgedProduct,
    find_k_order,
    find_wrong_k_step,
    has_other_rows,
    identify_fragments,
    is_order_open,
    judge_fragment,
    list_register_products,
    list_unsure_steps,
)
from lanescope.workbench.fragments.fragment_messages import describe_fragment
from lanescope.workbench.fragments.fragment_report import FragmentReport
from lanescope.workbench.fragments.lane_blame import (
    blame_opcode,
    find_direct_site,
    find_misordered_registers,
    find_repeated_register,
    find_wrong_value,
)
from lanescope.workbench.fragments.operand_slices import find_slice_mistakes, find_unset_registers
from lanescope.workbench.fragments.register_sums import find_sum_mistakes
from lanescope.workbench.fragments.run_verdicts import RunVerdicts, choose_verdicts
from lanescope.workbench.fragments.scale_ids import find_scale_mistakes
from lanescope.workbench.fragments.skipped_slices import find_skipped_slices
from lanescope.workbench.fragments.store_mistakes import find_clashes, find_misaligned_stores
from lanescope.workbench.fragments.thread_descriptors import has_doubtful_reads, judge_descriptors, locate_stored
from lanescope.workbench.fragments.thread_fragments import ArrivedOperand, find_mma, locate_operand
from lanescope.workbench.fragments.thread_gaps import (
    NOT_REACHED,
    PITCH_OPEN,
    CheckedKernel,
    describe_open_operand,
    describe_run,
    fills_tiles,
    find_name,
    find_skipped_loop,
    list_kernels_by_text,
    take_gap,
)
from lanescope.workbench.fragments.thread_steps import Product
from lanescope.workbench.fragments.warp_coverage import find_repeated_warps
from lanescope.workbench.kernels.address_values import find_lane_term
from lanescope.workbench.products.matrix_pitches import find_open_pitches
from lanescope.workbench.products.result_stores import find_misplaced_results
from lanescope.workbench.results import CheckFinding, Span, keep_common

_USES = re.compile(
    r"\bmma\s*\.\s*(?:sp(?:::\w+)?\s*\.\s*)?sync|\bmma_sync\s*\(|wgmma\.mma_async|tcgen05\.mma\b|\bSM(?:75|80|89|120)_\d+x\d"
)
MOST_JUDGED, MOST_ALIKE = 600, 48  # places with products; pairs of fragments of each
MOST_OF_SUM = 1000  # products of one place, to judge those of its first accumulators
TITLES = {  # matrices_exchanged has its title among the causes of a capture
    "trans_missing": "ldmatrix lacks .trans",
    "trans_or_exchanged": "ldmatrix's .trans is wrong, or its matrices are exchanged",
    "trans_extra": "ldmatrix has .trans and must not",
    "k_step_differs": "A and B move along K by different steps",
    "registers_exchanged": "Registers of a fragment are given to mma in another order",
    "register_repeated": "A register of a fragment is given to mma twice",
    "rows_repeated": "Lanes of ldmatrix give rows twice",
    "rows_misaligned": "Rows of ldmatrix are not multiples of 16 bytes apart",
    "k_repeated": "Positions along K are loaded twice",
    "wmma_layout": "A wmma fragment has the other layout than its tile",
    "fragment_mismatch": "A fragment takes elements from the wrong places",
    "tile_not_filled": "A fragment takes bytes that no thread stores",
    "store_misaligned": "A store to shared memory is not aligned to its bytes",
    "cute_copy_misfit": "CuTe cannot copy a tensor by this atom",
    "cute_gemm_misfit": "CuTe cannot multiply fragments of different tiles",
    "cute_index_over": "An index is outside its mode of a CuTe tensor",
    "stores_overlap": "Two threads store different elements in the same bytes",
}


def check_thread_tiles(
    text: str, macros: Mapping[str, str], recorded: Sequence[KernelLaunchRecord] = ()
) -> FragmentReport:
    """Check the tiles that a text's kernels fill by threads and multiply by mma."""
    kernels = list(list_kernels_by_text(text))
    used = ("mma" in text or "SM" in text) and (_USES.search(text) is not None or fills_tiles(text))
    if not is_kernel_head(text) or not used:
        return FragmentReport(kernels=[_close_report(kernel, NOT_REACHED) for kernel in kernels])
    try:
        reports = [_merge_runs(text, of_branch) for of_branch in _list_verdicts(text, macros, recorded)]
    except LayoutError as error:
        return FragmentReport(kernels=[_close_report(kernel, f"not followed: {error.message}") for kernel in kernels])
    if not reports:
        left = "with more choices of #if, or longer macros, than are followed"
        return FragmentReport(kernels=[_close_report(kernel, left) for kernel in kernels])
    return _intersect_reports(reports, kernels)


def _list_verdicts(
    text: str, macros: Mapping[str, str], recorded: Sequence[KernelLaunchRecord]
) -> list[list[RunVerdicts]]:
    """Return the verdicts on a text's kernels for each choice of #if; a kernel whose fragments are loaded from where is
    not known is run again for known sizes.
    """
    branches = [[_judge_kernel(run, recorded) for run in runs] for runs in run_kernels(text, macros, recorded)]
    for name in {one.run.function.name for of_branch in branches for one in of_branch if one.lacks_places}:
        sized = run_kernels(text, macros, recorded, size=KNOWN_SIZE, only=name)
        again = ([_judge_kernel(run, recorded) for run in runs] for runs in sized)
        branches = [choose_verdicts(*each) for each in zip(branches, again, strict=True)]
    return branches


def check_runs(text: str, runs: Iterable[KernelRun], recorded: Sequence[KernelLaunchRecord]) -> FragmentReport:
    """Check the fragments of runs of a kernel in which it is known where they come from."""
    return _merge_runs(text, [_judge_kernel(run, recorded) for run in runs])


def _intersect_reports(reports: Sequence[FragmentReport], kernels: Iterable[CheckedKernel]) -> FragmentReport:
    """Return the findings that hold for every choice of #if that was followed."""
    judged = [report for report in reports if report.verified or report.findings] or reports[:1]
    common = keep_common([report.findings for report in judged])
    proved = frozenset.intersection(*(report.proved for report in reports))
    described, doubted = (
        frozenset.intersection(*(getattr(report, name) for report in reports)) for name in ("described", "doubted")
    )
    suspects = reports[0].suspects if len(reports) == 1 else []
    verified = min(report.verified for report in reports)
    return FragmentReport(common, verified, _list_gaps(reports, kernels), proved, described, doubted, suspects)


def _list_gaps(reports: Sequence[FragmentReport], kernels: Iterable[CheckedKernel]) -> list[CheckedKernel]:
    """Return the kernels of a text with the gaps of their runs, and those of wgmma whose pitches are open."""
    runs = [run for report in reports for run in report.kernels]
    listed = [take_gap(kernel, runs) for kernel in kernels]
    others = {run.span: run for run in runs if run.gap.startswith(PITCH_OPEN)}
    return listed + [run for span, run in others.items() if span not in {kernel.span for kernel in listed}]


def _close_report(kernel: CheckedKernel, gap: str) -> CheckedKernel:
    return replace(kernel, gap=kernel.gap or gap)


def _merge_runs(text: str, branch: Sequence[RunVerdicts]) -> FragmentReport:
    """Return the findings of the runs of a text's kernels for one choice of #if."""
    report = FragmentReport()
    good: set[object] = set()
    runs = [one.run for one in branch]
    for run, verdicts in zip(runs, branch, strict=True):
        good |= verdicts.good
        gap, needs = describe_run(run, verdicts.uses, verdicts.judged, verdicts.unsure)
        gap = next((one.message for one in verdicts.pitches), gap)
        operand = describe_open_operand(text, verdicts.uses, verdicts.judged)
        name, at = run.function.name, find_skipped_loop(text, run.runner, gap)
        left = len(_list_left(verdicts))
        report.kernels.append(CheckedKernel(name, find_name(text, run.function), gap, needs, operand, at, left))
        kernel_errors = [CheckFinding(code, why, site) for why, (code, site) in run.runner.kernel_errors.items()]
        report.findings += kernel_errors
        if kernel_errors:  # what else is wrong follows from these
            continue
        clashes = list(find_clashes(run.runner))
        if run.complete:
            _add_complete_run(report, run, verdicts)
        report.findings += find_scale_mistakes(run.runner.products)
        judged = _keep_first((*_make_findings(text, verdicts), *judge_descriptors(run.runner, run.complete, good)))
        if run.complete and not judged:
            judged = find_descriptor_slice_mistakes(run.runner, list(locate_stored(run.runner)))
        good -= verdicts.list_open()
        pitches = [one.finding for one in verdicts.pitches if one.finding is not None]
        report.findings += clashes or judged or pitches  # which places are wrong follows from another mistake
        if not any(finding.code == "rows_misaligned" for finding in judged):
            report.findings += find_misaligned_stores(run.runner)
    unique = {(f.code, f.span): f for f in reversed(report.findings)}
    findings = sorted(unique.values(), key=lambda f: f.span)
    proved, described = _list_proved(runs, good), _list_described(runs, good)
    return FragmentReport(findings, len(good), report.kernels, proved, described, report.doubted, report.suspects)


def _list_left(verdicts: RunVerdicts) -> set[object]:
    """Return the reads without a verdict: their places, and A or B."""
    of_products = (((use.span, use.calls), use, operand) for use, *pair in verdicts.pairs for operand in pair)
    left = ((use, one) for key, use, one in of_products if (*key, one.name) not in verdicts.judged)
    reads: set[object] = {(*_find_site(use, load), one.name) for use, one in left for load in one.loads or (None,)}
    return reads - verdicts.good


def _add_complete_run(report: FragmentReport, run: KernelRun, verdicts: RunVerdicts) -> None:
    """Add the mistakes that are certain only if the whole kernel was run."""
    doubtful = not run.runner.indices and has_doubtful_reads(run.runner, verdicts.list_warps())
    report.doubted |= {run.function.name} if doubtful else set()
    report.findings += find_unset_registers(run.runner)
    report.findings += find_sum_mistakes(run.runner)
    if verdicts.judged >= verdicts.uses.keys() and not verdicts.bad:  # rows of D are those of A, which may be permuted
        has_pitches = all(one.finding is None for one in verdicts.pitches)  # else wrong places of D follow from them
        report.findings += find_misplaced_results(run.runner) if has_pitches else ()
        report.findings += find_equal_blocks(run.runner)
    if not verdicts.bad and not run.runner.shared.broken:
        repeated = list(find_repeated_warps(run.function.name, run.runner, verdicts.list_pairs()))
        report.findings += [one.finding for one in repeated if not one.array]
        pairs = [pair for pair in verdicts.pairs if not pair[1].unpacked and not pair[2].unpacked]  # else: in any order
        slices = find_slice_mistakes(run.runner, pairs)
        report.findings += slices or find_skipped_slices(run.runner, pairs)
        report.suspects += [one for one in repeated if one.array]


def _list_proved(runs: Iterable[KernelRun], good: Container[object]) -> frozenset[tuple[str, str]]:
    """Return the (instruction, operand) pairs of which every descriptor that was read is right."""
    uses = [use for run in runs for use in run.runner.descriptors]
    unproved = {(use.opcode, use.name) for use in uses if (use.span, use.calls, use.name) not in good}
    return frozenset((use.opcode, use.name) for use in uses) - unproved


def _list_described(runs: Sequence[KernelRun], good: Container[object]) -> frozenset[str]:
    """Return the kernels that read descriptors of tiles that they load, all right, in runs that have ended."""
    incomplete = {
        run.function.name
        for run in runs
        if not run.complete or any((use.span, use.calls, use.name) not in good for use in run.runner.descriptors)
    }
    reading = (run.function.name for run in runs if run.runner.descriptors and not run.runner.indices)
    return frozenset(reading) - incomplete


def _keep_first(findings: Iterable[CheckFinding]) -> list[CheckFinding]:
    """Keep one finding for each place, preferring any cause over unfilled bytes."""
    first_findings: dict[Span, CheckFinding] = {}
    for finding in findings:
        before = first_findings.get(finding.span)
        if before is None or before.code == "tile_not_filled":
            first_findings[finding.span] = finding
    return list(first_findings.values())


def _judge_kernel(run: KernelRun, recorded: Sequence[KernelLaunchRecord]) -> RunVerdicts:
    """Judge the products of a kernel, each fragment once."""
    verdicts = RunVerdicts(run)
    seen: set[object] = set()
    count: dict[object, int] = {}
    first_sums: dict[object, MmaUse] = {}  # the first product of each place
    history: History = {}
    waiting: list[tuple[JudgedProduct, ArrivedOperand, ArrivedOperand]] = []
    pairs: dict[object, list[Product]] = {}
    located: dict[object, ArrivedOperand] = {}
    for use in run.runner.products:
        key = use.span, use.calls
        verdicts.uses |= dict.fromkeys(((*key, "a"), (*key, "b")), find_mma(use.opcode) is not None)
        identities = identify_fragments(key, use)
        if all(one in located for one in identities):
            verdicts.again.append((located[identities[0]], located[identities[1]]))
        which = set(identities)
        count[key] = count.get(key, 0) + (not which <= seen)
        sums = use.result is not None and first_sums.setdefault(key, use).has_result_of(use)
        if which <= seen or count[key] > (MOST_OF_SUM if sums else MOST_ALIKE) or len(count) > MOST_JUDGED:
            continue
        seen |= which
        instruction = find_mma(use.opcode)
        if instruction is not None:
            a, b = (locate_operand(run.runner, use, instruction, name) for name in "ab")
            located |= zip(identities, (a, b), strict=True)
            for operand in (a, b):
                if operand.warps is not None:
                    history.setdefault((key, operand.name), []).append((use.turns, operand.warps))
            same = pairs.setdefault(key, [])
            waiting.append((JudgedProduct(run, use, history, same), a, b))
            same.append((use, {"a": a, "b": b}))
    verdicts.pairs = [(judge.use, a, b) for judge, a, b in waiting]
    verdicts.pitches = find_open_pitches(run, verdicts.pairs, recorded)
    for judge, a, b in (*waiting, *list_register_products(run, history, verdicts.uses)):
        _judge_product(judge, a, b, verdicts)
    verdicts.good -= verdicts.doubted
    verdicts.judged -= verdicts.unsure
    return verdicts


def _judge_product(judge: JudgedProduct, a: ArrivedOperand, b: ArrivedOperand, verdicts: RunVerdicts) -> None:
    stuck = find_wrong_k_step(judge, a, b)
    orders = {operand.name: find_k_order(operand) for operand in (a, b)}
    unsure = list_unsure_steps(judge, a, b)
    for operand, other in ((a, b), (b, a)):
        if not operand.registers:
            continue
        if not all(load.aligned for load in operand.loads):
            verdicts.judged.add((judge.use.span, judge.use.calls, operand.name))
            _add_finding(verdicts, judge.run.runner, judge.use, operand, "rows_misaligned")
            continue
        if is_order_open(operand, orders[operand.name]) or (operand.unpacked and stuck == operand.name):
            verdicts.unsure.add((judge.use.span, judge.use.calls, operand.name))
            continue
        code = judge_fragment(judge, operand, other, orders, stuck)
        if code == "" and (operand.name in unsure or has_other_rows(judge, operand)):
            verdicts.unsure.add((judge.use.span, judge.use.calls, operand.name))
            verdicts.doubted |= {(*_find_site(judge.use, load), operand.name) for load in operand.loads or (None,)}
        elif code is not None:
            verdicts.judged.add((judge.use.span, judge.use.calls, operand.name))
            _add_finding(verdicts, judge.run.runner, judge.use, operand, code)


def _add_finding(verdicts: RunVerdicts, run: KernelRunner, use: MmaUse, arrived: ArrivedOperand, code: str) -> None:
    loads: tuple[MatrixLoad | None, ...] = arrived.loads or (None,)
    for load in loads:
        site, calls = _find_site(use, load)
        if not code:
            if (use.span, use.calls, arrived.name) not in verdicts.list_open():
                verdicts.good.add((site, calls, arrived.name))
            continue
        code, load, direct = _find_mistake(run, use, arrived, code, load)
        key = code, site, calls, arrived.name
        if key in verdicts.bad:
            before = verdicts.bad[key]
            verdicts.bad[key] = (*before[:3], before[3] + 1)
        else:
            message = describe_fragment(arrived, code)
            if use.fragments:
                message = message.replace(arrived.instruction.ptx, "wmma::mma_sync", 1)
            verdicts.bad[key] = message, load, direct, 1
        if arrived.warps and arrived.warps[0].computed:
            verdicts.computed.add(key)


def _find_site(use: MmaUse, load: MatrixLoad | None) -> tuple[Span, tuple[Span, ...]]:
    """Return the place of an ldmatrix and the calls around it; those of the product if there is none."""
    return (load.span, load.calls) if load is not None else (use.span, use.calls)


def _find_mistake(
    run: KernelRunner, use: MmaUse, arrived: ArrivedOperand, code: str, load: MatrixLoad | None
) -> tuple[str, MatrixLoad | None, Span]:
    """Return (code, the load that is wrong, else the place) of a mistake whose fragment got this load."""
    if code in _EXCHANGED and (ordered := find_misordered_registers(run.text, use, arrived)) is not None:
        return "registers_exchanged", None, ordered
    if code in _OF_LANES and (repeated := find_repeated_register(arrived)) is not None:
        return "register_repeated", None, repeated.site
    if code in _OF_LANES and load is not None and (value := find_wrong_value(run, arrived, load)) is not None:
        return code, None, value
    if code == "k_step_differs" and load is not None:
        return code, None, load.step
    return code, load, find_direct_site(run, use, arrived, code)


_EXCHANGED = ("matrices_exchanged", "trans_or_exchanged")
_OF_LANES = ("fragment_mismatch", "k_repeated", "rows_repeated", "matrices_exchanged")


# places ---------------------------------------------------------------------------------------------------------------


def _make_findings(text: str, verdicts: RunVerdicts) -> Iterable[CheckFinding]:
    first = verdicts.bad.keys() - verdicts.computed  # what is computed of a wrong product is wrong, too
    for key, (message, load, direct, reads) in verdicts.bad.items():
        code, site, calls, name = key
        if first and key in verdicts.computed:
            continue
        if code in _EXCHANGED and load is not None and (site, calls, name) in verdicts.good:
            why = "other registers of the same ldmatrix make right fragments: this mma is given the wrong ones."
            yield CheckFinding("registers_exchanged", f"{message.partition(': ')[0]}: {why}", direct, reads)
        elif load is None:
            yield CheckFinding(code, message, direct, reads)
        elif code in ("trans_missing", "trans_extra"):
            yield CheckFinding(code, message, blame_opcode(text, verdicts.good, code, (site, calls)), reads)
        else:
            narrow = code in ("rows_repeated", "k_repeated")
            place = find_lane_term(text, load.site, calls, code) if narrow else load.site
            yield CheckFinding(code, message, place, reads)
