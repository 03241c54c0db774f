"""Run the catalogue on the device of this machine and report, variant by variant, whether hardware agrees with the
maps.

Besides the instructions: random descriptors against the address model, and random lane addresses against the bank
model.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from lanescope.app.hardware import (
    bank_counters,
    bank_runs,
    capture_verdicts,
    chain_runs,
    code_runs,
    delivery_runs,
    descriptor_runs,
    fragment_runs,
    kernel_source,
    map_calls,
    mma_runs,
    product_inputs,
    script_runs,
    tensor_memory,
    tensor_probes,
    tma_boxes,
)
from lanescope.app.hardware.device import CudaDevice, RunDevice, compile_text
from lanescope.app.hardware.device_targets import explain_unsupported
from lanescope.app.hardware.evidence import PARTS, build_meta, check_part
from lanescope.app.hardware.samples import CaseCounts, take_first_of_each
from lanescope.descriptor import matrix as desc
from lanescope.errors import LayoutError
from lanescope.product.planning import is_plannable
from lanescope.ptx import catalog, hardware_runs
from lanescope.ptx.instruction import Instruction, OperandPlace
from lanescope.shared.banks import ACCESSES, list_regular_addresses

BATCH = 12
Job = TypeVar("Job")
DESCRIPTOR_RUNS, BANK_RUNS = 40, 40
# Cases of each kind in a quick verification; descriptors take one of every swizzle mode.
QUICK = {
    "descriptors": 4,
    "banks": 4,
    "counters": 4,
    "chains": 1,
    "code": 1,
    "delivery": 1,
    "programs": 3,
    "boxes": 3,
    "maps": 40,
    "captures": 1,
}
Progress = Callable[[str, str, int], None]
Stage = Callable[[str], None]
ALL = slice(None)


@dataclass(frozen=True)
class VariantJob:
    """One variant in one form: the kernels it needs and the methods that judge it."""

    instruction: Instruction
    form: str

    @property
    def key(self) -> str:
        return self.instruction.ptx + (hardware_runs.SHARED_A if self.form == "shared" else "")

    @property
    def methods(self) -> tuple[str, ...]:
        product_method = ("mma",) if is_plannable(self.instruction) else ()
        has_fragment = self.form == "registers" and not (product_method and not self.instruction.family.specified)
        return (*product_method, "fragment") if has_fragment else product_method

    def list_kernels(self) -> list[str]:
        """List every kernel that its runs launch, named k."""
        i = self.instruction
        if i.family.moves or i.family.memory is OperandPlace.ROWS:
            return [kernel_source.render_movement(i, "k")]
        if not is_plannable(i):
            return [kernel_source.render_matrix_access(i, "k")]
        kernels = [kernel_source.render_product(i, "k", self.form)]
        sparsity = i.operands["a"].sparsity
        if sparsity and self.form == "registers":
            kernels += [
                kernel_source.render_product(i, "k", self.form, {"f": str(n)}) for n in range(1, sparsity.selectors)
            ]
        if "fragment" in self.methods and i.family.by_descriptor:
            kernels.append(
                kernel_source.render_product(i, "k", "shared")
            )  # D is measured with both operands in shared memory
        return kernels

    def run_methods(self, device: RunDevice) -> dict[str, str]:
        """Run each method and return method → "agrees", or what differs."""
        outcomes = {}
        if "mma" in self.methods:
            answer = mma_runs.run_mma(device, self.instruction, self.form)
            outcomes["mma"] = (
                "agrees" if answer["agrees"] else f"differs: {len(answer['mismatches'])} of {answer['compared']}"
            )
        if "fragment" in self.methods:
            measured = fragment_runs.measure_all(device, self.instruction)
            wrong = [f"{m.operand} {int(m.wrong.sum())} of {m.wrong.size}" for m in measured if m.wrong.any()]
            outcomes["fragment"] = "agrees" if not wrong else f"differs: {', '.join(wrong)}"
        return outcomes


def generate_jobs(target: str, family: str = "") -> Iterator[VariantJob]:
    """Yield everything that a target supports and this program can run."""
    for instruction in catalog.instructions():
        if (
            (family and instruction.family.name != family)
            or explain_unsupported(target, instruction)
            or fragment_runs.explain_unmeasured(instruction)
        ):
            continue
        yield from (VariantJob(instruction, form) for form in instruction.family.forms)


def compile_batch(target: str, batch: list[str]) -> bytes:
    """Compile several kernels, k0 k1 …, into one cubin."""
    return compile_text(
        "\n".join(f"namespace n{n} {{\n{rename_kernel(text, n)}}}" for n, text in enumerate(batch)), target
    )


def rename_kernel(text: str, number: int) -> str:
    """Return a kernel's text under the name k<number>."""
    return text.replace("__global__ void k(", f"__global__ void k{number}(")


def sample_jobs(jobs: list[VariantJob]) -> list[VariantJob]:
    """Choose one variant of every row of the tables, in every form of it; the same in every run."""
    choose = random.Random(product_inputs.SEED)
    rows: dict[tuple[int, str], list[VariantJob]] = {}
    for job in jobs:
        rows.setdefault((id(job.instruction.family), job.form), []).append(job)
    return [choose.choice(row_jobs) for row_jobs in rows.values()]


def verify_device(
    family: str = "",
    progress: Progress = lambda key, result, total: None,
    part: str = "",
    quick: bool = False,
    announce: Stage = lambda stage: None,
) -> dict[str, Any]:
    """Run everything, one family, or one part; return {"meta": …, "results": {variant: {method: "agrees" or what
    differs}}, "descriptors": …, …}.

    quick: run a sample of every kind; announce: called with each stage as it begins.
    """
    if family and family not in catalog.FAMILY_NAMES:
        raise LayoutError(
            "unknown_family", f"No family '{family[:60]}'.", f"Allowed: {', '.join(catalog.FAMILY_NAMES)}.", "family"
        )
    check_part(part)
    if part and family:
        raise LayoutError("bad_usage", "--family and --part exclude each other.", "Give --family or --part.", "part")
    device = CudaDevice()
    jobs = [] if part else list(generate_jobs(device.target, family))
    jobs = sample_jobs(jobs) if quick else jobs
    if jobs:
        announce(f"{len(jobs):,} forms of instructions")
    results = run_jobs(device, jobs, progress)
    evidence: dict[str, Any] = {"meta": build_meta(device.info()), "results": dict(sorted(results.items()))}
    parts = (part,) if part else _list_parts(family)
    skipped = list_skipped_parts(device.target)
    if reason := bank_counters.explain_no_counters():
        skipped["counters"] = reason
    for name in parts:
        if name not in skipped:
            announce(name)
            evidence[name] = run_part(device, name, per_kind=QUICK.get(name, 0) if quick else 0)
    return evidence | ({"skipped": skipped} if skipped.keys() & set(parts) else {})


def _list_parts(family: str) -> tuple[str, ...]:
    """Return the parts that belong to a family, or all of them."""
    if not family:
        return tuple(PARTS)
    described = any(row.by_descriptor for row in catalog.families() if row.name == family)
    return ("descriptors",) if described else ()


def list_skipped_parts(target: str) -> dict[str, str]:
    """List the parts that an architecture cannot run, each with the reason."""
    reason = tensor_memory.explain_no_tensor_memory(target)
    return {"tcgen05": reason} if reason else {}


def _load_kernels(
    device: CudaDevice, jobs: Sequence[Job], list_kernels: Callable[[Job], Iterable[str]]
) -> Iterator[Job]:
    """Yield jobs whose kernels are on the device; they are compiled in batches, ahead of it."""
    batches = [jobs[n : n + BATCH] for n in range(0, len(jobs), BATCH)]

    def compile_kernels(batch: Sequence[Job]) -> tuple[dict[str, str], bytes]:
        texts = list(dict.fromkeys(text for job in batch for text in list_kernels(job)))
        return {text: f"k{n}" for n, text in enumerate(texts)}, compile_batch(device.target, texts)

    with ThreadPoolExecutor(12) as pool:
        for batch, (names, cubin) in zip(batches, pool.map(compile_kernels, batches), strict=True):
            device.preload(names, cubin)
            yield from batch


def run_jobs(device: CudaDevice, jobs: list[VariantJob], progress: Progress) -> dict[str, dict[str, str]]:
    """Execute variants: {variant: {method: "agrees" or what differs}}; they are compiled in batches, ahead of the
    device.
    """
    results: dict[str, dict[str, str]] = {}
    for job in _load_kernels(device, jobs, VariantJob.list_kernels):
        results[job.key] = job.run_methods(device)
        wrong = [f"{method} {text}" for method, text in results[job.key].items() if text != "agrees"]
        progress(job.key, "; ".join(wrong) or "agrees", len(jobs))
    return results


def verify_descriptors(device: RunDevice, per_kind: int = 0) -> dict[str, dict[str, Any]]:
    """Count the maps that agree, for random descriptors of every swizzle mode, by instruction, operand and major."""
    runs = per_kind or DESCRIPTOR_RUNS
    counts = CaseCounts()
    rng = np.random.default_rng(product_inputs.SEED)
    cases = [
        ("wgmma.mma_async.m64n64k16.f32.f16.f16", ("K", "MN")),
        ("wgmma.mma_async.m64n128k16.f32.bf16.bf16", ("K", "MN")),
        ("wgmma.mma_async.m64n32k32.s32.u8.u8", ("K",)),
        ("wgmma.mma_async.m64n64k8.f32.tf32.tf32", ("K",)),
        ("wgmma.mma_async.m64n256k32.f32.e4m3.e4m3", ("K",)),
        ("wgmma.mma_async.m64n8k256.s32.b1.b1.and.popc", ("K",)),
        ("wgmma.mma_async.sp.m64n32k32.f32.f16.f16", ("K", "MN")),
        ("wgmma.mma_async.sp.m64n64k64.s32.s8.s8", ("K",)),
        ("wgmma.mma_async.sp.m64n16k16.f32.tf32.tf32", ("K",)),
    ]
    for text, majors in cases:
        instruction = catalog.find(text)
        if device.supports(instruction):
            continue
        for major in majors:
            for operand in ("a", "b"):
                ran = 0
                while ran < runs:
                    start, lbo, sbo = (int(rng.integers(0, most)) * 16 for most in (1024, 256, 256))
                    word = desc.encode_wgmma(
                        start, lbo, sbo, int(rng.integers(0, 8)), ("none", "32B", "64B", "128B")[ran % 4]
                    )
                    try:
                        answer = descriptor_runs.run_descriptor(device, instruction, word, operand, major)
                    except LayoutError as error:
                        if error.code not in ("reads_outside", "no_room"):
                            raise
                        continue
                    ran += 1
                    counts.add(f"{instruction.ptx} {operand} {major}-major", answer["agrees"], str(word))
    return counts


def verify_banks(device: CudaDevice, per_kind: int = 0) -> dict[str, dict[str, Any]]:
    """Count the clocks that agree, for strided, equal and random lane addresses of every access."""
    counts_by_access: dict[str, dict[str, Any]] = {}
    for name, cases in _list_bank_cases(device, per_kind).items():
        answers = [bank_runs.run_banks(device, name, case) for case in cases]
        counts_by_access[name] = {
            "ran": len(answers),
            "agreed": sum(answer["agrees"] for answer in answers),
            "cycles_one_address": answers[0]["measured"]["cycles_one_address"],
            "most_cycles": max(answer["measured"]["cycles"] for answer in answers),
        }
    return counts_by_access


def _list_bank_cases(device: CudaDevice, per_kind: int = 0) -> dict[str, list[list[int]]]:
    """List the lane addresses that every access of a device is tried with: regular ones, then random ones."""
    rng = np.random.default_rng(product_inputs.SEED)
    cases_by_access = {}
    for name, row in ACCESSES.items():
        if row.matrices and float(device.info()["compute_capability"]) < (9.0 if row.stores else 7.5):
            continue
        cases = list(list_regular_addresses(row).values())
        cases += [
            (rng.integers(0, (64, 512, 2048)[n % 3], row.lanes) * row.bytes).tolist()
            for n in range(BANK_RUNS - len(cases))
        ]
        cases_by_access[name] = cases[:: len(cases) // per_kind if per_kind else 1]
    return cases_by_access


def verify_counters(device: CudaDevice, per_kind: int = 0) -> dict[str, dict[str, Any]]:
    """Count the address patterns, with all lanes active and with some, for which ncu confirms the prediction."""
    rng = np.random.default_rng(product_inputs.SEED)
    cases: list[bank_counters.Case] = []
    for name, addresses in _list_bank_cases(device, per_kind).items():
        cases += [(name, case) for case in addresses]
        if not ACCESSES[name].matrices:
            cases += [(name, bank_counters.silence_lanes(case, rng)) for case in addresses]
    return bank_counters.run_counters(cases, device.number)


class KernelCase(Protocol):
    """One generated function to be judged: the key that it is counted under, and its kernel's text."""

    @property
    def key(self) -> str: ...

    def render_kernel(self) -> str: ...

    def run_case(self, device: CudaDevice) -> bool: ...


def verify_chains(device: CudaDevice, selection: slice = ALL, per_kind: int = 0) -> dict[str, dict[str, Any]]:
    """Count the generated ldmatrix loads and stmatrix stores that put every byte right, by the operand they serve."""
    cases = take_first_of_each(list_chains(device), lambda case: case.key, per_kind)
    return _judge_cases(device, cases[selection])


def list_chains(device: script_runs.InstructionSupport) -> list[chain_runs.ChainCase]:
    """List the chains that a device can run."""
    return [case for case in chain_runs.generate_cases() if not device.supports(case.chain.load.instruction)]


def verify_code(device: CudaDevice, selection: slice = ALL, per_kind: int = 0) -> dict[str, dict[str, Any]]:
    """Count the generated functions of no other part whose words all agree with the maps, by purpose."""
    cases = take_first_of_each(code_runs.generate_cases(), lambda case: case.key, per_kind)
    return _judge_cases(device, cases[selection])


def verify_delivery(device: CudaDevice, per_kind: int = 0) -> dict[str, dict[str, Any]]:
    """Count the programs from storage to operand whose words all agree with the maps."""
    cases = take_first_of_each(delivery_runs.generate_cases(device.target), lambda case: case.key, per_kind)
    return _judge_cases(device, cases)


def _judge_cases(device: CudaDevice, cases: Sequence[KernelCase]) -> dict[str, dict[str, Any]]:
    """Count how many cases of each key ran and agreed; their kernels are compiled in batches, ahead of the device."""
    counts = CaseCounts()
    for case in _load_kernels(device, cases, lambda case: [case.render_kernel()]):
        counts.add(case.key, case.run_case(device))
    return counts


_VERIFY: dict[str, Callable[..., dict[str, dict[str, Any]]]] = {
    "descriptors": verify_descriptors,
    "banks": verify_banks,
    "counters": verify_counters,
    "chains": verify_chains,
    "programs": script_runs.run_scripts,
    "code": verify_code,
    "delivery": verify_delivery,
    "boxes": tma_boxes.run_boxes,
    "maps": map_calls.run_maps,
    "captures": capture_verdicts.run_verdicts,
    "tcgen05": lambda device, per_kind: tensor_probes.run_probes(tensor_memory.CudaTensorDevice(device)),
}


def run_part(device: Any, part: str, selection: slice = ALL, per_kind: int = 0) -> dict[str, dict[str, Any]]:
    """Run one part on a device. some: these of the parts whose cases are counted; per_kind: so many cases of each kind
    instead of all.
    """
    run = _VERIFY[part]
    return run(device, per_kind=per_kind) if selection == ALL else run(device, selection)
