"""Assemble every variant for every target that takes it, disassemble it, and write which SASS it becomes: `make sass`.

Writes layouts/ptx/table/sass.json: for each variant and target the tensor-core mnemonics that ptxas makes of that one
line, in order, as nvdisasm spells them. A variant that calls a routine or becomes plain arithmetic leaves none. Of
tcgen05.mma the variants without a collector are written: a collector changes the suffixes of operands alone
(lanescope.reader.instructions.tensor_sass reads them; tests/test_sass_tensor.py assembles others). nvdisasm comes with
PyPI's nvidia-cuda-nvdisasm. `make sass ONLY=…` asks some, as tests/ptxas/sweep.py chooses them.
"""

from __future__ import annotations

import datetime
import json
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from pathlib import Path

from tests.ptxas.assembler import Line, assemble, find_accepted, get_version
from tests.ptxas.sweep import NEWEST, choose_lines

TABLE = Path(__file__).parents[2] / "layouts" / "ptx" / "table"
OUTPUT = TABLE / "sass.json"
CHUNK = 48  # entries of one cubin
_KERNEL = re.compile(r"^\.text\.k(\d+):", re.M)
MNEMONIC = re.compile(
    r"^\s*/\*[0-9a-f]+\*/\s+(?:@!?U?P\w+\s+)?((?:[A-Z]*MMA|LDSM|STSM|MOVM|UTCCP|UTCSHIFT|LDTM|STTM)(?:\.\w+)*)(?=\s)",
    re.M,
)


@lru_cache(maxsize=1)
def find_nvdisasm() -> Path | None:
    """The disassembler, or None where there is none."""
    packaged = sorted(Path(sysconfig.get_paths()["purelib"]).glob("nvidia/cu*/bin/nvdisasm"))
    found = packaged[-1] if packaged else shutil.which("nvdisasm")
    return Path(found) if found else None


def get_disassembler_version() -> str:
    """e.g. 'V13.5.37'."""
    text = subprocess.run([str(find_nvdisasm()), "--version"], capture_output=True, text=True, check=True).stdout
    return re.findall(r"V[\d.]+", text)[-1]


def list_forms(known: set[str], only: Sequence[str] = ()) -> Iterator[Line]:
    """Every operand form of the catalogue's variants, or of those chosen; a wmma load and store also through shared
    memory.
    """
    for _, lines in choose_lines(only):
        for line in lines:
            if line.ptx not in known or ".collector::" in line.ptx:
                continue
            yield line
            if line.ptx.startswith(("wmma.load", "wmma.store")):
                head, _, kind = line.ptx.rpartition(".")
                operands = line.operands.replace("[q0]", "[r501]").replace("r500", "64")
                reads = tuple("r501" if name == "q0" else name for name in line.reads if name != "r500")
                yield Line(f"{head}.shared.{kind}", operands, reads, line.writes)


def find_variant(ptx: str) -> str:
    """The variant that a form belongs to."""
    return ptx.replace(".shared.", ".") if ptx.startswith("wmma.") else ptx


def disassemble_lines(lines: list[Line], target: str) -> list[tuple[str, ...]]:
    """The tensor-core mnemonics of each line, in order, in an entry of its own."""
    out: list[tuple[str, ...]] = [()] * len(lines)
    for start in range(0, len(lines), CHUNK):
        part = range(start, min(start + CHUNK, len(lines)))
        with tempfile.TemporaryDirectory() as folder:
            cubin = Path(folder) / "out.cubin"
            assemble([(f"k{i}", lines[i]) for i in part], target, NEWEST, cubin)
            told = subprocess.run([str(find_nvdisasm()), "-c", str(cubin)], capture_output=True, text=True, check=True)
        pieces = _KERNEL.split(told.stdout)
        for number, body in zip(pieces[1::2], pieces[2::2], strict=True):
            out[int(number)] = tuple(match[1] for match in MNEMONIC.finditer(body))
    return out


def count_runs(names: tuple[str, ...]) -> tuple[tuple[str, int], ...]:
    """Mnemonics in order with how many of each stand in a row."""
    return tuple((name, len(list(same))) for name, same in groupby(names))


def load_written(but: set[str]) -> dict[str, dict[tuple[tuple[str, int], ...], list[str]]]:
    """What sass.json has of other variants than these."""
    data = json.loads(OUTPUT.read_text())
    return {
        ptx: {tuple((name, count) for name, count in runs): list(data["target_sets"][which]) for which, *runs in forms}
        for ptx, forms in data["variants"].items()
        if ptx not in but
    }


def main(only: list[str]) -> None:
    targets = json.loads((TABLE / "targets.json").read_text())
    sets = targets["target_sets"]
    takes = {ptx: sets[which] for ptx, (which, _) in (targets["variants"] | targets["unmapped"]).items()}
    lines = list(list_forms(set(takes), only))
    made = load_written({find_variant(line.ptx) for line in lines}) if only else {}
    for target in targets["meta"]["targets"]:
        began = time.monotonic()
        asked = [line for line in lines if target in takes[find_variant(line.ptx)]]
        part = [asked[n] for n in sorted(find_accepted(asked, target, NEWEST))]
        for line, names in zip(part, disassemble_lines(part, target), strict=True):
            held = made.setdefault(find_variant(line.ptx), {})
            if names and target not in held.setdefault(count_runs(names), []):
                held[count_runs(names)].append(target)
        print(f"{target}: {len(part)} forms, {time.monotonic() - began:.0f} s", flush=True)
    groups = sorted({tuple(t) for held in made.values() for t in held.values()}, key=lambda s: (len(s), s))
    rows = [
        f"  {json.dumps(ptx)}: {json.dumps([[groups.index(tuple(t)), *map(list, r)] for r, t in held.items()])}"
        for ptx, held in sorted(made.items())
        if held
    ]
    meta = {"assembler": f"ptxas {get_version()}", "disassembler": f"nvdisasm {get_disassembler_version()}"}
    meta["date"] = datetime.date.today().isoformat()
    OUTPUT.write_text(
        '{"meta": '
        + json.dumps(meta)
        + ',\n"target_sets": '
        + json.dumps(groups)
        + ',\n"variants": {\n'
        + ",\n".join(rows)
        + "\n}}\n"
    )
    print(f"{OUTPUT}: {len(rows)} of {len(takes)} variants")


if __name__ == "__main__":
    main(sys.argv[1:])
