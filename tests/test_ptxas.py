"""A sample of the stored targets assembled again, and refusals that must stay refusals."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache

import pytest

from lanescope.ptx import catalog
from tests.cases import for_each
from tests.ptxas import assembler
from tests.ptxas.sweep import NEWEST, SWEEPS, TARGETS, VERSIONS
from tests.sample import choose_count, take_sample

pytestmark = pytest.mark.skipif(assembler.find_ptxas() is None, reason="no ptxas: it comes with nvidia-cuda-nvcc")
ASKED = take_sample(TARGETS, 3)


@cache
def list_lines() -> tuple[assembler.Line, ...]:
    """Every text that is tried, with every operand form."""
    return tuple(line for sweep in SWEEPS.values() for line in sweep())


@pytest.fixture(scope="module")
def sample() -> list[assembler.Line]:
    """The same texts that exist, with every operand form tried for them, and as many that do not, in every run."""
    lines = list_lines()
    known = {i.ptx for i in catalog.instructions()}
    choose = random.Random(7)
    count = choose_count(120, 12)
    chosen = {
        *choose.sample(sorted(known), count),
        *choose.sample(sorted({line.ptx for line in lines} - known), count),
    }
    return [line for line in lines if line.ptx in chosen]


@pytest.fixture(scope="module")
def good(sample: list[assembler.Line]) -> Callable[[str], set[int]]:
    """What a target assembles of the sample, asked once."""
    return cache(lambda target: assembler.find_accepted(sample, target, NEWEST))


@pytest.mark.thorough
@for_each("target", ASKED, sample=1)
def test_targets_are_what_ptxas_says(
    sample: list[assembler.Line], good: Callable[[str], set[int]], target: str
) -> None:
    found = {sample[n].ptx for n in good(target)}
    _, known = catalog._load_targets()
    for ptx in {line.ptx for line in sample} & set(known):
        assert (ptx in found) == (target in known[ptx].targets), ptx


@pytest.mark.thorough
def test_what_is_not_listed_is_refused_or_left_out_with_a_reason(
    sample: list[assembler.Line], good: Callable[[str], set[int]]
) -> None:
    import json
    from importlib.resources import files

    table = json.loads((files("lanescope.ptx.table") / "targets.json").read_text())
    known = {i.ptx for i in catalog.instructions()} | table["unmapped"].keys() | table["left_out"].keys()
    found = set().union(*(good(target) for target in ASKED))
    assert found and all(sample[n].ptx in known for n in found)
    assert all(table["left_out"].values())


def test_least_versions(sample: list[assembler.Line]) -> None:
    """Read by the stored PTX version on some target of its own, and by none older."""
    known = catalog._load_targets()[1]
    by_version: dict[str, list[assembler.Line]] = {}
    for line in sample:
        if line.ptx in known:
            by_version.setdefault(known[line.ptx].ptx_version, []).append(line)
    for version, lines in by_version.items():
        own = {target: [x for x in lines if target in known[x.ptx].targets] for target in TARGETS}
        left = {line.ptx for line in lines}
        for target in TARGETS:  # those that an older target has assembled are not asked of the next
            asked = [line for line in own[target] if line.ptx in left]
            left -= {asked[n].ptx for n in assembler.find_accepted(asked, target, version)}
        assert not left
        older = VERSIONS[: VERSIONS.index(version)]
        assert not older or not any(assembler.find_accepted(own[target], target, older[-1]) for target in ASKED)
