"""Ask ptxas which PTX lines it assembles. ptxas comes with PyPI's nvidia-cuda-nvcc, else from PATH."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sysconfig
import tempfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

_ERROR_LINE = re.compile(
    r"candidates\.ptx, line (\d+); (?:fatal|error)"
)  # not advice, and not lines of ptxas's own <builtin>
_REGISTERS = """\
.reg .b32 r<600>; .reg .f32 f<300>; .reg .f64 d<40>; .reg .b64 q<8>; .reg .b16 h<8>; .reg .pred p;
"""


@dataclass(frozen=True, slots=True)
class Line:
    """One instruction with its operand list, and the registers it reads and writes."""

    ptx: str
    operands: str
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.ptx} {self.operands};"


@lru_cache(maxsize=1)
def find_ptxas() -> Path | None:
    """The assembler, or None where there is none; LANESCOPE_PTXAS names another one (`make isa`)."""
    if named := os.environ.get("LANESCOPE_PTXAS"):
        return Path(named)
    packaged = sorted(Path(sysconfig.get_paths()["purelib"]).glob("nvidia/cu*/bin/ptxas"))
    found = packaged[-1] if packaged else shutil.which("ptxas")
    return Path(found) if found else None


def get_version() -> str:
    """e.g. 'V13.5.37'."""
    text = subprocess.run([str(find_ptxas()), "--version"], capture_output=True, text=True, check=True).stdout
    return re.findall(r"V[\d.]+", text)[-1]


def list_targets() -> list[str]:
    """The targets that ptxas lists in its help, in its order."""
    text = subprocess.run([str(find_ptxas()), "--help"], capture_output=True, text=True, check=True).stdout
    return list(dict.fromkeys(re.findall(r"'(sm_\d+[af]?)'", text)))


def _run_ptxas(source: str, target: str, keep: Path | None = None) -> tuple[int, str]:
    """(exit status, what ptxas said). Machine code is optimized where it is kept; without, most texts take half the
    time, and those with wgmma more.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "candidates.ptx"
        path.write_text(source)
        output = keep or Path(folder) / "out.cubin"
        level = "-O3" if keep or target == "sm_90a" else "-O0"
        command = [str(find_ptxas()), "-w", level, f"-arch={target}", str(path), "-o", str(output)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode, done.stderr + done.stdout


def judge_text(source: str, target: str) -> tuple[int, str]:
    """The exit status of ptxas for a whole PTX text, and what it said."""
    return _run_ptxas(source, target)


def find_accepted(lines: list[Line], target: str, ptx_version: str, chunk: int = 256) -> set[int]:
    """The indices of the lines that assemble for `target` under `.version ptx_version`.

    ptxas checks in stages and stops after the first with errors, so survivors are judged again until a file is clean.
    """
    good: set[int] = set()
    for start in range(0, len(lines), chunk):
        good |= _judge_lines(lines, list(range(start, min(start + chunk, len(lines)))), target, ptx_version)
    return good


def _judge_lines(lines: list[Line], alive: list[int], target: str, ptx_version: str) -> set[int]:
    head = [
        f".version {ptx_version}",
        f".target {target}",
        ".address_size 64",
        ".entry k() {",
        *_REGISTERS.splitlines(),
    ]
    while alive:
        alive.sort(key=lambda i: _join_lines(lines[i]))  # one .cta_group a kernel: ptxas refuses a mixture
        source, at = list(head), {}
        for n, i in enumerate(alive):
            if n and _join_lines(lines[i]) != _join_lines(lines[alive[n - 1]]):
                source += ["ret;", "}", f".entry k{n}() {{", *_REGISTERS.splitlines()]
            source.append(str(lines[i]))
            at[len(source)] = n
        code, said = _run_ptxas("\n".join([*source, "ret;", "}"]), target)
        if code == 0:
            return set(alive)
        bad = {at[int(line)] for line in _ERROR_LINE.findall(said) if int(line) in at}
        if not bad:
            if len(alive) == 1:
                return set()
            middle = len(alive) // 2
            return _judge_lines(lines, alive[:middle], target, ptx_version) | _judge_lines(
                lines, alive[middle:], target, ptx_version
            )
        alive = [i for n, i in enumerate(alive) if n not in bad]
        if len(bad) <= 2 and len(alive) > 8:  # a syntax error ends a file early: go on in halves
            middle = len(alive) // 2
            return _judge_lines(lines, alive[:middle], target, ptx_version) | _judge_lines(
                lines, alive[middle:], target, ptx_version
            )
    return set()


def _join_lines(line: Line) -> bool:
    return ".cta_group::2" in line.ptx


_LOAD = {"r": "b32", "f": "f32", "d": "f64", "q": "b64", "h": "b16"}


def find_emitting(lines: list[Line], target: str, ptx_version: str, chunk: int = 64) -> set[int]:
    """The indices of the lines that leave machine code behind: an entry with the instruction is larger than without.

    Inputs are loaded from memory and outputs stored, so nothing is folded or dropped.
    """
    alive: set[int] = set()
    for start in range(0, len(lines), chunk):
        part = list(range(start, min(start + chunk, len(lines))))
        entries = [_render_entry(f"k{i}_{int(kept)}", lines[i], kept) for i in part for kept in (True, False)]
        with tempfile.TemporaryDirectory() as folder:
            cubin = Path(folder) / "out.cubin"
            _assemble_entries(entries, target, ptx_version, cubin)
            size = _read_text_sizes(cubin.read_bytes())
        alive |= {i for i in part if size[f"k{i}_1"] > size[f"k{i}_0"]}
    return alive


def assemble(lines: list[tuple[str, Line]], target: str, ptx_version: str, cubin: Path) -> None:
    """Accepted lines as kernels of their own, by name."""
    _assemble_entries([_render_entry(name, line, True) for name, line in lines], target, ptx_version, cubin)


def _assemble_entries(entries: list[str], target: str, ptx_version: str, cubin: Path) -> None:
    head = f".version {ptx_version}\n.target {target}\n.address_size 64\n"
    code, said = _run_ptxas(head + "\n".join(entries), target, cubin)
    if code:
        raise RuntimeError(f"ptxas refused an accepted line: {said[:400]}")


def _render_entry(name: str, line: Line, kept: bool) -> str:
    out = [f".visible .entry {name}(.param .b64 at) {{", _REGISTERS, ".reg .b64 base; ld.param.b64 base, [at];"]
    out += [f"ld.global.{_LOAD[reg[0]]} {reg}, [base+{8 * n}];" for n, reg in enumerate(line.reads)]
    out += [str(line)] if kept else [f"mov.{_LOAD[reg[0]]} {reg}, {reg};" for reg in line.writes if reg in line.reads]
    undefined = [] if kept else [reg for reg in line.writes if reg not in line.reads]
    out += [f"ld.global.{_LOAD[reg[0]]} {reg}, [base];" for reg in undefined]
    out += [f"st.global.{_LOAD[reg[0]]} [base+{4096 + 8 * n}], {reg};" for n, reg in enumerate(line.writes)]
    return "\n".join([*out, "ret; }"])


def _read_text_sizes(elf: bytes) -> dict[str, int]:
    """Code bytes a kernel, padding left out: sizes of the .text.NAME sections of a 64-bit ELF."""
    offset = int.from_bytes(elf[0x28:0x30], "little")
    size, count, names = (int.from_bytes(elf[at : at + 2], "little") for at in (0x3A, 0x3C, 0x3E))
    heads = [elf[offset + n * size : offset + (n + 1) * size] for n in range(count)]

    def number(head: bytes, at: int, width: int) -> int:
        return int.from_bytes(head[at : at + width], "little")

    strings = number(heads[names], 0x18, 8)
    out = {}
    for head in heads:
        start = strings + number(head, 0, 4)
        name = elf[start : elf.index(b"\0", start)].decode()
        if name.startswith(".text."):
            body = elf[number(head, 0x18, 8) : number(head, 0x18, 8) + number(head, 0x20, 8)]
            words = {body[at : at + 16] for at in range(0, len(body), 16)}
            padding = min(words, key=lambda w: (w[:2] != b"\x18\x79", w), default=b"")
            out[name[6:]] = len(body) - 16 * sum(body[at : at + 16] == padding for at in range(0, len(body), 16))
    return out
