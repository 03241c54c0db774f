"""A verification in pieces: the pieces for an architecture, the execution of one, and the merging of all.

The pieces of an architecture, in their order, are what `verification.verify_device` runs in one go; so are their
results.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from lanescope.app.hardware import code_runs, evidence, script_runs, verification
from lanescope.app.hardware.device import CudaDevice, RunDevice
from lanescope.app.hardware.device_targets import explain_unsupported
from lanescope.app.hardware.jobs import VERIFY
from lanescope.errors import LayoutError
from lanescope.inputs import check_keys, parse_choice, parse_integer
from lanescope.ptx.instruction import Instruction

Json = dict[str, Any]
KIND = VERIFY
FORMS = ""  # the part of the catalogue's variants
# Cases per piece, for the parts that are cut; other parts run whole.
CUT = {FORMS: 96, "chains": 96, "code": 96, "programs": 24}
LAST = ("programs", "chains", "code", FORMS)  # short pieces fill the remaining time of every worker


@dataclass(frozen=True, slots=True, order=True)
class VerificationPiece:
    """Cases first … first + count − 1 of a part; count is 0 for a part that runs whole."""

    part: str
    first: int
    count: int

    @property
    def weight(self) -> int:
        """Return its weight in a progress bar."""
        return self.count or 50

    @property
    def params(self) -> Json:
        """Return the parameters of its job."""
        return {"kind": KIND, "part": self.part, "first": self.first, "count": self.count}


@dataclass(frozen=True, slots=True)
class _TargetStub:
    target: str

    def supports(self, instruction: Instruction) -> str:
        return explain_unsupported(self.target, instruction)


@lru_cache(maxsize=8)
def split_verification(target: str, part: str = "") -> tuple[VerificationPiece, ...]:
    """Split a verification on an architecture into pieces, the longest first."""
    stub = _TargetStub(target)
    sizes = {
        FORMS: lambda: sum(1 for _ in verification.generate_jobs(target)),
        "chains": lambda: len(verification.list_chains(stub)),
        "code": lambda: sum(1 for _ in code_runs.generate_cases()),
        "programs": lambda: sum(1 for _ in script_runs.generate_plans(stub)),
    }
    pieces: list[VerificationPiece] = []
    skipped = _list_skipped_parts(target)
    for name in (part,) if part else (*(name for name in evidence.PARTS if name not in LAST), *LAST):
        if name in skipped:
            continue
        if name not in CUT:
            pieces.append(VerificationPiece(name, 0, 0))
            continue
        size = sizes[name]()
        pieces += [VerificationPiece(name, first, min(CUT[name], size - first)) for first in range(0, size, CUT[name])]
    return tuple(pieces)


def _list_skipped_parts(target: str) -> dict[str, str]:
    """List the parts that a fleet does not run for an architecture, each with the reason."""
    alone = {"counters": "ncu profiles a process of its own: run it on the machine itself, without a scheduler."}
    return verification.list_skipped_parts(target) | alone


def parse_piece(params: Mapping[str, Any]) -> Json:
    """Check a job's parameters."""
    check_keys(params, ("kind", "part", "first", "count"))
    part = parse_choice(params.get("part"), "part", (FORMS, *evidence.PARTS), "unknown_part")
    parse_choice(params.get("kind"), "kind", (KIND,), "bad_kind")
    first, count = (parse_integer(params.get(name), name, 0, 1 << 20) for name in ("first", "count"))
    return {"kind": KIND, "part": part, "first": first, "count": count}


def run_piece(device: RunDevice, request: Json) -> Json:
    """Execute a piece on a CUDA device: {"device", "found": {case: result}, "seconds"}."""
    if not isinstance(device, CudaDevice):
        raise LayoutError("no_device", "A simulation proves nothing about hardware.", "Verify on a CUDA device.")
    started = time.perf_counter()
    part, first = request["part"], request["first"]
    cases = slice(first, first + request["count"]) if request["count"] else verification.ALL
    if part == FORMS:
        result: Json = verification.run_jobs(
            device, list(verification.generate_jobs(device.target))[cases], lambda *_: None
        )
    else:
        result = verification.run_part(device, part, cases)
    seconds = round(time.perf_counter() - started, 3)
    return {"kind": KIND, "device": device.info(), "found": result, "seconds": seconds}


@lru_cache(maxsize=8)
def _list_forms(target: str) -> tuple[str, ...]:
    """List the variants of an architecture, in the order in which pieces count them."""
    return tuple(job.key for job in verification.generate_jobs(target))


def _has_all_variants(piece: VerificationPiece, target: str, result: Json) -> bool:
    """Return whether a result has every variant of a piece, each with its methods."""
    if set(result) != set(_list_forms(target)[piece.first : piece.first + piece.count]):
        return False
    return all(row and all(isinstance(outcome, str) for outcome in row.values()) for row in result.values())


def _has_all_runs(piece: VerificationPiece, target: str, result: Json) -> bool:
    """Return whether a result counts the runs of a piece, and no group has more agreements than runs."""
    counts = [(row.get("ran"), row.get("agreed")) for row in result.values()]
    if not all(type(ran) is type(agreed) is int and 0 <= agreed <= ran for ran, agreed in counts):
        return False
    return not piece.count or sum(ran for ran, _ in counts) == piece.count


def check_result(piece: VerificationPiece, target: str, result: Any, worker: str = "The journal") -> Json:
    """Return a worker's result of a piece; LayoutError "worker_garbage" if it is not that piece's result."""
    is_complete = _has_all_variants if piece.part == FORMS else _has_all_runs
    valid = isinstance(result, dict) and all(isinstance(row, dict) for row in result.values())
    valid = valid and is_complete(piece, target, result)
    if not valid:
        raise LayoutError(
            "worker_garbage",
            f"{worker} answered something else than {piece.part or 'variants'} {piece.first}.",
            "See the worker's log.",
        )
    return dict(result)


def merge_results(
    info: Mapping[str, str], results_by_piece: Sequence[tuple[VerificationPiece, Json]], ran_by: Mapping[str, int]
) -> Json:
    """Merge the results of all pieces into the evidence of one device, as `verification.verify_device` returns it."""
    ordered = dict(sorted(results_by_piece, key=lambda row: row[0]))
    results: Json = {}
    parts: dict[str, dict[str, Json]] = {}
    for piece, result in ordered.items():
        if piece.part == FORMS:
            results |= result
            continue
        rows = parts.setdefault(piece.part, {})
        for group, row in result.items():
            rows[group] = _merge_counts(rows[group], row) if group in rows else dict(row)
    meta = evidence.build_meta(info)
    if ran_by:
        meta["ran_by"] = dict(sorted(ran_by.items()))
    merged: Json = {"meta": meta, "results": dict(sorted(results.items()))}
    merged |= {name: parts[name] for name in evidence.PARTS if name in parts}
    skipped = _list_skipped_parts(info["target"])
    return merged | ({"skipped": skipped} if skipped and results else {})


def _merge_counts(counts: Json, other: Json) -> Json:
    merged = dict(counts)
    for key, value in other.items():
        merged[key] = merged[key] + value if key in merged else value
    return merged


@dataclass(frozen=True, slots=True)
class Contradiction:
    """One case with different results on different devices, by device."""

    what: str
    outcomes: Mapping[str, str]


def find_contradictions(evidence: Sequence[Mapping[str, Any]]) -> list[Contradiction]:
    """Find every case on which one device agrees with the maps and another does not."""
    outcomes: dict[str, dict[str, str]] = {}
    for data in evidence:
        for case, outcome in _list_outcomes(data):
            outcomes.setdefault(case, {})[_make_unique_name(data["meta"], outcomes.get(case, {}))] = outcome
    return [
        Contradiction(case, by_device)
        for case, by_device in outcomes.items()
        if len({outcome == "agrees" for outcome in by_device.values()}) > 1
    ]


def _make_unique_name(meta: Mapping[str, Any], known_names: Mapping[str, str]) -> str:
    name = str(meta["device"])
    return f"{name}, driver {meta['driver']}" if name in known_names else name


def _list_outcomes(data: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield (case, "agrees" or what was seen instead) of one device's evidence."""
    for key, methods in data.get("results", {}).items():
        yield from ((f"{key} {method}", outcome) for method, outcome in methods.items())
    for part in evidence.PARTS:
        for group, row in data.get(part, {}).items():
            agrees = row["agreed"] == row["ran"]
            yield f"{part}: {group}", "agrees" if agrees else f"{row['agreed']} of {row['ran']} agree"
