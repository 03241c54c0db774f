"""Messages: each program raises the one it is listed with, and its changed form raises none."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lanescope.app.hardware import map_calls as asked_maps
from lanescope.messages import BY_SLUG, GROUPS, ROWS, MessageRow, recognise_messages
from lanescope.messages.map_calls import TYPES, MapCall, find_refusal
from lanescope.messages.map_rules import RULES, find_rules
from lanescope.messages.row import CUTE, DRIVER, PTXAS, compile_text
from tests.cases import for_each
from tests.cpp import find_compiler
from tests.found_in_code import find_tensor_maps
from tests.ptxas import assembler, nvrtc
from tests.sample import is_chosen, take_rows, take_sample


def find_folder(package: str) -> Path:
    """The folder of an installed package, "." where there is none."""
    spec = importlib.util.find_spec(package)
    return Path(*spec.submodule_search_locations) if spec and spec.submodule_search_locations else Path()


CUTLASS = find_folder("cutlass_library") / "source" / "include"
PTXAS_ROWS = [row for row in ROWS if row.source == PTXAS and row.raised]
CUTE_ROWS = [row for row in ROWS if row.source == CUTE]
needs_headers = pytest.mark.skipif(
    find_compiler() is None or nvrtc.find_headers() is None or not CUTLASS.is_dir(),
    reason="no host compiler, or no headers of CUDA and CUTLASS: make test installs them",
)


# ptxas ----------------------------------------------------------------------------------------------------------------


@cache
def find_releases() -> dict[str, Path]:
    """ptxas by release: the newest, and the one that Triton's wheel has."""
    found = [assembler.find_ptxas(), find_folder("triton") / "backends" / "nvidia" / "bin" / "ptxas"]
    releases = {}
    for path in found:
        if path is not None and path.is_file():
            said = subprocess.run([str(path), "--version"], capture_output=True, text=True, check=True).stdout
            releases[re.findall(r"release ([\d.]+)", said)[0]] = path
    return releases


def assemble(path: Path, source: str, target: str, options: tuple[str, ...]) -> str:
    """What ptxas -v says of a program."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "program.ptx"
        file.write_text(source)
        command = [str(path), "-v", f"-arch={target}", *options, str(file), "-o", str(Path(folder) / "program.cubin")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.stderr + done.stdout


@pytest.mark.skipif(not find_releases(), reason="no ptxas: it comes with nvidia-cuda-nvcc")
@pytest.mark.parametrize("row", take_rows(PTXAS_ROWS, 12), ids=lambda row: row.slug)
def test_ptxas_says_it_of_the_program_and_not_of_the_changed_one(row: MessageRow) -> None:
    releases = find_releases()
    tried = [
        name
        for name in ([row.release] if row.release else ["13.5", *(["12.9"] if is_chosen(row.slug, 3) else [])])
        if name in releases
    ]
    if not tried:
        pytest.skip(f"no ptxas {row.release}")
    for release in tried:
        said = assemble(releases[release], row.wrong, row.target, row.options)
        assert row.slug in [one.row.slug for one in recognise_messages(said).found], (release, said)
        if code := dict(row.codes).get(release):
            assert f"({code})" in said, (release, said)
        said = assemble(releases[release], row.right, row.right_target, row.silent_options)
        assert not recognise_messages(said).found and not re.search(r"\(C7\d{3}\)|error|fatal", said), (release, said)


# CuTe -----------------------------------------------------------------------------------------------------------------


def compile_cute(rows: Sequence[MessageRow]) -> dict[tuple[str, str], str]:
    """What g++ says of each program, by (slug, "wrong" or "right"): all are one file, in which each has a name."""
    programs = [(row.slug, form, getattr(row, form)) for row in rows for form in ("wrong", "right")]
    headers = sorted({line for _, _, text in programs for line in text.splitlines() if line.startswith("#include")})
    parts = ["\n".join([*headers, "using namespace cute;", ""])]
    for slug, form, text in programs:
        body = text.partition("using namespace cute;\n\n")[2]
        named = body.replace("void program()", f"void program_{slug.replace('-', '_')}_{form}()", 1)
        parts.append(f'#line 1 "{slug}/{form}"\n{named}')
    cuda = nvrtc.find_headers()
    folders = [f"-I{folder}" for folder in (CUTLASS, cuda, f"{cuda}/cccl")]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "programs.cpp"
        file.write_text("\n".join(parts))
        command = [str(find_compiler()), "-std=c++17", "-fsyntax-only", "-w", *folders, str(file)]
        log = subprocess.run(command, capture_output=True, text=True, check=False).stderr
    said: dict[tuple[str, str], str] = {}
    at = ("", "")
    for line in log.splitlines():
        if named_line := re.match(r"(cute-[\w-]+)/(wrong|right):\d+:\d+:", line):
            at = (named_line[1], named_line[2])
        said[at] = said.get(at, "") + line + "\n"
    return said


@pytest.mark.thorough
@needs_headers
def test_cutes_headers_say_it_of_the_program_and_not_of_the_changed_one() -> None:
    rows = take_sample(CUTE_ROWS, 4)
    said = compile_cute(rows)
    for row in rows:
        wrong = said.get((row.slug, "wrong"), "")
        assert row.slug in [one.row.slug for one in recognise_messages(wrong).found], (row.slug, wrong)
        assert "error:" not in said.get((row.slug, "right"), ""), row.slug


@needs_headers
def test_every_text_of_cute_stands_in_its_header() -> None:
    for row in CUTE_ROWS:
        text = " ".join((CUTLASS / name).read_text() for name in row.place.split(", "))
        joined = re.sub(r'"\s*\\?\n\s*"', "", text)
        assert any(compile_text(text).search(joined) for text in row.texts), row.slug


# the driver -----------------------------------------------------------------------------------------------------------


@for_each("rule", RULES, ids=lambda rule: rule.row.slug)
def test_a_call_breaks_the_rule_and_the_changed_one_none(rule: Any) -> None:
    error = find_refusal(rule.wrong)
    assert error is not None and error.code == rule.row.rule and find_refusal(rule.right) is None
    assert rule.row in find_rules([error.message])


@for_each("rule", [rule for rule in RULES if not rule.right.type.startswith("16U")], ids=lambda r: r.row.slug)
def test_the_reader_reads_the_calls_that_the_pages_show(rule: Any) -> None:
    (read,) = find_tensor_maps(rule.row.right)
    assert read.dims == rule.right.dims and read.strides == rule.right.strides


@needs_headers
def test_the_calls_are_calls_of_the_drivers_header() -> None:
    calls = [text for rule in RULES for text in (rule.row.wrong, rule.row.right)]
    source = "\n".join(f"namespace n{n} {{ {text.replace('#include <cuda.h>', '')} }}" for n, text in enumerate(calls))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "calls.cpp"
        file.write_text(f"#include <cuda.h>\n{source}")
        command = [str(find_compiler()), "-fsyntax-only", f"-I{nvrtc.find_headers()}", str(file)]
        assert subprocess.run(command, capture_output=True, text=True, check=False).stderr == ""


class DriverStub:
    """A driver that reads the arguments as cuda.h has them, and answers by the rules."""

    def __init__(self, address: int, lenient: bool = False) -> None:
        self.address, self.lenient = address, lenient

    def _answer(self, arguments: tuple[Any, ...], **more: Any) -> int:
        _, type_code, rank, address, dims, strides = arguments[:6]
        steps, interleave, swizzle, promotion, fill = arguments[-5:]
        n = rank.value
        names = {row.code: name for name, row in TYPES.items()}
        call = MapCall(
            type=names[type_code],
            dims=tuple(dims)[:n],
            strides=tuple(strides)[: n - 1],
            steps=tuple(steps)[:n],
            interleave=("none", "16B", "32B")[interleave],
            swizzle=("none", "32B", "64B", "128B")[swizzle],
            fill=("zero", "nan")[fill],
            offset=address.value - self.address,
            **more,
        )
        assert promotion == 0
        return 0 if self.lenient else int(find_refusal(call) is not None)

    def cuTensorMapEncodeTiled(self, *arguments: Any) -> int:
        return self._answer(arguments, box=tuple(arguments[6])[: arguments[2].value])

    def cuTensorMapEncodeIm2col(self, *arguments: Any) -> int:
        lower, upper, channels, pixels = arguments[6:10]
        corners = [tuple(corner)[: arguments[2].value - 2] for corner in (lower, upper)]
        return self._answer(arguments, lower=corners[0], upper=corners[1], channels=channels.value, pixels=pixels.value)


class DeviceStub:
    """A device whose memory begins at an address that is no multiple of 4096."""

    cupy = SimpleNamespace(zeros=lambda count, dtype: SimpleNamespace(data=SimpleNamespace(ptr=0x7F00_0000_0200)))

    def info(self) -> dict[str, str]:
        return {"compute_capability": "9.0"}


def test_the_evidence_asks_a_driver_for_every_rule_and_notices_one_that_takes_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    device: Any = DeviceStub()
    monkeypatch.setattr(asked_maps, "load_driver", lambda: DriverStub(0x7F00_0000_1000))
    counts = asked_maps.run_maps(device)
    assert all(row["ran"] == row["agreed"] for row in counts.values()) and counts["random"]["ran"] == 200
    assert set(counts) == {rule.row.slug for rule in RULES if not rule.right.type.startswith("16U")} | {"random"}
    assert 50 < counts["random"]["refused"] < 150
    assert asked_maps.run_maps(device, 3)["random"]["ran"] == 3
    monkeypatch.setattr(asked_maps, "load_driver", lambda: DriverStub(0x7F00_0000_1000, lenient=True))
    counts = asked_maps.run_maps(device)
    assert all(row["agreed"] < row["ran"] and row["differs"] for row in counts.values())


# the table ------------------------------------------------------------------------------------------------------------


def test_a_text_is_found_as_its_tool_prints_it() -> None:
    """Of every row, with its values filled in."""
    for row in ROWS:
        for text in row.texts:
            printed = re.sub(r"\{(\w+)\}", "8", text)
            prefix = (
                "ptxas k.ptx, line 3; error : "
                if row.source == PTXAS
                else 'x.hpp(3): error: static assertion failed with "'
            )
            suffix = "" if row.source == PTXAS else '"'
            if row.matrix_only:
                suffix = "\nptxas k.ptx, line 3; error : Arguments mismatch for instruction 'mma'"
            found = [one.row.slug for one in recognise_messages(f"{prefix}{printed}{suffix}").found]
            assert row.slug in found, (row.slug, printed, found)


def test_every_row_is_whole() -> None:
    assert len(BY_SLUG) == len(ROWS) == sum(len(rows) for _, rows in GROUPS)
    for row in ROWS:
        assert row.reason.endswith((".", "…")) and row.change.endswith((".", "…")) and row.title[-1] not in ".:", (
            row.slug
        )
        assert bool(row.wrong) == bool(row.right) and (row.texts or row.source == DRIVER), row.slug
