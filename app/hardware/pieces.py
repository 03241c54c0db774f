"""A verification in pieces: which there are for an architecture, one of them executed, and all of them put together.

The pieces of an architecture, in their order, are what `verify.verify` runs in one go; so are their results.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from lanescope.app.hardware import code_runs, evidence, script_runs, verification
from lanescope.app.hardware.device import CudaDevice, RunDevice, explain_unsupported
from lanescope.errors import LayoutError
from lanescope.inputs import check_keys, parse_choice, parse_integer
from lanescope.ptx.instruction import Instruction

Json = dict[str, Any]
KIND = "verify"
FORMS = ""  # the part that is the catalogue's variants
# How many cases a piece has, of the parts that are cut; the others run whole.
CUT = {FORMS: 96, "chains": 96, "code": 96, "programs": 24}
LAST = ("programs", "chains", "code", FORMS)  # short ones fill what time is left on every worker


@dataclass(frozen=True, slots=True, order=True)
class VerificationPiece:
    """Cases first … first + count − 1 of a part; count is 0 for a part that runs whole."""

    part: str
    first: int
    count: int

    @property
    def weight(self) -> int:
        """What it counts in a progress bar."""
        return self.count or 50

    @property
    def params(self) -> Json:
        """As a job names it."""
        return {"kind": KIND, "part": self.part, "first": self.first, "count": self.count}


@dataclass(frozen=True, slots=True)
class _TargetStub:
    target: str

    def supports(self, instruction: Instruction) -> str:
        return explain_unsupported(self.target, instruction)


@lru_cache(maxsize=8)
def split_verification(target: str, part: str = "") -> tuple[VerificationPiece, ...]:
    """What a verification on an architecture is made of, the longest first."""
    on = _TargetStub(target)
    sizes = {
        FORMS: lambda: sum(1 for _ in verification.generate_jobs(target)),
        "chains": lambda: len(verification.list_chains(on)),
        "code": lambda: sum(1 for _ in code_runs.generate_cases()),
        "programs": lambda: sum(1 for _ in script_runs.generate_plans(on)),
    }
    out: list[VerificationPiece] = []
    apart = verification.list_skipped_parts(target)
    for name in (part,) if part else (*(name for name in evidence.PARTS if name not in LAST), *LAST):
        if name in apart:
            continue
        if name not in CUT:
            out.append(VerificationPiece(name, 0, 0))
            continue
        size = sizes[name]()
        out += [VerificationPiece(name, first, min(CUT[name], size - first)) for first in range(0, size, CUT[name])]
    return tuple(out)


def parse_piece(given: Mapping[str, Any]) -> Json:
    """A job's parameters, checked."""
    check_keys(given, ("kind", "part", "first", "count"))
    part = parse_choice(given.get("part"), "part", (FORMS, *evidence.PARTS), "unknown_part")
    parse_choice(given.get("kind"), "kind", (KIND,), "bad_kind")
    first, count = (parse_integer(given.get(name), name, 0, 1 << 20) for name in ("first", "count"))
    return {"kind": KIND, "part": part, "first": first, "count": count}


def run_piece(device: RunDevice, request: Json) -> Json:
    """Execute a piece on a CUDA device: {"device", "found": {case: what was seen}, "seconds"}."""
    if not isinstance(device, CudaDevice):
        raise LayoutError("no_device", "A simulation proves nothing about hardware.", "Verify on a CUDA device.")
    begun = time.perf_counter()
    part, first = request["part"], request["first"]
    some = slice(first, first + request["count"]) if request["count"] else verification.ALL
    if part == FORMS:
        found: Json = verification.run_jobs(
            device, list(verification.generate_jobs(device.target))[some], lambda *_: None
        )
    else:
        found = verification.run_part(device, part, some)
    took = round(time.perf_counter() - begun, 3)
    return {"kind": KIND, "device": device.info(), "found": found, "seconds": took}


@lru_cache(maxsize=8)
def _list_forms(target: str) -> tuple[str, ...]:
    """The variants of an architecture, in the order in which pieces count them."""
    return tuple(job.key for job in verification.generate_jobs(target))


def _whole_variants(piece: VerificationPiece, target: str, found: Json) -> bool:
    """Whether a result has every variant of a piece, each with its methods."""
    if set(found) != set(_list_forms(target)[piece.first : piece.first + piece.count]):
        return False
    return all(row and all(isinstance(told, str) for told in row.values()) for row in found.values())


def _whole_part(piece: VerificationPiece, target: str, found: Json) -> bool:
    """Whether a result counts the runs of a piece, and of each group no more agree than ran."""
    counts = [(row.get("ran"), row.get("agreed")) for row in found.values()]
    if not all(type(ran) is type(agreed) is int and 0 <= agreed <= ran for ran, agreed in counts):
        return False
    return not piece.count or sum(ran for ran, _ in counts) == piece.count


def check_result(piece: VerificationPiece, target: str, found: Any, worker: str = "The journal") -> Json:
    """What a worker found of a piece; LayoutError "worker_garbage" where it is not that piece's result."""
    judge = _whole_variants if piece.part == FORMS else _whole_part
    good = isinstance(found, dict) and all(isinstance(row, dict) for row in found.values())
    good = good and judge(piece, target, found)
    if not good:
        raise LayoutError(
            "worker_garbage",
            f"{worker} answered something else than {piece.part or 'variants'} {piece.first}.",
            "See the worker's log.",
        )
    return dict(found)


def merge_results(
    info: Mapping[str, str], found: Sequence[tuple[VerificationPiece, Json]], ran_by: Mapping[str, int]
) -> Json:
    """The evidence of one device from its pieces' results, as `verification.verify_device` returns it."""
    held = dict(sorted(found, key=lambda row: row[0]))
    results: Json = {}
    parts: dict[str, dict[str, Json]] = {}
    for piece, told in held.items():
        if piece.part == FORMS:
            results |= told
            continue
        rows = parts.setdefault(piece.part, {})
        for what, row in told.items():
            rows[what] = _merge_counts(rows[what], row) if what in rows else dict(row)
    about = evidence.build_meta(info)
    if ran_by:
        about["ran_by"] = dict(sorted(ran_by.items()))
    out: Json = {"meta": about, "results": dict(sorted(results.items()))}
    out |= {name: parts[name] for name in evidence.PARTS if name in parts}
    apart = verification.list_skipped_parts(info["target"])
    return out | ({"skipped": apart} if apart and results else {})


def _merge_counts(one: Json, more: Json) -> Json:
    out = dict(one)
    for key, value in more.items():
        out[key] = out[key] + value if key in out else value
    return out


@dataclass(frozen=True, slots=True)
class Contradiction:
    """One case that devices of whom evidence stands saw differently: what each said."""

    what: str
    said: Mapping[str, str]


def find_contradictions(evidence: Sequence[Mapping[str, Any]]) -> list[Contradiction]:
    """Every case on which one device agrees with the maps and another does not."""
    seen: dict[str, dict[str, str]] = {}
    for data in evidence:
        for what, told in _list_outcomes(data):
            seen.setdefault(what, {})[_make_unique_name(data["meta"], seen.get(what, {}))] = told
    return [
        Contradiction(what, said)
        for what, said in seen.items()
        if len({told == "agrees" for told in said.values()}) > 1
    ]


def _make_unique_name(meta: Mapping[str, Any], taken: Mapping[str, str]) -> str:
    name = str(meta["device"])
    return f"{name}, driver {meta['driver']}" if name in taken else name


def _list_outcomes(data: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(case, "agrees" or what was seen instead) of one device's evidence."""
    for key, methods in data.get("results", {}).items():
        yield from ((f"{key} {method}", told) for method, told in methods.items())
    for part in evidence.PARTS:
        for what, row in data.get(part, {}).items():
            good = row["agreed"] == row["ran"]
            yield f"{part}: {what}", "agrees" if good else f"{row['agreed']} of {row['ran']} agree"
