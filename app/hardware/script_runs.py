"""A sample of the generated CuPy scripts, each executed unchanged: the whole programs of `lanescope gpu verify`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle
from typing import Any, Protocol

import numpy as np

from lanescope import find
from lanescope.app.hardware.samples import CaseCounts, take_first_of_each
from lanescope.errors import LayoutError
from lanescope.product.plan import ProductPlan, RowsSide
from lanescope.product.planning import make_plan
from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction
from lanescope.render import kernel
from lanescope.shared.swizzle import MODES

# The four worked examples of the guide, then the other choices of a reader: steps of K, an atom order,
# a slice of a larger tile, tiles off the pattern's boundary swizzled by address and by their own start, signs, no C;
# rows, panels, layouts as CuTe prints them.
F16 = "wgmma.mma_async.m64n32k16.f32.f16.f16"
CUTE = (  # CuTe's text of the second and third worked example
    "Sw<2,4,3> o smem_ptr16b o ((32,2),(8,2)):((1,256),(32,512))",
    "Sw<0,4,3> o smem_ptr16b o ((8,4),(8,2)):((1,64),(8,256))",
    "Sw<3,4,3> o smem_ptr16b o ((64,1),(8,2)):((1,512),(64,512))",
    "Sw<1,4,3> o smem_ptr16b o ((8,4),(16,1)):((16,128),(1,512))",
)
CHOSEN = (
    ("", "", ""),
    ("major=MN,swizzle=64B,order=mn", "major=MN,order=mn", ""),
    ("major=MN,swizzle=128B,order=mn", "swizzle=32B", ""),
    ("from=registers", "major=MN,swizzle=64B,order=mn", ""),
    ("swizzle=128B,k=128", "swizzle=128B,order=k", ""),
    ("major=MN,swizzle=64B,order=mn,mn=128,first=64,k=64", "major=MN,swizzle=32B,order=k", "scale=0"),
    ("swizzle=128B,base=128", "swizzle=64B,base=16512", ""),
    ("swizzle=128B,swizzle_by=tile,base=384", "major=MN,swizzle=64B,swizzle_by=tile,base=16512", ""),
    ("scale=-1,swizzle=32B", "swizzle=128B", ""),
    ("from=registers,k=32,scale=-1", "scale=-1", "scale=0"),
    (
        "kind=rows,pitch_bytes=128,swizzle=128B,k=64",
        "kind=atoms,width_bytes=64,outer8_stride=512,inner_stride=2048,swizzle=64B",
        "",
    ),
    (f"kind=cute,major=MN,layout={CUTE[0]}", f"kind=cute,major=MN,layout={CUTE[1]},base=4096", ""),
    (f"kind=cute,major=MN,layout={CUTE[2]},scale=-1", f"kind=cute,layout={CUTE[3]}", "scale=0"),
)
# wgmma and wgmma.sp of every kind of type and several N; f16 and bf16 in both majors.
WGMMA = (
    "wgmma.mma_async.m64n8k16.f16.f16.f16",
    "wgmma.mma_async.m64n256k16.f32.bf16.bf16",
    "wgmma.mma_async.m64n24k8.f32.tf32.tf32",
    "wgmma.mma_async.m64n64k32.f32.e4m3.e5m2",
    "wgmma.mma_async.m64n96k32.s32.s8.u8",
    "wgmma.mma_async.m64n16k256.s32.b1.b1.and.popc",
    "wgmma.mma_async.sp.m64n32k32.f32.f16.f16",
    "wgmma.mma_async.sp.m64n16k16.f32.tf32.tf32",
    "wgmma.mma_async.sp.m64n40k64.f16.e5m2.e4m3",
    "wgmma.mma_async.sp.m64n128k64.s32.u8.u8",
)


class InstructionSupport(Protocol):
    """Interface: which instructions a device has."""

    def supports(self, instruction: Instruction) -> str: ...


def generate_plans(device: InstructionSupport) -> Iterator[ProductPlan]:
    """Yield at most 150 plans that the device can run, the same ones in every run."""
    if not device.supports(find(F16)):
        yield from (make_plan(find(F16), *options) for options in CHOSEN)
        for i in map(find, WGMMA):
            yield from _generate_mode_plans(i)
    seen = set()
    for i in catalog.instructions():
        key = (id(i.family), i.shape)
        if i.family.by_descriptor or key in seen or device.supports(i):
            continue
        try:
            plan = make_plan(i)
        except LayoutError:
            continue
        seen.add(key)
        yield plan
        if i.operands["a"].sparsity and i.operands["a"].sparsity.selectors > 1:
            yield make_plan(i, "selector=1")
        elif (
            plan.a.container_bits == 16
            and isinstance(plan.a, RowsSide)
            and i.operands["a"].sparsity is None
            and len(i.operands["a"].axes) == 2
        ):
            yield make_plan(i, "major=MN,swizzle=64B,pitch_bytes=128", "major=MN,load=elements")


def _generate_mode_plans(i: Instruction) -> Iterator[ProductPlan]:
    """Yield every mode and major of A, each with another of B; A from registers with the last."""
    majors = ("K", "MN") if i.types["a"] in ("f16", "bf16") else ("K",)
    forms = [f"swizzle={mode.name},major={major}" for major in majors for mode in MODES]
    other = cycle(forms[::-1])
    for a, b in zip(forms, other, strict=False):
        yield make_plan(i, a, b)
    yield make_plan(i, "from=registers", forms[-1])


def run_script(plan: ProductPlan) -> bool:
    """Execute a plan's script unchanged and return whether D equals the script's own NumPy result."""
    scope: dict[str, Any] = {"__name__": "program"}
    exec(compile(kernel.render_script_program(plan), "product.py", "exec"), scope)
    expected, measured = scope["run"]()
    return bool(np.array_equal(expected, measured))


def run_scripts(
    device: InstructionSupport, selection: slice = slice(None), per_kind: int = 0
) -> dict[str, dict[str, Any]]:
    """Count for each instruction the programs that ran and that agreed, and list the options of those that differ."""
    counts = CaseCounts()
    for plan in take_first_of_each(generate_plans(device), lambda plan: plan.instruction.family.name, per_kind)[
        selection
    ]:
        counts.add(plan.instruction.ptx, run_script(plan), kernel.format_command(plan))
    return counts
