"""lanescope_verify.hpp against the Python verifier, by one compilation; what it says of a wrong word; its document."""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from lanescope.descriptor.matrix import Descriptor, View
from lanescope.descriptor.repair import compute_expected_reads, find_repairs
from lanescope.descriptor.verify import require_inside, verify
from lanescope.errors import LayoutError
from lanescope.ptx.table.descriptors import TCGEN05, WGMMA
from lanescope.shared.storage import storage
from lanescope.testing import header_path
from lanescope.testing.header import render_verify_header

ROOT = Path(__file__).parents[2]
COMPILER = shutil.which("g++") or shutil.which("clang++") or shutil.which("c++")


CPP_MODES = {"none": "none", "32B": "B32", "64B": "B64", "128B": "B128", "128B_base32B": "B128_base32"}


def choose_case(random_: random.Random) -> tuple[dict[str, Any], str, dict[str, int], int]:
    """A tile, legal or not, its format, a slice and a word: often the right one, or one field away from it."""
    form = random_.choice((WGMMA, TCGEN05))
    mode = form.get_mode_by_name(random_.choice(form.names))
    bits = 32 if "base32B" in mode.name else random_.choice((8, 16, 16, 32, form.element_bits[0]))
    major = random_.choice([one for one in ("K", "MN") if form.allows_elements(bits, one, mode)] * 8 + ["MN"])
    atom = mode.get_atom_size(bits, major)
    spec: dict[str, Any] = {
        "kind": "canonical",
        "element_bits": bits,
        "major": major,
        "swizzle": mode.name,
        "mn": atom[0] * random_.choice((1, 2, 3, 4)) + random_.choice((0,) * 15 + (1,)),
        "k": max(atom[1], 256 // bits) * random_.choice((1, 2, 4)),
        "order": random_.choice(("mn", "k")),
        "base": 16 * random_.choice((0, 64, 72, 65, 1024)) + random_.choice((0,) * 15 + (8,)),
        "swizzle_by": random_.choice(("address", "address", "tile")),
    }
    depth = 256 // bits * random_.choice((1, 1, 1, 1, 2))
    part = {
        "rows": random_.choice((8, spec["mn"] // 8 * 8 or 8)),
        "mn": random_.choice((0,) * 8 + (atom[0], 8)),
        "k": 256 // bits * random_.choice((0, 0, 0, 1)),
        "depth": depth,
    }
    word = random_.getrandbits(64)
    try:
        tile = storage(spec, bits, major, form).tile
        assert tile is not None
        word = tile.descriptor(part["mn"], part["k"], reach=depth, rows=part["rows"]).word
    except LayoutError:
        pass
    if random_.random() < 0.6:
        changed = random_.choice(form.fields)
        word = changed.put(word, random_.choice((0, 1, random_.randrange(changed.most + 1))))
    return spec, form.name, part, word


def judge(spec: dict[str, Any], form_name: str, part: dict[str, int], word: int) -> str:
    """What the Python verifier says: match, mismatch, unreadable where no descriptor reads the slice, or refused."""
    form = WGMMA if form_name == "wgmma" else TCGEN05
    seen = View(part["rows"], part["depth"], spec["element_bits"], spec["major"], form)
    try:
        stored = storage(spec, seen.bits, seen.major, form)
        require_inside(seen, stored, part["mn"], part["k"])
    except LayoutError:
        return "refused"
    descriptor = Descriptor(word, form)
    absolute = descriptor.has_absolute_lbo
    if not absolute and verify(descriptor, seen, stored, mn=part["mn"], k=part["k"]).match:
        return "match"
    expected = compute_expected_reads(stored, seen, part["mn"], part["k"])
    return "mismatch" if find_repairs(expected, seen, Descriptor(0, form)) else "unreadable"


JUDGED = """
constexpr bool is_wrong(Result r, Tile t, Slice s) {
  return r.cause > Cause::steps && (r.cause < Cause::unreadable || verify(r.right, t, s).cause == Cause::none);
}
constexpr bool is_unreadable(Result r) { return r.cause > Cause::steps && r.cause <= Cause::unreadable; }
"""


def render_case(case: tuple[dict[str, Any], str, dict[str, int], int], verdict: str) -> str:
    """The case as a static assertion: what the header must say of it."""
    spec, form, part, word = case
    tile = (
        f"Tile{{Swizzle::{CPP_MODES[spec['swizzle']]}, Major::{spec['major']}, {spec['element_bits']}, {spec['mn']},"
        f" {spec['k']}, {spec['base']}, Order::{spec['order']}, SwizzledBy::{spec['swizzle_by']}, Format::{form}}}"
    )
    cut = f"Slice{{{part['rows']}, {part['mn']}, {part['k']}, {part['depth']}}}"
    found = f"verify({word:#x}ull, {tile}, {cut})"
    says = {
        "match": f"{found}.cause == Cause::none",
        "mismatch": f"is_wrong({found}, {tile}, {cut})",
        "unreadable": f"is_unreadable({found})",
        "refused": f"{found}.cause == Cause::tile || {found}.cause == Cause::slice",
    }
    return f'static_assert({says[verdict]}, "{verdict}");'


def compile_cpp(folder: Path, text: str, *options: str) -> subprocess.CompletedProcess[str]:
    path = folder / "case.cpp"
    path.write_text(text)
    command = [COMPILER or "", "-std=c++17", "-fsyntax-only", "-Wall", "-Wextra", "-pedantic", *options, str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler here")


@needs_compiler
def test_header_agrees_with_the_verifier(tmp_path: Path) -> None:
    """200 random tiles and words in one compilation; a header with one wrong stride does not agree."""
    random_ = random.Random(37)
    cases = [choose_case(random_) for _ in range(200)]
    verdicts = [judge(*case) for case in cases]
    assert min(verdicts.count(verdict) for verdict in ("match", "mismatch", "refused")) >= 30
    lines = [render_case(case, verdict) for case, verdict in zip(cases, verdicts, strict=True)]
    text = '#include "lanescope_verify.hpp"\nusing namespace lanescope;\n' + JUDGED + "\n".join(lines) + "\n"
    done = compile_cpp(tmp_path, text, f"-I{header_path().parent}")
    assert done.returncode == 0 and not done.stderr, done.stderr[:2000]
    broken = render_verify_header().replace("k / m.deep * sbo", "k / 8 * lbo")
    assert broken != render_verify_header()
    (tmp_path / "lanescope_verify.hpp").write_text(broken)
    assert compile_cpp(tmp_path, text, f"-I{tmp_path}").returncode != 0


@needs_compiler
@pytest.mark.parametrize(
    ("word", "said", "report"),
    [
        ("encode(0x400, 16, 512, Swizzle::B128)", "SBO is not the tile's", "sbo, 0, 512, 1024"),
        ("encode(0x410, 16, 1024, Swizzle::B128)", "the start address", "start, 0, 1040, 1024"),
        ("encode(0x400, 16, 1024, Swizzle::B64)", "the swizzle mode", "swizzle, 0, 2, 1"),
    ],
)
def test_header_says_which_field(tmp_path: Path, word: str, said: str, report: str) -> None:
    tile = "constexpr Tile A{Swizzle::B128, Major::K, 16, 128, 64, 0x400};"
    head = '#include "lanescope_verify.hpp"\nusing namespace lanescope;'
    text = f"{head}\n{tile}\nLANESCOPE_VERIFY(verify({word}, A, {{64}}));\n"
    done = compile_cpp(tmp_path, text, f"-I{header_path().parent}")
    assert done.returncode != 0 and said in done.stderr
    assert re.search(rf"Report<.*{report.replace(', ', '.*')}", done.stderr), done.stderr[:600]


@needs_compiler
def test_header_in_functions_classes_and_templates(tmp_path: Path) -> None:
    """Every K step from a lambda; the wrong step of a wrong one."""
    text = """
#include "lanescope_verify.hpp"
constexpr lanescope::Tile A{lanescope::Swizzle::B128, lanescope::Major::K, 16, 128, 64, 0x400};
constexpr lanescope::Word word(int at) { return lanescope::encode(at, 16, 1024, lanescope::Swizzle::B128); }
template <int Step> struct Kernel {
  LANESCOPE_VERIFY(lanescope::verify_steps(A, 64, [](int k) { return word(0x400 + Step * k); }));
};
int run() { LANESCOPE_VERIFY(lanescope::verify(word(0x400), A, {64})); return sizeof(Kernel<STEP>); }
"""
    where = f"-I{header_path().parent}"
    done = compile_cpp(tmp_path, text, where, "-DSTEP=2")
    assert done.returncode == 0 and not done.stderr, done.stderr[:2000]
    assert re.search(r"start\D+1, 1040, 1056", compile_cpp(tmp_path, text, where, "-DSTEP=1").stderr)


DOCUMENT = (ROOT / "docs" / "testing.md").read_text()


@pytest.mark.parametrize("compiler", ["g++", "clang++", "nvcc"])
def test_the_documents_header_compiles(compiler: str, tmp_path: Path) -> None:
    """Its code says nothing; with another SBO each compiler gives the field, the step and both numbers."""
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler} here")
    [text] = re.findall(r"```cpp\n(.*?)```", DOCUMENT, re.S)
    options = ["-x", "cu", "-ptx", "-o", os.devnull] if compiler == "nvcc" else ["-fsyntax-only", "-Wall", "-Wextra"]

    def compile_text(code: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "a.cpp").write_text(code)
        command = [compiler, "-std=c++17", *options, f"-I{header_path().parent}", str(tmp_path / "a.cpp")]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)

    done = compile_text(text)
    assert done.returncode == 0 and not done.stderr, done.stderr
    failed = compile_text(text.replace("1024", "512")).stderr
    assert "lanescope: SBO is not the tile's" in failed
    assert re.search(r"Report<.*0, ?512L*, ?1024L*>", failed) or "nvcc" in compiler, failed[:800]
