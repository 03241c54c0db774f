"""`make bench-peers`: the same pictures by Lanescope and by tensor-layouts, in one run; writes docs/benchmarks.md."""

from __future__ import annotations

import datetime
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from lanescope import find
from lanescope.app.diagram import forms as pictures
from lanescope.app.guide.benchmarks import LEAD
from tests.bench import load
from tests.bench.processes import COMMAND, measure_command
from tests.browser.conftest import FLAGS, find_chromium

ROOT = Path(__file__).parents[2]
VENV = ROOT / ".venv-peers"
PEER = "tensor-layouts==0.3.2"
CASES = (
    (
        "wgmma m64n256k16, accumulator, 16,384 cells",
        "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16",
        "d",
        "SM90_64x256x16_F32F16F16_SS",
        (64, 256),
        {"cell": "40x16"},
        1,
    ),
    (
        "mma m16n8k16, accumulator, 128 cells",
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
        "d",
        "SM80_16x8x16_F32F16F16F32_TN",
        (16, 8),
        {},
        3,
    ),
)
PEER_PROGRAM = """
import json, os, sys, time
from tensor_layouts import atoms_nv, viz
name, rows, cols, file, runs = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], int(sys.argv[5])
taken = []
for _ in range(runs):
    began = time.perf_counter()
    viz.draw_tv_layout(getattr(atoms_nv, name).c_layout, filename=file, grid_shape=(rows, cols))
    taken.append(time.perf_counter() - began)
print(json.dumps({"seconds": sorted(taken)[len(taken) // 2], "bytes": os.path.getsize(file)}))
"""


def find_peer_python(*more: str) -> Path:
    """The peers' interpreter, installed when missing; more: further packages."""
    python = VENV / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(VENV)], check=True)
        subprocess.run(
            [python, "-m", "pip", "-q", "--disable-pip-version-check", "install", PEER, "matplotlib"], check=True
        )
    if more:
        subprocess.run([python, "-m", "pip", "-q", "--disable-pip-version-check", "install", *more], check=True)
    return python


def measure_lanescope(ptx: str, letter: str, options: dict[str, str], file: Path) -> dict[str, Any]:
    """Median of seven drawings after one that fills the caches a server has filled."""
    found = find(ptx)
    taken = []
    for _ in range(8):
        began = time.perf_counter()
        made = str(pictures.render_instruction("svg", found, found.operand(letter), options))
        taken.append(time.perf_counter() - began)
    file.write_text(made)
    return {"first": taken[0], "seconds": statistics.median(taken[1:]), "bytes": len(made.encode())}


def measure_opening(files: list[Path]) -> list[float]:
    """Seconds until Chromium has loaded and painted each file: the median of three visits, of one where the file is
    large.
    """
    out = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=FLAGS)
        browser.new_page().goto("data:text/html,")  # a browser that is already running
        for file in files:
            visits = []
            for _ in range(3 if file.stat().st_size < 5_000_000 else 1):
                page = browser.new_page()
                began = time.perf_counter()
                page.goto(f"file://{file}")
                page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
                visits.append(time.perf_counter() - began)
                page.close()
            out.append(statistics.median(visits))
        browser.close()
    return out


def main() -> None:
    python = find_peer_python()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for title, ptx, letter, atom, (high, wide), options, runs in CASES:
            mine, theirs = Path(folder) / "ours.svg", Path(folder) / "peer.svg"
            told = measure_lanescope(ptx, letter, options, mine)
            done = subprocess.run(
                [python, "-c", PEER_PROGRAM, atom, str(high), str(wide), str(theirs), str(runs)],
                capture_output=True,
                text=True,
                check=True,
            )
            peer = json.loads(done.stdout)
            shown = measure_opening([mine, theirs])
            rows.append((title, told, peer, shown))
            print(title, told, peer, shown, flush=True)
        whole = measure_lanescope("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "a", {}, Path(folder) / "x.svg")
        show = measure_command([*COMMAND, "show", CASES[0][1], "d", "--at", "3,2"])
        site = subprocess.run(
            [*COMMAND, "export", str(Path(folder) / "site"), "--json"], capture_output=True, text=True, check=True
        )
        exported = json.loads(site.stdout)
    lines = [
        "# Benchmarks",
        "",
        LEAD,
        "",
        f"Written by `make bench-peers` on {datetime.date.today().isoformat()}; both programs in one run on one "
        f"machine with {len(__import__('os').sched_getaffinity(0))} cores. Ratios matter, not the milliseconds.",
        "",
        f"Peer: facebookresearch tensor-layouts ({PEER}), `draw_tv_layout` of the same accumulator with matplotlib. "
        f"Both write an SVG with thread and value in every cell.",
        "",
        "| picture | | seconds | megabytes | opens in Chromium, seconds |",
        "|---|---|---:|---:|---:|",
    ]
    for title, told, peer, shown in rows:
        lines.append(f"| {title} | Lanescope | {told['seconds']:.4f} | {told['bytes'] / 1e6:.3f} | {shown[0]:.2f} |")
        lines.append(f"| | tensor-layouts | {peer['seconds']:.2f} | {peer['bytes'] / 1e6:.3f} | {shown[1]:.2f} |")
        lines.append(
            f"| | ratio | {peer['seconds'] / told['seconds']:.0f} | {peer['bytes'] / told['bytes']:.0f} |"
            f" {shown[1] / shown[0]:.1f} |"
        )
    lines += [
        "",
        "## By itself",
        "",
        "| figure | seen | promised |",
        "|---|---:|---:|",
        f"| SVG of the m64n256 accumulator, every cell labelled | {rows[0][1]['seconds'] * 1000:.0f} ms, "
        f"{rows[0][1]['bytes'] / 1e6:.2f} MB | 100 ms, 1.5 MB |",
        f"| SVG of A of m16n8k16 | {whole['seconds'] * 1000:.1f} ms | 10 ms |",
        f"| `lanescope show … --at` as a process | {show * 1000:.0f} ms | 300 ms |",
        f"| `lanescope export`, whole catalogue | {exported['seconds']:.0f} s, {exported['bytes'] / 1e6:.0f} MB, "
        f"{exported['pages']} pages | 180 s, 150 MB |",
        "",
        "PNG and PDF are drawn by resvg and svg2pdf: of the libraries that draw SVG without a browser they drew these "
        "grids exactly, need no system library and are MIT (cairosvg needs libcairo, kaleido a Chrome; skia, "
        "svglib and pymupdf misplaced text).",
    ]
    under_load = load.read_section()
    (ROOT / "docs" / "benchmarks.md").write_text("\n".join(lines) + "\n" + (f"\n{under_load}" if under_load else ""))


if __name__ == "__main__":
    main()
