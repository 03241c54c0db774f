"""Many generated programs in one .cu file: what the tests compile, and an executable for a machine with a GPU but no
compiler.

`python -m tests.program_bundle FILE [TARGET]` builds FILE of the programs that `lanescope gpu verify` runs as scripts,
for TARGET (sm_90a). It runs each program's own main and its check; its exit status is the number of programs that
failed.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from lanescope.app.hardware import script_runs
from lanescope.app.hardware.device_targets import explain_unsupported
from lanescope.app.hardware.numpy_device import NumpyDevice
from lanescope.product.plan import ProductPlan
from lanescope.ptx.instruction import Instruction
from lanescope.render import kernel
from tests.ptxas import nvcc


class TargetDevice(NumpyDevice):
    """A device by its target alone: what it supports."""

    def __init__(self, name: str) -> None:
        self.name = name

    def supports(self, instruction: Instruction) -> str:
        return explain_unsupported(self.name, instruction)


def join_programs(plans: Sequence[ProductPlan]) -> str:
    """Each program in a namespace of its own, and a main that runs all of them."""
    texts = [kernel.render_program(made) for made in plans]
    headers = "".join(sorted({line for text in texts for line in re.findall(r"#include <\w+>\n", text)}))
    bodies = "".join(f"namespace n{n} {{\n{re.sub(r'#include <.*', '', text)}}}\n" for n, text in enumerate(texts))
    calls = "".join(
        f'  std::printf("%s\\n  ", R"({kernel.format_command(made)})");\n  failed += n{n}::main() != 0;\n'
        for n, made in enumerate(plans)
    )
    return f"{headers}{bodies}int main() {{\n  int failed = 0;\n{calls}  return failed;\n}}\n"


def main(output: str, target: str = "sm_90a") -> int:
    file = Path(output)
    file.parent.mkdir(parents=True, exist_ok=True)
    source = file.with_suffix(".cu")
    source.write_text(join_programs(list(script_runs.generate_plans(TargetDevice(target)))))
    driver = nvcc.find_nvcc()
    assert driver, nvcc.MISSING
    architecture = ["-gencode", f"arch={target.replace('sm_', 'compute_')},code={target}"]
    options = ["-std=c++17", *architecture, f"-L{driver.parent.parent / 'lib'}", "-o", str(file), str(source)]
    return subprocess.run([str(driver), *options]).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
