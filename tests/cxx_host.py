"""Small C++17 programs and what g++ computes of them: many in one compilation, each run in a process of its own.

A file of tests/golden/cxx holds blocks:

    === title
    call: make(0x4000, 2); make(0x8000, 0)
    with: make(0x4000, 2); make(0x8000, 0)
    allow: sign_extended
    ---
    code

A program either has a `main` that hands each finished word to `use(word)`, or a function `make`. `call` lists the
calls of it that the reader is asked about, each appended to the text (`make()` where neither is given). `with` lists
calls that only g++ makes: the reader sees the parameters as symbols, and what it states must hold for every call.
`allow` names findings of `check` that are true of this program. Code below a line +++ is g++'s alone, as if another
file had it: the bodies of functions that the text declares; with two such lines, what stands above the first one as
well. @enc stands for the function enc, @fix for a variable desc with all fields but the swizzle. Nothing is recorded:
the words are g++'s. A program that does something undefined stops, by -fsanitize=undefined.
"""

from __future__ import annotations

import atexit
import re
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

GOLDEN = Path(__file__).parent / "golden" / "cxx"
BATCH = 60  # programs of one compilation
SECONDS = 120
HEADERS = """#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <vector>
#include <functional>
#include <stdexcept>
#include <exception>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>
#include <sys/wait.h>
#include <unistd.h>
#define __device__
#define __host__
#define __global__
#define __forceinline__ inline
#define __restrict__
"""
# What the programs may call and the reader has no body of.
SINK = """
template <class T> static void use(T word) {
  static_assert(sizeof(T) == 8, "a descriptor has 64 bits");
  uint64_t bits;
  std::memcpy(&bits, &word, 8);
  std::printf("%llx\\n", (unsigned long long)bits);
}
template <class F> static void alone(F run) {  // what a call changes, no later call sees
  std::fflush(stdout);
  const int child = fork();
  if (child == 0) {
    run();
    std::fflush(stdout);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) std::abort();
}
static inline size_t __cvta_generic_to_shared(const void* p) { return (size_t)p; }
"""
MAIN = """
int main() {
  void (*all[])() = {%s};
  for (int n = 0; n < (int)(sizeof(all) / sizeof(*all)); ++n) {
    std::printf("@\\n");
    std::fflush(stdout);
    const int child = fork();
    if (child == 0) {
      alarm(10);
      all[n]();
      std::fflush(stdout);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) std::printf("!%%d\\n", status);
  }
}
"""
SHORT = {
    "@enc": "__device__ static inline uint64_t enc(uint64_t x) { return (x & 0x3FFFF) >> 4; }",
    "@fix": "uint64_t desc = enc(0x4000) | enc(16) << 16 | enc(1024) << 32;",
}
_OPTIONS = (
    "-std=c++17",
    "-O0",
    "-w",
    "-fno-strict-aliasing",
    "-fsanitize=undefined",
    "-fno-sanitize=return",
    "-fno-sanitize-recover=all",
)


@dataclass(frozen=True)
class HostProgram:
    """One program: its title, the calls that are asked of the reader, those of g++ alone, the findings that are true.

    loose: the variable that holds the word where the code is statements without a function. before, behind: what g++
    alone is given around the text.
    """

    title: str
    code: str
    calls: tuple[str, ...] = ()
    given: tuple[str, ...] = ()
    allow: frozenset[str] = frozenset()
    loose: str = ""
    before: str = ""
    behind: str = ""

    @property
    def text(self) -> str:
        """What the reader is given."""
        if not self.calls or self.loose:
            return self.code
        body = "".join(
            f"  uint64_t probe{n}_desc = {call};\n  use(probe{n}_desc);\n" for n, call in enumerate(self.calls)
        )
        return f"{self.code}\nvoid probe() {{\n{body}}}\n"

    @property
    def entry(self) -> str:
        """The function that g++ runs."""
        return "loose_lines" if self.loose else "probe" if self.calls else "given_calls" if self.given else "main"

    @property
    def compiled(self) -> str:
        """What g++ is given: without its includes, which stand before all programs."""
        text = re.sub(r"(?m)^[ \t]*#[ \t]*include.*$", "", f"{self.before}\n{self.text}\n{self.behind}")
        if self.loose:
            return f"void loose_lines() {{\n{text}\nuse((uint64_t)({self.loose}));\n}}\n"
        if self.given and not self.calls:
            body = "".join(f"  alone([] {{ use((uint64_t)({call})); }});\n" for call in self.given)
            text += f"\nvoid given_calls() {{\n{body}}}\n"
        return text

    @property
    def alone(self) -> bool:
        """Whether the program needs a file of its own."""
        return bool(re.search(r"(?m)(?:^|[^\w>:\s])\s*::\s*\w|\bextern\s+\"C\"|^namespace std\b", self.code))


def read_programs(paths: Iterable[Path] = (GOLDEN,)) -> list[HostProgram]:
    """The programs of files and folders."""
    out = []
    for path in paths:
        for file in sorted(path.glob("*.txt")) if path.is_dir() else [path]:
            if file.suffix == ".txt":
                out += list(_split_blocks(file))
            else:
                out.append(make_host_program(file.name, file.read_text()))
    return out


def make_host_program(title: str, code: str, head: dict[str, str] | None = None) -> HostProgram:
    """A program of its code and the lines above it."""
    told = head or {}
    calls, given = (tuple(c.strip() for c in told.get(key, "").split(";") if c.strip()) for key in ("call", "with"))
    if not calls and not given and not re.search(r"\bmain\s*\(", code):
        calls = ("make()",)
    return HostProgram(title, code, calls, given, frozenset(re.split(r"[\s,]+", told.get("allow", ""))))


def _split_blocks(file: Path) -> Iterator[HostProgram]:
    for n, section in enumerate(re.split(r"(?m)^=== ", file.read_text())[1:], 1):
        head, _, code = section.partition("\n---\n")
        title, *lines = head.split("\n")
        told = {key.strip(): value for key, _, value in (line.partition(":") for line in lines)}
        code = re.sub("|".join(SHORT), lambda found: SHORT[found[0]], code)
        before, code, behind = ("", *code.split("\n+++\n"), "", "")[(code.count("\n+++\n") > 1) :][:3]
        yield replace(make_host_program(f"{file.stem}/{n} {title}", code, told), before=before, behind=behind)


def loosen_statements(one: HostProgram, name: str = "") -> HostProgram | None:
    """The statements of a program that is one function without parameters, its word's variable called `name`; None for
    other programs.
    """
    found = re.fullmatch(r"\s*uint64_t make\(\) \{\n(.*?)\n?  return (\w+)( [^;]*)?;\n\}\s*", one.code, re.S)
    if found is None or one.given:
        return None
    body = found[1] + (f"\n  {found[2]} = {found[2]}{found[3]};" if found[3] else "")
    body = re.sub(rf"\b{found[2]}\b", name, body) if name else body
    return replace(one, title=f"{one.title}, loose", code=body + "\n", calls=(), loose=name or found[2])


# what g++ computes ----------------------------------------------------------------------------------------------------


def compile_and_run(some: Sequence[HostProgram], jobs: int = 1) -> list[tuple[int, ...] | str]:
    """For each program the words it hands to `use`; what the compiler or the sanitizer says where there are none."""
    out: dict[int, tuple[int, ...] | str] = {}
    joined = [n for n, one in enumerate(some) if not one.alone]
    size = max(1, min(BATCH, -(-len(joined) // jobs)))
    batches = [joined[at : at + size] for at in range(0, len(joined), size)]
    batches += [[n] for n, one in enumerate(some) if one.alone]
    _precompile_headers()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        for told in pool.map(lambda batch: _run_batch(some, batch, Path(folder)), batches):
            out.update(told)
    return [out[n] for n in range(len(some))]


@cache
def _precompile_headers() -> Path:
    """Return the folder of headers.h and what g++ made of it: headers are three quarters of a compilation."""
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    header = Path(folder.name) / "headers.h"
    header.write_text(HEADERS + SINK)
    subprocess.run(["g++", *_OPTIONS, str(header), "-o", f"{header}.gch"], check=True)
    return header.parent


def _run_batch(some: Sequence[HostProgram], batch: list[int], folder: Path) -> dict[int, tuple[int, ...] | str]:
    source = '#include "headers.h"\n'
    for n in batch:
        one = some[n]
        if one.alone and len(batch) == 1:
            source += f"#define main main_of_text\n{one.compiled}\n#undef main\n"
            source += f"static void run{n}() {{ {'main_of_text' if one.entry == 'main' else one.entry}(); }}\n"
            continue
        macros = dict.fromkeys(re.findall(r"(?m)^[ \t]*#[ \t]*define[ \t]+(\w+)", one.compiled))
        undone = "".join(f"#undef {name}\n" for name in macros)
        source += f"namespace p{n} {{\n{one.compiled}\n}}\n{undone}static void run{n}() {{ p{n}::{one.entry}(); }}\n"
    source += MAIN % ", ".join(f"run{n}" for n in batch)
    text, binary = folder / f"b{batch[0]}.cpp", folder / f"b{batch[0]}"
    text.write_text(source)
    command = ["g++", *_OPTIONS, f"-I{_precompile_headers()}", str(text), "-o", str(binary)]
    made = subprocess.run(command, capture_output=True, text=True)
    if made.returncode != 0:
        if len(batch) == 1:
            return {batch[0]: "g++: " + " ".join(re.findall(r"error: .*", made.stderr)[:3])}
        blamed = {int(n) for n in re.findall(r"\bp(\d+)::", made.stderr)} & set(batch)
        if not blamed or len(blamed) == len(batch):
            blamed = set(batch[: len(batch) // 2])
        rest = [n for n in batch if n not in blamed]
        out: dict[int, tuple[int, ...] | str] = {}
        for n in sorted(blamed):
            out.update(_run_batch(some, [n], folder))
        return {**out, **_run_batch(some, rest, folder)}
    ran = subprocess.run([str(binary)], capture_output=True, text=True, timeout=SECONDS)
    binary.unlink()
    told = ran.stdout.split("@\n")[1:]
    assert len(told) == len(batch), ran.stderr[-500:]
    return {n: _parse_words(part, ran.stderr) for n, part in zip(batch, told, strict=True)}


def _parse_words(part: str, errors: str) -> tuple[int, ...] | str:
    if "!" in part:
        return f"stopped: {part[-20:].strip()} {' '.join(errors.split())[-300:]}"
    lines = [line for line in part.split("\n") if re.fullmatch(r"[0-9a-f]{1,16}", line)]
    return tuple(int(line, 16) for line in lines) or "no word was used"
