"""Included files that a text does not contain, and whether one may define a macro that the text tests.

Headers of C++, CUDA and known libraries define only macros with names of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from lanescope.cxx.source_text import INCLUDE
from lanescope.reader.code.preprocessing.predefined import is_reserved_macro

_STANDARD = re.compile(
    r"[a-z_]+|(?:assert|complex|ctype|dirent|dlfcn|errno|fcntl|fenv|float|getopt|inttypes|limits|locale|malloc|math"
    r"|memory|omp|pthread|sched|signal|stdarg|stdatomic|stdbool|stddef|stdint|stdio|stdlib|string|strings|time|unistd"
    r"|wchar|sys/\w+|bits/stdc\+\+)\.h"
    r"|cuda\w*\.(?:h|hpp|cuh)|cu(?:blas|dnn|fft|file|pti|rand|solver|sparse|tensor)\w*\.h|(?:cuda|nvtx3|nv|crt)/[\w./]+"
    r"|cooperative_groups(?:/\w+)*\.h|(?:mma|nvrtc|nvml|nvToolsExt|math_constants|math_functions|vector_types"
    r"|vector_functions|builtin_types|driver_types|device_\w+|sm_\d+_\w+)\.(?:h|hpp)"
)
# headers → the macros that they define
_LIBRARIES = tuple(
    (re.compile(headers), re.compile(macros))
    for headers, macros in (
        (r"(?:cutlass|cute)/", r"CUTLASS_|CUTE_"),
        (r"(?:cub|thrust)/", r"CUB_|THRUST_|_?CCCL_"),
        (r"(?:torch|ATen|c10|caffe2)/", r"TORCH_|AT_|C10_|CAFFE2_|USE_ROCM|PYTORCH_"),
        (r"pybind11/|Python\.h", r"PYBIND11_|PY_?|Py"),
        (r"(?:nccl|nvshmem\w*)\.h", r"NCCL_|NVSHMEM"),
    )
)
_COMPILER = "the compiler"


def list_unread_includes(text: str) -> Iterator[str]:
    """List the included files that are neither in a text nor headers of C++, CUDA or a known library."""
    for match in INCLUDE.finditer(text):
        name = match[1] or match[2]
        if not _STANDARD.fullmatch(name) and not any(headers.match(name) for headers, _ in _LIBRARIES):
            yield name


def find_possible_definers(text: str, macros: Iterable[str]) -> dict[str, str]:
    r"""Map the macros of a text's conditions that something unknown may define to what that is: a file, the compiler.

    >>> find_possible_definers('#include "config.h"\n#include <vector>\n#ifdef FAST\n#endif\n', ["FAST"])
    {'FAST': 'config.h'}
    """
    includes = [(match.start(), match[1] or match[2]) for match in INCLUDE.finditer(text)]
    definers = {}
    for macro in macros:
        tests = list(re.finditer(rf"^[ \t]*#[ \t]*(?:el)?if[^\n]*\b{macro}\b", text, re.M))
        last = tests[-1].start() if tests else len(text)
        if is_reserved_macro(macro) and macro != "NDEBUG":
            definers[macro] = _COMPILER
        elif name := next((name for at, name in includes if at < last and _may_define(name, macro)), ""):
            definers[macro] = name
    return definers


def _may_define(include: str, macro: str) -> bool:
    """Return whether an included file that is not read may define a macro."""
    if _STANDARD.fullmatch(include):
        return False
    library = next((macros for headers, macros in _LIBRARIES if headers.match(include)), None)
    return library is None or library.match(macro) is not None


def describe_definer(definer: str, names: str) -> str:
    """Return a sentence that a macro may be defined after all."""
    if definer == _COMPILER:
        return f"It is a note because the compiler may define {names}."
    return f"It is a note because {definer}, which is not found, may define {names}: give its folder by -I."
