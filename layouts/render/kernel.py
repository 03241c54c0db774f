"""A whole program around one instruction: CUDA C++ for nvcc, or Python for CuPy and NVRTC. Every number comes from the
plan.
"""

from __future__ import annotations

import shlex

from lanescope.product.plan import Described, Matrix, Placed, Plan, Rows, Side, Tiled
from lanescope.ptx import catalog
from lanescope.render import kernel_script
from lanescope.render.kernel_device import device
from lanescope.render.kernel_host import host, includes


def target(plan: Plan) -> str:
    """Return the oldest architecture that has everything the program uses."""
    return catalog.assembled(plan.instruction).targets[0]


def build(plan: Plan, stem: str = "product") -> str:
    """Return the command that builds and runs the .cu file.

    For sm_90a and its like, nvcc 13's -arch also asks for plain compute_90, which has no wgmma.
    """
    return f"nvcc -std=c++17 {architecture(plan)} -o {stem} {stem}.cu && ./{stem}"


def architecture(plan: Plan) -> str:
    """Return nvcc's option for the target."""
    name = target(plan)
    return f"-gencode arch={name.replace('sm_', 'compute_')},code={name}" if name.endswith("a") else f"-arch={name}"


def options_text(options: dict[str, str]) -> str:
    """Return options as `lanescope kernel` takes them."""
    return ",".join(f"{name}={value}" for name, value in options.items())


def command(plan: Plan, output: str = "product.cu") -> str:
    """Return the command that writes this program."""
    sides = "".join(f" --{side} {shlex.quote(options_text(given))}" for side, given in plan.chosen.items() if given)
    return f"lanescope kernel {plan.instruction.ptx}{sides} -o {output}"


def title(plan: Plan) -> list[str]:
    """Return what the program computes and how its operands lie, one line each."""
    i = plan.instruction
    steps = f", {plan.steps} instructions" if plan.steps > 1 else ""
    c = " + C" if plan.accumulate else ""
    signs = ["-" if side.negated else "" for side in (plan.a, plan.b)]
    out = [f"D = {signs[0]}A·{'(-B)' if signs[1] else 'B'}{c}, {i.sizes['m']}×{i.sizes['n']}×{plan.k}{steps}: {i.ptx}"]
    out += [_lies(side, i.operands["a"].sparsity is not None and side.letter == "a") for side in (plan.a, plan.b)]
    runs = catalog.runs(i)
    out += [
        f"Hardware differs from the maps of this instruction: {run.device}, {run.date}."
        for run in runs
        if not run.agrees
    ]
    if not runs:
        out.append(
            f"Not yet run on hardware: the instruction assembles for {target(plan)}, and its maps are as documented."
        )
    return out


def _lies(side: Side, stored: bool) -> str:
    shape = f"{side.mn}×{side.k}" if side.letter == "a" else f"{side.k}×{side.mn}"
    text = f"{side.letter.upper()}: {shape} {side.element.name}{' (stored)' if stored else ''}"
    major = side.major if side.major == "K" else "MN"[side.letter == "b"]
    if isinstance(side, Described):
        word = side.descriptor(0)
        given = ", the descriptor given" if side.word else ""
        where = (
            f"swizzle {side.tile.mode.name}"
            if isinstance(side, Tiled)
            else side.where.text
            if isinstance(side, Placed)
            else ""
        )
        return (
            f"{text} in shared memory, {major}-major, {where}; LBO {word.lbo_bytes}, SBO {word.sbo_bytes} bytes{given}"
        )
    if isinstance(side, Rows):
        how = side.chain.load.instruction.ptx if side.chain else "an element at a time"
        swizzle = f", swizzle {side.mode.name}" if side.mode.chunks > 1 else ""
        return f"{text} in shared memory, {major}-major, lines {side.pitch_bytes} bytes apart{swizzle}; loaded by {how}"
    if isinstance(side, Matrix):
        return f"{text} in shared memory, .{side.layout}, ldm {side.ldm}"
    return f"{text} from registers"


def program(plan: Plan) -> str:
    """Return the .cu file: fill, product, check on the CPU, error handling."""
    lines = [
        *title(plan),
        f"Written by Lanescope; source of the maps: {plan.instruction.family.source}.",
        command(plan),
        build(plan),
    ]
    head = "".join(f"// {line}\n" for line in lines)
    return f"{head}{includes(plan)}\n{device(plan)}\n{host(plan)}"


def script(plan: Plan) -> str:
    """Return the program for CuPy: a Python script."""
    source = f"Written by Lanescope; source of the maps: {plan.instruction.family.source}."
    return kernel_script.script(plan, [*title(plan), source, command(plan, "product.py")])
