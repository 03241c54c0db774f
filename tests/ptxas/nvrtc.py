"""Compile CUDA C++ to PTX with NVRTC (PyPI's nvidia-cuda-nvrtc, a test tool), without a GPU or a driver."""

from __future__ import annotations

import ctypes
import sysconfig
from functools import lru_cache
from pathlib import Path


@lru_cache(maxsize=1)
def find_library() -> ctypes.CDLL | None:
    """libnvrtc, or None where it is not installed."""
    found = sorted(Path(sysconfig.get_paths()["purelib"]).glob("nvidia/cu*/lib/libnvrtc.so.*"))
    if not found:
        return None
    for builtins in found[-1].parent.glob("libnvrtc-builtins.so.*"):  # NVRTC opens it by name only
        ctypes.CDLL(str(builtins), mode=ctypes.RTLD_GLOBAL)
    return ctypes.CDLL(str(found[-1]))


@lru_cache(maxsize=1)
def find_headers() -> Path | None:
    """CUDA's headers (PyPI's nvidia-cuda-runtime, -crt and -cccl), or None where one of them is not installed."""
    folders = [
        folder
        for folder in sorted(Path(sysconfig.get_paths()["purelib"]).glob("nvidia/cu*/include"))
        if (folder / "nv").is_dir()
    ]
    return next(
        (folder for folder in folders if (folder / "mma.h").is_file() and (folder / "crt" / "mma.h").is_file()), None
    )


def compile_ptx(source: str, target: str, include: Path | None = None, optimized: bool = False) -> tuple[str, str]:
    """(PTX, "") or ("", NVRTC's log). `target` is e.g. sm_90a; `include`: a folder of headers. Not optimized, it takes
    a fifth of the time, and says of a program what it says of one that is.
    """
    nvrtc = find_library()
    assert nvrtc is not None
    program = ctypes.c_void_p()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"snippet.cu", 0, None, None)
    given = [
        f"--gpu-architecture={target.replace('sm_', 'compute_')}",
        "--std=c++17",
        *([f"-I{include}"] if include else []),
        *([] if optimized else ["--Ofast-compile=max"]),
    ]
    options = (ctypes.c_char_p * len(given))(*(text.encode() for text in given))
    failed = nvrtc.nvrtcCompileProgram(program, len(given), options)
    size = ctypes.c_size_t()
    if failed:
        nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetProgramLog(program, log)
        return "", log.value.decode()
    nvrtc.nvrtcGetPTXSize(program, ctypes.byref(size))
    ptx = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetPTX(program, ptx)
    return ptx.value.decode(), ""
