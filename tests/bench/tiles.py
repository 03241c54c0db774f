"""`make bench-tiles`: the maps of a whole tile by Lanescope, by pycute and by tensor-layouts, in one run; writes its
section of docs/benchmarks.md.
"""

from __future__ import annotations

import datetime
import json
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from lanescope.tiles.tiled_mma import tiled_mma
from tests.bench import load
from tests.bench.peers import PEER, find_peer_python
from tests.oracle import cutlass, tiled

HEADING = "## Whole tiles"
TILE = (256, 128, 64)
ATOM, ATOMS = "SM80_16x8x16_F32F16F16F32_TN", (2, 4, 1)
PEER_PROGRAM = """
import json, time
from tensor_layouts import Layout, atoms_nv, layout_utils
taken, count = [], 0
for _ in range(5):
    began = time.process_time()
    grids = [layout_utils.tile_mma_grid(atoms_nv.SM80_16x8x16_F32F16F16F32_TN, Layout((2, 4)), name, (256, 128, 64))
             for name in "ABC"]
    taken.append(time.process_time() - began)
    count = sum(len(found[0]) for found in grids)
print(json.dumps({"seconds": sorted(taken)[2], "elements": count}))
"""

DSL = "nvidia-cutlass-dsl==4.8.1"
DSL_PROGRAM = """
import json, time, warnings
warnings.simplefilter("ignore")
import cutlass, cutlass.cute as cute
from cutlass.cute.nvgpu import warp
taken = {}

def work():
    began = time.process_time()
    atom = warp.MmaF16BF16Op(cutlass.Float16, cutlass.Float32, (16, 8, 16))
    made = cute.make_tiled_mma(atom, cute.make_layout((2, 4, 1)))
    text = str(made)
    taken["printed"] = time.process_time() - began
    for thread in range(256):
        mine = made.get_slice(thread)
        for name, shape in (("A", (256, 64)), ("B", (128, 64)), ("C", (256, 128))):
            text = str(getattr(mine, "partition_" + name)(cute.make_identity_tensor(shape)))
    taken["threads"] = time.process_time() - began

@cute.jit
def traced():
    work()

traced()
print(json.dumps(taken))
"""


def measure_median(act: Any, times: int) -> float:
    taken = []
    for _ in range(times):
        began = time.process_time()
        act()
        taken.append(time.process_time() - began)
    return statistics.median(taken)


def measure_lanescope(atom: str, atoms: tuple[int, int, int]) -> int:
    """Places of all three maps."""
    made = tiled_mma(atom, str(atoms), None, TILE)
    return int(sum(op.rows.size for op in (made.a, made.b, made.c)))


def measure_pycute() -> int:
    """The same by pycute: its layouts evaluated at every thread and value."""
    strides = (1, 2, 8)
    found = [
        tiled.operand(name, tv, (16, 8, 16), thr_id=(32, 1), atoms=(ATOMS, strides), tilers=(None,) * 3, tile=TILE)
        for name, tv in zip("abc", cutlass.MMA["m16n8k16", 16], strict=True)
    ]
    return int(sum(rows.size for _, rows, _ in found))


def render_section() -> list[str]:
    """The figures as a section of the page."""
    assert measure_lanescope(ATOM, ATOMS) == measure_pycute()
    mine, other = measure_median(lambda: measure_lanescope(ATOM, ATOMS), 20), measure_median(measure_pycute, 3)
    done = subprocess.run([find_peer_python(), "-c", PEER_PROGRAM], capture_output=True, text=True, check=True)
    peer = json.loads(done.stdout)["seconds"]
    environment = {**os.environ, "CUTE_DSL_ARCH": "sm_80"}  # without a GPU
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "program.py"  # the DSL reads the source of what it traces
        program.write_text(DSL_PROGRAM)
        done = subprocess.run(
            [find_peer_python(DSL), program], capture_output=True, text=True, check=True, env=environment
        )
    dsl = json.loads(done.stdout.splitlines()[-1])
    wgmma = measure_median(lambda: measure_lanescope("SM90_64x128x16_F32F16F16_SS", (2, 1, 1)), 20)
    rows = [
        (f"{ATOM}, 8 warps: A, B and C", "Lanescope", mine),
        ("", "pycute, every thread and value", other),
        ("", f"tensor-layouts, `tile_mma_grid` ({PEER})", peer),
        ("", f"CuTe's DSL, a coordinate layout for each of 256 threads, not evaluated ({DSL})", dsl["threads"]),
        ("", "CuTe's DSL, `print(tiled_mma)`: layouts of one atom, no maps", dsl["printed"]),
        ("SM90_64x128x16_F32F16F16_SS, 2 warpgroups: A, B and C", "Lanescope", wgmma),
    ]
    lines = [
        HEADING,
        "",
        f"Written by `make bench-tiles` on {datetime.date.today().isoformat()}: the maps of a TiledMMA over"
        f" {'×'.join(map(str, TILE))}, all in one run, processor time. tensor-layouts gives one holder of an"
        " element, the others all.",
        "",
        "| maps | by | milliseconds | times ours |",
        "|---|---|---:|---:|",
    ]
    for title, name, taken in rows:
        times = "" if name == "Lanescope" else f"{taken / mine:.2g}"
        lines.append(f"| {title} | {name} | {taken * 1000:.1f} | {times} |")
    return lines


if __name__ == "__main__":
    load.write_section(render_section(), HEADING)
