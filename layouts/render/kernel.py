"""A complete program around one instruction: CUDA C++ for nvcc, or Python for CuPy and NVRTC.

Every number comes from the product plan.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from lanescope.product.move_plan import MovePlan
from lanescope.product.plan import DescribedSide, PlacedSide, ProductPlan, ProductSide, RowsSide, TiledSide, WmmaSide
from lanescope.ptx import catalog, hardware_runs
from lanescope.ptx.instruction import Instruction
from lanescope.ptx.targets import format_targets, list_compiled
from lanescope.render import kernel_script
from lanescope.render.kernel_device import render_device
from lanescope.render.kernel_host import render_host, render_includes


def get_target(plan: ProductPlan | MovePlan) -> str:
    """Return the oldest architecture that supports all parts of the program."""
    return list_compiled(catalog.get_target_support(plan.instruction).targets)[0]


def render_build(plan: ProductPlan | MovePlan, stem: str = "product") -> str:
    """Return the command that builds and runs the .cu file.

    For sm_90a and similar targets, -arch of nvcc 13 also compiles for plain compute_90, which has no wgmma.
    """
    return f"nvcc -std=c++17 {get_arch_option(plan)} -o {stem} {stem}.cu && ./{stem}"


def get_arch_option(plan: ProductPlan | MovePlan) -> str:
    """Return nvcc's option for the target."""
    name = get_target(plan)
    return f"-gencode arch={name.replace('sm_', 'compute_')},code={name}" if name.endswith("a") else f"-arch={name}"


def format_plan_options(options: Mapping[str, str]) -> str:
    """Return options in the syntax of `lanescope kernel`."""
    return ",".join(f"{name}={value}" for name, value in options.items())


def format_command(plan: ProductPlan | MovePlan, output: str = "product.cu") -> str:
    """Return the command that writes this program."""
    sides = "".join(
        f" --{side} {shlex.quote(format_plan_options(options))}" for side, options in plan.chosen.items() if options
    )
    return f"lanescope kernel {plan.instruction.ptx}{sides} -o {output}"


def render_title(plan: ProductPlan) -> list[str]:
    """Return the comment lines that say what the program computes and how its operands are stored."""
    i = plan.instruction
    steps = f", {plan.steps} instructions" if plan.steps > 1 else ""
    c = " + C" if plan.accumulate else ""
    signs = ["-" if side.negated else "" for side in (plan.a, plan.b)]
    out = [f"D = {signs[0]}A·{'(-B)' if signs[1] else 'B'}{c}, {i.sizes['m']}×{i.sizes['n']}×{plan.k}{steps}: {i.ptx}"]
    out += [
        _describe_placement(side, i.operands["a"].sparsity is not None and side.letter == "a")
        for side in (plan.a, plan.b)
    ]
    return out + list_doubts(i)


def list_doubts(i: Instruction) -> list[str]:
    """Return sentences about differences between hardware and an instruction's maps, or that it has not run."""
    runs = hardware_runs.list_hardware_runs(i)
    if not runs:
        target = format_targets(catalog.get_target_support(i).targets)
        return [
            f"Not yet run on hardware: the instruction assembles for {target}, and its maps are as documented.",
        ]
    return [
        f"Hardware differs from the maps of this instruction: {run.device}, {run.date}."
        for run in runs
        if not run.agrees
    ]


def _describe_placement(side: ProductSide, stored: bool) -> str:
    shape = f"{side.mn}×{side.k}" if side.letter == "a" else f"{side.k}×{side.mn}"
    text = f"{side.letter.upper()}: {shape} {side.element.name}{' (stored)' if stored else ''}"
    major = side.major if side.major == "K" else "MN"[side.letter == "b"]
    if isinstance(side, DescribedSide):
        word = side.get_descriptor(0)
        note = ", the descriptor given" if side.word else ""
        where = (
            f"swizzle {side.tile.mode.name}"
            if isinstance(side, TiledSide)
            else side.where.text
            if isinstance(side, PlacedSide)
            else ""
        )
        return (
            f"{text} in shared memory, {major}-major, {where}; LBO {word.lbo_bytes}, SBO {word.sbo_bytes} bytes{note}"
        )
    if isinstance(side, RowsSide):
        how = side.chain.load.instruction.ptx if side.chain else "an element at a time"
        swizzle = f", swizzle {side.mode.name}" if side.mode.chunks > 1 else ""
        return f"{text} in shared memory, {major}-major, lines {side.pitch_bytes} bytes apart{swizzle}; loaded by {how}"
    if isinstance(side, WmmaSide):
        return f"{text} in shared memory, .{side.layout}, ldm {side.ldm}"
    return f"{text} from registers"


def render_program(plan: ProductPlan) -> str:
    """Return the .cu file: fill, product, check on the CPU, error handling."""
    lines = [
        *render_title(plan),
        f"Written by Lanescope; source of the maps: {plan.instruction.family.source}.",
        format_command(plan),
        render_build(plan),
    ]
    head = "".join(f"// {line}\n" for line in lines)
    return f"{head}{render_includes(plan)}\n{render_device(plan)}\n{render_host(plan)}"


def render_script_program(plan: ProductPlan) -> str:
    """Return the program as a Python script for CuPy."""
    source = f"Written by Lanescope; source of the maps: {plan.instruction.family.source}."
    return kernel_script.render_script(plan, [*render_title(plan), source, format_command(plan, "product.py")])
