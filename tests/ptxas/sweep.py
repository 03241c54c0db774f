"""Assemble every candidate for every target and write what exists: `make targets`.

Writes layouts/ptx/table/targets.json: for each variant the targets for which ptxas makes code, and the least PTX
version that reads it. Variants of newer PTX without a map here (layouts/ptx/table/newer.py) are listed apart, as
"unmapped". Variants that ptxas takes although PTX does not document them are listed with the reason and stay out.

`make targets ONLY="mma_sp wgmma.mma_async.sync.aligned.m64n8k16"` asks the candidates of a generator, and those whose
text begins so; all other variants stay as they are.
"""

from __future__ import annotations

import datetime
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from lanescope.ptx.table.newer import find_newer_form
from lanescope.ptx.targets import TARGETS, list_widest
from tests.ptxas import candidates, candidates_tcgen05
from tests.ptxas.assembler import Line, find_accepted, find_emitting, get_version

VERSIONS = (
    "6.0 6.1 6.3 6.4 6.5 7.0 7.1 7.2 7.3 7.4 7.5 7.6 7.7 7.8 8.0 8.1 8.2 8.3 8.4 8.5 8.6 8.7 8.8 9.0 9.1 9.2 9.3"
    " 9.4 9.5"
).split()
NEWEST = VERSIONS[-1]
OUTPUT = Path(__file__).parents[2] / "layouts" / "ptx" / "table" / "targets.json"


def explain_undocumented(ptx: str) -> str:
    """Why PTX ISA 9.4 does not have a line that ptxas takes, "" where it has it."""
    if ptx.startswith("stmatrix") and ptx.endswith(("b8.b6x16_p32", "b8.b4x16_p64")):
        return "the ISA has packed formats of ldmatrix alone"
    if "decompress::lut::b" in ptx and ("scale_vec::" in ptx or "block32.decompress" in ptx):
        return "the ISA has .decompress::lut::b before .block32 only"
    if "m16n8k16" in ptx and "kind::f8f6f4" in ptx:
        return "the ISA has kind::f8f6f4 at m16n8k32 only"
    if ptx.startswith("mma.sync") and ".popc" in ptx and ".b1.b1." not in ptx:
        return "bit operations belong to b1"
    if ptx.startswith("mma.sp") and "m16n8k64" in ptx and ".f16.e" in ptx and "kind::" not in ptx:
        return "the ISA has f16 accumulators of sparse fp8 under kind::f8f6f4 only"
    if ptx.startswith("wmma.") and any(f".{t}" in ptx for t in ("s4", "u4")) and "m8n8k32" not in ptx:
        return "4-bit integers belong to m8n8k32"
    if ptx.startswith("wmma.mma") and any(f".{t}.{t}." in ptx for t in ("s4", "u4")) and ".row.col." not in ptx:
        return "4-bit integers take row.col only"
    if ptx.startswith("wmma.load.a") and ".col." in ptx and ptx.endswith((".s4", ".u4", ".b1")):
        return "4-bit and single-bit a is row only"
    if ptx.startswith("wmma.load.b") and ".row." in ptx and ptx.endswith((".s4", ".u4", ".b1")):
        return "4-bit and single-bit b is col only"
    if (
        ptx.startswith(("wmma.load.c", "wmma.store.d"))
        and ptx.endswith(".f32")
        and ("m8n8k32" in ptx or "m8n8k128" in ptx)
    ):
        return "f32 accumulators do not belong to m8n8k32 and m8n8k128"
    if ptx.startswith("mma.sync") and "m8n8k4" in ptx and (".bf16." in ptx or ".tf32." in ptx):
        return "not in the ISA, and no code comes out"
    return ""


SWEEPS: dict[str, Callable[[], Iterable[Line]]] = {
    **{
        name: getattr(candidates, f"generate_{name}")
        for name in ("mma", "mma_sp", "mma_scaled", "wgmma", "wgmma_sp", "wmma", "movement")
    },
    **{
        name: getattr(candidates_tcgen05, f"generate_{name}")
        for name in ("tcgen05_moves", "tcgen05_mma", "tcgen05_lut")
    },
}


def choose_lines(only: Sequence[str] = ()) -> Iterator[tuple[str, list[Line]]]:
    """Yield the candidates of each generator, or those chosen: a generator's, or those whose text begins with a word.

    ValueError: a word chooses none.
    """
    unused = set(only) - SWEEPS.keys()
    beginnings = tuple(sorted(unused))
    for name, generate in SWEEPS.items():
        if only and name not in only and not beginnings:
            continue
        lines = [line for line in generate() if not only or name in only or line.ptx.startswith(beginnings)]
        unused = {word for word in unused if not any(line.ptx.startswith(word) for line in lines)}
        if lines:
            yield name, lines
    if unused:
        raise ValueError(
            f"no candidate begins with {', '.join(sorted(unused))}. The generators of tests/ptxas/candidates.py are"
            f" {', '.join(SWEEPS)}; every other word is the beginning of a PTX text."
        )


def sweep_lines(name: str, lines: list[Line]) -> tuple[dict[str, tuple[tuple[str, ...], str]], dict[str, str]]:
    """({ptx: (targets, least version)}, {ptx: why it is left out})."""
    began = time.monotonic()
    takes = {target: find_accepted(lines, target, NEWEST) for target in list_widest()}
    alive = sorted(set().union(*takes.values()))
    for target in TARGETS:
        if target not in takes:
            good = find_accepted([lines[i] for i in alive], target, NEWEST)
            takes[target] = {alive[n] for n in good}
    real: set[int] = set()
    for target in reversed(TARGETS):  # one target that takes it is enough to see the code
        part = [i for i in alive if i in takes[target] and i not in real]
        emitted = find_emitting([lines[i] for i in part], target, NEWEST)
        real |= {part[n] for n in emitted}
    excluded = {lines[i].ptx: "ptxas takes it but makes no code" for i in alive if i not in real}
    excluded |= {lines[i].ptx: why for i in sorted(real) if (why := explain_undocumented(lines[i].ptx))}
    kept = [i for i in sorted(real) if lines[i].ptx not in excluded]
    least = _find_least_versions(lines, kept, takes)
    out: dict[str, tuple[tuple[str, ...], str]] = {}
    for i in kept:
        targets = tuple(t for t in TARGETS if i in takes[t])
        both = out.get(lines[i].ptx)
        if both and both[0] != targets:
            raise RuntimeError(f"{lines[i].ptx}: two operand forms differ: {both[0]} and {targets}")
        out[lines[i].ptx] = (targets, min(least[i], both[1], key=VERSIONS.index) if both else least[i])
    print(
        f"{name}: {len(lines)} candidates, {len(kept)} forms of {len(out)} variants, {len(excluded)} left out,"
        f" {time.monotonic() - began:.0f} s"
    )
    return out, excluded


def _find_least_versions(lines: list[Line], kept: list[int], takes: dict[str, set[int]]) -> dict[int, str]:
    """The least PTX version, over the targets that take the line at all (old versions do not know new targets)."""
    least = dict.fromkeys(kept, NEWEST)
    for target in TARGETS:
        part = [i for i in kept if i in takes[target]]
        for ptx_version in reversed(VERSIONS[:-1]):
            good = find_accepted([lines[i] for i in part], target, ptx_version)
            part = [part[n] for n in sorted(good)]
            for i in part:
                least[i] = min(least[i], ptx_version, key=VERSIONS.index)
            if not part:
                break
    return least


def main(only: list[str]) -> None:
    variants: dict[str, tuple[tuple[str, ...], str]] = {}
    excluded: dict[str, str] = {}
    chosen = list(choose_lines(only))
    if only:  # what is not asked stays as it is
        old, asked = json.loads(OUTPUT.read_text()), {line.ptx for _, lines in chosen for line in lines}
        variants = {
            ptx: (tuple(old["target_sets"][which]), least)
            for ptx, (which, least) in (old["variants"] | old["unmapped"]).items()
            if ptx not in asked
        }
        excluded = {ptx: why for ptx, why in old["left_out"].items() if ptx not in asked}
    for name, lines in chosen:
        found, left_out = sweep_lines(name, lines)
        variants |= found
        excluded |= left_out
    sets = sorted({targets for targets, _ in variants.values()}, key=lambda s: (len(s), s))
    meta = {"assembler": f"ptxas {get_version()}", "date": datetime.date.today().isoformat(), "targets": TARGETS}
    mapped: list[str] = []
    unmapped: list[str] = []
    for ptx, (targets, least) in sorted(variants.items()):
        rows = unmapped if find_newer_form(ptx) else mapped
        rows.append(f"  {json.dumps(ptx)}: {json.dumps([sets.index(targets), least])}")
    OUTPUT.write_text(
        '{"meta": '
        + json.dumps(meta)
        + ',\n"target_sets": '
        + json.dumps(sets)
        + ',\n"left_out": '
        + json.dumps(dict(sorted(excluded.items())), indent=1)
        + ',\n"unmapped": {\n'
        + ",\n".join(unmapped)
        + '\n},\n"variants": {\n'
        + ",\n".join(mapped)
        + "\n}}\n"
    )
    print(f"{OUTPUT}: {len(mapped)} variants, {len(unmapped)} without a map")


if __name__ == "__main__":
    main(sys.argv[1:])
