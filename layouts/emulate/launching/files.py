"""Files of a run: PTX, the launch, buffers and outputs. No other module of the emulator opens files."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.dump.npy import MAGIC, parse_array, parse_header
from lanescope.emulate.launching.launch import MOST_BUFFER, Launch, load_toml
from lanescope.emulate.result import EmulationResult
from lanescope.errors import LayoutError
from lanescope.inputs import quote_value

Array = NDArray[Any]
MOST_TEXT = 64 << 20


def read_text(path: Path, field: str) -> str:
    """Return the text of a file; LayoutError if it cannot be read."""
    return _read(path, field, MOST_TEXT).decode("utf-8", "replace")


def _read(path: Path, field: str, most: int) -> bytes:
    try:
        if path.stat().st_size > most:
            raise LayoutError("too_large", f"{path} has {path.stat().st_size:,} bytes.", f"At most {most:,}.", field)
        return path.read_bytes()
    except OSError as error:
        reason = error.strerror or str(error)
        raise LayoutError("no_file", f"{field} is '{path}': {reason}.", "Give the path of a file.", field) from None
    except ValueError:
        raise LayoutError("no_file", f"{field} is {quote_value(str(path))}.", "Give a path.", field) from None


def read_launch(launch: str | PathLike[str]) -> tuple[Path, dict[str, Any]]:
    """Return (base folder of the launch's paths, the launch), given TOML or the path of a TOML file."""
    is_text = isinstance(launch, str) and "\n" in launch
    path = Path() if is_text else Path(launch)
    text = str(launch) if is_text else read_text(path, "launch")
    return path if is_text else path.parent, load_toml(text)


def load_buffers(launch: Launch, folder: Path, buffers: Mapping[str, Array]) -> dict[str, Array]:
    """Return the arrays of a launch's buffers: the given ones, and those from files."""
    arrays = {name: np.asarray(array) for name, array in buffers.items()}
    for name, spec in launch.buffers.items():
        if spec.file and name not in arrays:
            arrays[name] = read_array(folder / spec.file, f"buffer.{name}.file")
    return arrays


def read_array(path: Path, field: str) -> Array:
    """Return the array of a .npy file: numbers only; pickled objects are never loaded."""
    return parse_npy(_read(path, field, MOST_BUFFER + (1 << 16)), field)


def parse_npy(raw: bytes, field: str) -> Array:
    """Return the array in the bytes of a .npy file."""
    header = parse_header(raw) if raw.startswith(MAGIC) else None
    if header is None:
        raise LayoutError("bad_buffer", f"{field} is not a .npy file.", "Save one array with numpy.save.", field)
    if header.kind.hasobject or header.kind.names or header.kind.kind not in "biufV":
        raise LayoutError("bad_buffer", f"{field} holds {header.kind}.", "Save an array of numbers.", field)
    if len(raw) - header.offset != header.data_bytes:
        raise LayoutError(
            "bad_buffer",
            f"{field} has {len(raw) - header.offset:,} bytes of data for {header.data_bytes:,}.",
            "Save it again.",
            field,
        )
    return np.ascontiguousarray(parse_array(raw, header))


def write_outputs(result: EmulationResult, folder: Path) -> None:
    """Write the buffers for which the launch names an output file."""
    for output in result.outputs.values():
        if output.file:
            path = folder / output.file
            try:
                with path.open("wb") as stream:
                    np.save(stream, output.array)
            except OSError as error:
                raise LayoutError(
                    "no_file",
                    f"buffer.{output.name}.output is '{path}': {error.strerror or error}.",
                    "Give a path that can be written.",
                    f"buffer.{output.name}.output",
                ) from None
