"""Code that builds descriptors and tensor maps, read as layouts/reader/code reads it.

tests/golden/builders holds the texts, each with its source, written anew from public code, and what comes of it, worked
out by hand. What g++ makes of the same functions, compiled and run, is the other witness of the words.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from layouts.reader.code.builders import Builder, builders
from layouts.reader.code.tensor_maps import TensorMap, tensor_maps

GOLDEN = Path(__file__).parent / "golden" / "builders"


@dataclass(frozen=True)
class Case:
    """One text: its file and title, what its head says, the code."""

    file: str
    title: str
    head: dict[str, str]
    code: str

    def __str__(self) -> str:
        return f"{self.file}: {self.title}"

    @property
    def expected(self) -> dict[str, str]:
        told = self.head.get("expect") or self.head["map"]
        return {key.strip(): value.strip() for key, _, value in (part.partition("=") for part in told.split(";"))}


def cases() -> list[Case]:
    out = []
    for path in sorted(GOLDEN.glob("*.txt")):
        for section in re.split(r"^=== ", path.read_text(), flags=re.M)[1:]:
            head, _, code = section.partition("\n---\n")
            title, *lines = head.split("\n")
            told = {key: value.strip() for key, _, value in (line.partition(":") for line in lines)}
            out.append(Case(path.stem, title, told, code))
    return out


CASES = cases()
BUILT = [case for case in CASES if "expect" in case.head]
MAPPED = [case for case in CASES if "map" in case.head]
COMPILED = [case for case in BUILT if "oracle" in case.head and "nooracle" not in case.head]


def test_there_are_enough_texts_and_all_name_their_source() -> None:
    assert len(CASES) >= 60
    assert all(case.head["source"] for case in CASES)
    assert len({(case.file, case.title) for case in CASES}) == len(CASES)


def of(builder: Builder, key: str) -> str:
    """A field of a builder as the texts' heads write it."""
    values = {
        "format": builder.format, "lbo": builder.lbo_bytes, "sbo": builder.sbo_bytes, "base": builder.base_offset,
        "swizzle": builder.swizzle, "start": builder.start, "name": builder.name, "operand": builder.operand,
        "word": None if builder.word is None else f"0x{builder.word:016x}", "free": ",".join(builder.free),
        "warn": ",".join(dict.fromkeys(w.code for w in builder.warnings if w.code != "reserved_bits")),
    }  # fmt: skip
    return str(values[key])


@pytest.mark.parametrize("case", BUILT, ids=str)
def test_a_builder_is_read(case: Case) -> None:
    found = builders(case.code)
    assert found
    wanted = case.expected
    chosen = next((b for b in found if b.name == wanted["name"]), None) if "name" in wanted else found[0]
    assert chosen is not None, [b.name for b in found]
    assert {key: of(chosen, key) for key in wanted} == wanted
    assert set(wanted) >= {"warn"} or not [w for w in chosen.warnings if w.code != "reserved_bits"]


SHIMS = """#include <cstdint>
#include <cstddef>
#include <cstdio>
#define __device__
#define __global__
#define __host__
#define __forceinline__ inline
struct half { uint16_t x; };
typedef half bf16;
static inline size_t __cvta_generic_to_shared(const void* p) { return (size_t)p; }
template <class... T> void use(T...) {}
"""


@pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")
def test_compiled_code_makes_the_same_words(tmp_path: Path) -> None:
    """Every text's function, compiled and called, gives the word that the evaluator gives for the same call."""
    bodies = [re.sub(r"asm( volatile)?\([^;]*\);", "", case.code) for case in COMPILED]
    parts = [f"namespace n{n} {{\n{body}\n}}" for n, body in enumerate(bodies)]
    calls = "\n".join(
        f'{{ using namespace n{n}; printf("%llu\\n", (unsigned long long)({case.head["oracle"]})); }}'
        for n, case in enumerate(COMPILED)
    )
    (tmp_path / "words.cpp").write_text(SHIMS + "\n".join(parts) + "\nint main() {\n" + calls + "\n}\n")
    program = tmp_path / "words"
    made = subprocess.run(
        ["g++", "-std=c++17", "-w", "-fpermissive", "-o", str(program), str(tmp_path / "words.cpp")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr[-2000:]
    printed = subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout.split()
    for case, word in zip(COMPILED, printed, strict=True):
        found = builders(f"{case.code}\nuint64_t probe_desc = {case.head['oracle']};\n")
        probe = next((b for b in found if b.name == "probe_desc"), None)
        assert probe is not None, (str(case), [b.name for b in found])
        assert probe.word == int(word), (str(case), probe, hex(int(word)))


def shown(found: TensorMap, key: str) -> str:
    def row(values: tuple[int | None, ...]) -> str:
        return ",".join("?" if v is None else str(v) for v in values)

    storage = found.storage or {"kind": "-"}
    keys = {"rows": ("pitch_bytes",), "atoms": ("width_bytes", "outer8_stride", "inner_stride"), "-": ()}
    told = [storage["kind"], *(str(storage[k]) for k in keys.get(storage["kind"], ("major", "mn", "k")))]
    return {
        "type": found.data_type or "-", "box": row(found.box), "dims": row(found.dims), "strides": row(found.strides),
        "swizzle": found.swizzle or "-", "storage": " ".join(told),
        "problems": ",".join(p.code for p in found.problems),
    }[key]  # fmt: skip


@pytest.mark.parametrize("case", MAPPED, ids=str)
def test_a_tensor_map_is_read(case: Case) -> None:
    found = tensor_maps(case.code)
    assert len(found) == 1
    wanted = case.expected
    left_open = [name for name in wanted.pop("open", "").split(",") if name]
    assert {key: shown(found[0], key) for key in wanted} == wanted
    assert set(left_open) <= set(found[0].undetermined)
    assert "problems" in wanted or not found[0].problems
