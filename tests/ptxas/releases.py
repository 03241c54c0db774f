"""What a new ptxas adds and drops: `make isa WHEEL=nvidia_cuda_nvcc-….whl`.

It assembles every candidate with the ptxas of a wheel and prints the differences to layouts/ptx/table/targets.json as
rows: forms, targets, and the limits of each target (layouts/ptx/architectures.py). Nothing is written; `make targets`
does that, once the wheel is installed.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
import zipfile
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from lanescope.ptx.architectures import get_architecture
from lanescope.ptx.targets import TARGETS
from tests.ptxas import assembler
from tests.ptxas.sweep import OUTPUT, SWEEPS, VERSIONS, sweep_lines

ENTRY = ".version {version}\n.target {target}\n.address_size 64\n.visible .entry k() {{ {body} ret; }}\n"
LARGE = ".shared .align 16 .b8 s[400000]; .reg .b32 r; mov.u32 r, s; st.shared.u32 [r], r;"


@dataclass(frozen=True, slots=True)
class TargetLimit:
    """The first PTX release with a target, and the bytes of shared memory that a block may declare."""

    ptx: str
    shared_bytes: int

    def __str__(self) -> str:
        return f"PTX {self.ptx}, {self.shared_bytes} bytes"


@dataclass(frozen=True, slots=True)
class Release:
    """What one ptxas said: variant → (targets, least PTX version), target → limits."""

    assembler: str
    variants: Mapping[str, tuple[tuple[str, ...], str]]
    limits: Mapping[str, TargetLimit]


def compare_releases(old: Release, new: Release) -> Iterator[str]:
    """Yield what a release adds, drops and changes, a row each, after a line that says how much."""
    added, dropped = (
        [name for name in one.variants if name not in other.variants] for one, other in ((new, old), (old, new))
    )
    moved = [ptx for ptx, row in new.variants.items() if ptx in old.variants and row != old.variants[ptx]]
    yield (
        f"{old.assembler} → {new.assembler}: {len(added)} forms added, {len(dropped)} dropped, {len(moved)} changed;"
        f" {_count_targets(old, new)}"
    )
    for target in sorted({*old.limits, *new.limits}):
        before, now = old.limits.get(target), new.limits.get(target)
        if before is None and now:
            yield f"+ target {target}: PTX {now.ptx}, {now.shared_bytes} bytes of static shared memory"
        elif now is None:
            yield f"- target {target}"
        elif before != now:
            yield f"~ target {target}: {before} → {now}"
    for mark, names, release in (("+", added, new), ("-", dropped, old)):
        for name in sorted(names):
            targets, least = release.variants[name]
            yield f"{mark} {json.dumps(name)}: PTX {least}, {' '.join(targets)}"
    for name in sorted(moved):
        (before_on, before_since), (now_on, now_since) = old.variants[name], new.variants[name]
        gained = " ".join(f"+{target}" for target in now_on if target not in before_on)
        lost = " ".join(f"-{target}" for target in before_on if target not in now_on)
        since = f"PTX {before_since} → {now_since}" if before_since != now_since else ""
        yield " ".join(filter(None, (f"~ {json.dumps(name)}:", gained, lost, since)))


def _count_targets(old: Release, new: Release) -> str:
    added = len(set(new.limits) - set(old.limits))
    dropped = len(set(old.limits) - set(new.limits))
    return f"{added} targets added, {dropped} dropped"


def load_release() -> Release:
    """What the repository has: targets.json and the table of architectures."""
    data = json.loads(OUTPUT.read_text())
    rows = data["variants"] | data["unmapped"]
    variants = {ptx: (tuple(data["target_sets"][which]), least) for ptx, (which, least) in rows.items()}
    limits = {target: measure_limit(target) for target in TARGETS if target in assembler.list_targets()}
    known = {
        target: TargetLimit(get_architecture(target).get_ptx(target), limit.shared_bytes)
        for target, limit in limits.items()
    }
    return Release(data["meta"]["assembler"], variants, known)


def select_families(release: Release, names: Iterable[str]) -> Release:
    """Keep the variants that the candidates of some families ask for."""
    asked = {line.ptx for name in names for line in SWEEPS[name]()}
    return replace(release, variants={ptx: row for ptx, row in release.variants.items() if ptx in asked})


def measure_limit(target: str) -> TargetLimit:
    """The first PTX release with a target, and the static shared memory that ptxas names when a block exceeds it."""
    # a release keeps the targets of the one before
    version = VERSIONS[bisect_left(VERSIONS, True, key=lambda version: _accepts(target, version))]
    text = assembler.judge_text(ENTRY.format(version=version, target=target, body=LARGE), target)[1]
    found = re.search(r"0x([0-9a-f]+) max", text)
    return TargetLimit(version, int(found[1], 16) if found else 0)


def _accepts(target: str, version: str) -> bool:
    return assembler.judge_text(ENTRY.format(version=version, target=target, body=""), target)[0] == 0


def sweep_release(names: Iterable[str]) -> Release:
    """Assemble the candidates of some families, and measure every target that ptxas lists."""
    variants: dict[str, tuple[tuple[str, ...], str]] = {}
    for name in names:
        variants |= sweep_lines(name, list(SWEEPS[name]()))[0]
    limits = {target: measure_limit(target) for target in assembler.list_targets()}
    return Release(f"ptxas {assembler.get_version()}", variants, limits)


def main(words: list[str]) -> None:
    names = words[1:] or list(SWEEPS)
    old = select_families(load_release(), names)
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(words[0]) as wheel:
        inside = next(name for name in wheel.namelist() if name.endswith("bin/ptxas"))
        path = Path(wheel.extract(inside, folder))
        path.chmod(0o755)
        os.environ["LANESCOPE_PTXAS"] = str(path)
        assembler.find_ptxas.cache_clear()
        new = sweep_release(names)
    print("\n".join(compare_releases(old, new)))


if __name__ == "__main__":
    main(sys.argv[1:])
