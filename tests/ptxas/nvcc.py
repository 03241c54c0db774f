"""Compile whole .cu files with nvcc (PyPI's nvidia-cuda-nvcc, -runtime, -crt and nvidia-nvvm, test tools), without a
GPU.
"""

from __future__ import annotations

import subprocess
import sysconfig
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from tests.cpp import find_compiler

MISSING = "no nvcc with its headers and a host compiler: make test installs them"


@lru_cache(maxsize=1)
def find_nvcc() -> Path | None:
    """The compiler driver, or None where it, its parts or a host compiler are missing."""
    for folder in sorted(Path(sysconfig.get_paths()["purelib"]).glob("nvidia/cu*")):
        parts = (
            folder / "nvvm" / "bin" / "cicc",
            folder / "include" / "cuda_runtime.h",
            folder / "include" / "crt" / "host_runtime.h",
        )
        if (folder / "bin" / "nvcc").is_file() and all(part.is_file() for part in parts) and find_compiler():
            return folder / "bin" / "nvcc"
    return None


def compile_object(source: str, folder: Path, options: Sequence[str], form: str = "-c") -> tuple[bool, str]:
    """(whether it compiles with every warning an error, what the compilers said). form: "-cubin" for the device's half
    alone, which takes half as long.
    """
    file = folder / "program.cu"
    file.write_text(source)
    given = [str(find_nvcc()), "-std=c++17", *options, "-Werror", "all-warnings", "-Xcompiler", "-Wall,-Wextra", form]
    done = subprocess.run([*given, "-o", str(folder / "program.o"), str(file)], capture_output=True, text=True)
    return done.returncode == 0, done.stderr + done.stdout
