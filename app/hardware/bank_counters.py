"""What ncu counts for shared-memory accesses on the device of this machine, against the predicted counts.

ncu profiles a child process, which is this module run as a program: it launches the timed kernel once for each case.
"""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lanescope.app.hardware.device import CudaDevice
from lanescope.app.hardware.kernel_source import REPEAT, count_accesses
from lanescope.app.hardware.samples import CaseCounts
from lanescope.shared.bank_counters import name_metrics, predict_counters
from lanescope.shared.banks import ACCESSES, compute_cost

Case = tuple[str, Sequence[int | None]]
NOISE = 0.01  # of the counts: warps that compete for the data stage


def explain_no_counters() -> str:
    """Return why ncu cannot run on this machine, "" if it can."""
    return "" if shutil.which("ncu") else "Nsight Compute's ncu is not on PATH."


def run_counters(cases: Sequence[Case], number: int = 0) -> dict[str, dict[str, Any]]:
    """Count how many cases have the predicted counts, by access; RuntimeError with ncu's message if it fails."""
    counts = CaseCounts()
    for (name, address), counted in zip(cases, _run_profiler(cases, number), strict=True):
        predicted = predict_counters(compute_cost(ACCESSES[name], list(address)))
        agrees = all(abs(counted[metric] - count) <= NOISE * max(1, count) for metric, count in predicted.items())
        counts.add(name, agrees, {"address": list(address), "counted": list(counted.values())})
    return counts


def _run_profiler(cases: Sequence[Case], number: int) -> list[dict[str, float]]:
    """Return the counts of ncu for one execution of each case, by metric."""
    metrics = dict.fromkeys(metric for row in ACCESSES.values() for metric in name_metrics(row))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cases.json"
        path.write_text(json.dumps([[name, list(address)] for name, address in cases]))
        command = ["ncu", "--clock-control", "none", "--csv", "--page", "raw", "--print-units", "base"]
        command += ["--metrics", ",".join(metrics), sys.executable, "-m", __spec__.name, str(path), str(number)]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise RuntimeError(f"ncu ended with {ran.returncode}: {(ran.stdout + ran.stderr)[-2000:]}")
    launches = parse_report(ran.stdout)
    if len(launches) != len(cases):
        raise RuntimeError(f"ncu reported {len(launches)} launches of {len(cases)}: {ran.stdout[-2000:]}")
    executions = count_accesses()
    return [
        {metric: launch[metric] / executions for metric in name_metrics(ACCESSES[name])}
        for (name, _), launch in zip(cases, launches, strict=True)
    ]


def silence_lanes(address: Sequence[int], rng: np.random.Generator) -> list[int | None]:
    """Return the addresses with about a third of the lanes inactive; lane 0 stays active."""
    active = rng.random(len(address)) < 2 / 3
    return [at if lane == 0 or active[lane] else None for lane, at in enumerate(address)]


def parse_report(text: str) -> list[dict[str, float]]:
    """Parse ncu's raw page as CSV: the metrics of each launch of a timed kernel, in order."""
    rows = list(csv.reader(line for line in text.splitlines() if line.startswith('"')))
    if not rows:
        return []
    header, _units, *launches = rows
    columns = [at for at, name in enumerate(header) if name.endswith(".sum")]
    kernel = header.index("Kernel Name")
    return [
        {header[at]: float(row[at].replace(",", "")) for at in columns if row[at]}
        for row in launches
        if row[kernel].split("(")[0] == "k"
    ]


def launch_cases(cases: Iterable[Sequence[Any]], device: CudaDevice) -> None:
    """Launch the timed kernel of each case once."""
    for name, address in cases:
        device.launch_accesses(ACCESSES[name], address, REPEAT)


if __name__ == "__main__":
    launch_cases(json.loads(Path(sys.argv[1]).read_text()), CudaDevice(int(sys.argv[2])))
