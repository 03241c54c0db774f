"""The results of a verification: their wording, the file of a device, its summary, and the disagreements."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lanescope
from lanescope.errors import LayoutError
from lanescope.ptx import catalog, hardware_runs

FOLDER = Path(lanescope.__file__).parent / "evidence"
METHODS = {
    "mma": "random whole numbers packed by the fragment maps, executed, unpacked, compared with NumPy exactly",
    "fragment": (
        "each operand's map measured: slots, element indices and metadata nibbles read out one bit per run, a sparse A"
        " with the first and with the last positions kept"
    ),
    "descriptor": (
        "wgmma over shared memory that holds its own addresses, random descriptors, against the address model"
    ),
    "chains": "generated ldmatrix loads and stmatrix stores, every byte identified by its address",
    "programs": (
        "generated CuPy scripts executed as they are, each with its own check: every mode and major of wgmma, every"
        " row of the other tables"
    ),
    "code": (
        "generated element loads and stores, tile fills, descriptors and accumulator reuse executed as they are,"
        " every word against the maps"
    ),
    "delivery": "generated programs from storage to operand executed, every word of every register against the maps",
    "banks": "clocks of random and regular lane addresses against the predicted wavefronts",
    "counters": "ncu's counters of shared-memory wavefronts and bank conflicts against the predicted counts",
    "boxes": (
        "TMA loads of random bytes, shared memory byte for byte against the storage that a tensor map leaves, and"
        " random tensor maps against the driver's refusals"
    ),
    "maps": (
        "calls of cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col that break one rule each, their right forms, and"
        " random ones around the limits, against the driver's answer"
    ),
    "captures": (
        "kernels with the capture header executed, right and with planted mistakes: D, and the cause that the verifier"
        " names with fills and with random matrices"
    ),
    "tcgen05": (
        "tensor memory dumped before and after: loads, stores, copies and D by codes, A and descriptors a bit of the"
        " address a run, metadata and scale factors a bit of their place a run, random products of every type"
    ),
}
# Parts besides the instructions' own maps: name → what each case of it shows if it agrees.
PARTS = {
    "descriptors": "descriptors whose reads match the address model",
    "banks": "address patterns whose clock counts match the predicted wavefronts",
    "counters": "address patterns for which Nsight Compute counts what is predicted",
    "chains": "generated loads and stores that moved every byte correctly",
    "programs": "whole programs whose own check passed",
    "code": "generated functions whose words all match the maps",
    "delivery": "programs from storage to operand whose registers all match the maps",
    "boxes": "TMA loads and tensor maps that follow the rules",
    "maps": "calls that the driver accepts or rejects as predicted",
    "captures": "kernels, correct or with a planted mistake, that the capture diagnosed correctly",
    "tcgen05": "reads of tensor memory that match the maps",
}
_METHOD_OF = {"descriptors": "descriptor"}  # parts whose method has another name


def check_part(part: str) -> None:
    """Raise LayoutError for an unknown part; "" means all parts."""
    if part and part not in PARTS:
        raise LayoutError("unknown_part", f"No part '{part[:60]}'.", f"Allowed: {', '.join(PARTS)}.", "part")


def build_meta(info: Mapping[str, str]) -> dict[str, Any]:
    """Build the head of an evidence file: the device, the date and the methods."""
    return {
        "device": info["name"],
        **{key: value for key, value in info.items() if key != "name"},
        "date": datetime.date.today().isoformat(),
        "method": "; ".join(f"{name}: {text}" for name, text in METHODS.items()),
    }


def write_evidence(evidence: dict[str, Any], part: str = "") -> Path:
    """Write the evidence file of this device; a single part replaces that part of the file, if the file is of the same
    device and software.
    """
    name = re.sub(r"\W+", "_", evidence["meta"]["device"].lower()).strip("_")
    path = FOLDER / f"{name}.json"
    evidence = {key: part_results for key, part_results in evidence.items() if key != "skipped"}
    if part and part not in evidence:
        raise LayoutError("bad_usage", f"Part '{part}' was skipped.", "Run it on a device that has it.", "part")
    if part:
        if not path.is_file():
            raise LayoutError("bad_usage", f"There is no {path.name} to put a part in.", "Run all parts first.", "part")
        file_content = json.loads(path.read_text())
        differing = [
            key
            for key in ("device", "driver", "cuda", "nvrtc", "target")
            if file_content["meta"].get(key) != evidence["meta"][key]
        ]
        if differing:
            raise LayoutError(
                "bad_usage",
                f"{path.name} is of another {differing[0]}.",
                "Run all parts to write a file of its own.",
                "part",
            )
        methods = dict(text.split(": ", 1) for text in file_content["meta"]["method"].split("; ")) | {
            part: METHODS[_METHOD_OF.get(part, part)]
        }
        file_content["meta"]["method"] = "; ".join(f"{key}: {text}" for key, text in methods.items())
        file_content["meta"].setdefault("dates", {})[part] = evidence["meta"]["date"]
        evidence = file_content | {part: evidence[part]}
    FOLDER.mkdir(exist_ok=True)
    path.write_text(format_evidence(evidence))
    return path


def format_evidence(evidence: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the text of an evidence file: JSON with one case per line."""
    parts = []
    for name, rows in evidence.items():
        lines = ",\n".join(f"  {json.dumps(key)}: {json.dumps(row)}" for key, row in rows.items())
        parts.append(f" {json.dumps(name)}: {{\n{lines}\n }}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


@dataclass(frozen=True)
class SummaryRow:
    """One line of a summary: a family or part, its runs, and how many agreed; by method (agreed, judged) if there are
    methods.
    """

    what: str
    ran: int
    agreed: int
    methods: dict[str, tuple[int, int]]


def summarize(evidence: dict[str, Any]) -> list[SummaryRow]:
    """Summarize a verification by family, then its other parts."""
    family_of = {i.ptx: i.family.name for i in catalog.instructions()}
    results_by_family: dict[str, list[dict[str, str]]] = {name: [] for name in catalog.FAMILY_NAMES}
    for key, results_of_variant in evidence["results"].items():
        results_by_family[family_of[key.removesuffix(hardware_runs.SHARED_A)]].append(results_of_variant)
    rows = []
    for name, results in results_by_family.items():
        texts_by_method = {
            method: [results_of_variant[method] for results_of_variant in results if method in results_of_variant]
            for method in ("mma", "fragment")
        }
        methods = {method: (texts.count("agrees"), len(texts)) for method, texts in texts_by_method.items()}
        rows += (
            [
                SummaryRow(
                    name,
                    len(results),
                    sum(set(results_of_variant.values()) == {"agrees"} for results_of_variant in results),
                    methods,
                )
            ]
            if results
            else []
        )
    for part in PARTS:
        part_rows = evidence.get(part, {}).values()
        rows += (
            [SummaryRow(part, sum(row["ran"] for row in part_rows), sum(row["agreed"] for row in part_rows), {})]
            if part_rows
            else []
        )
    return rows


def list_failures(evidence: dict[str, Any]) -> list[str]:
    """List every variant, descriptor case and access that did not agree."""
    failures = [
        f"{key}: {method} {text}"
        for key, methods in evidence["results"].items()
        for method, text in methods.items()
        if text != "agrees"
    ]
    for part in PARTS:
        failures += [
            f"{key}: {row['agreed']} of {row['ran']}"
            for key, row in evidence.get(part, {}).items()
            if row["agreed"] != row["ran"]
        ]
    return failures
