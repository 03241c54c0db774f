"""An assertion that constants of a source equal those of the Python code that launches or models it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from lanescope.errors import LayoutError
from lanescope.inputs import parse_integer
from lanescope.reader.code.naming.named_constants import read_constants
from lanescope.testing.failures import fail


def assert_constants(
    source: str | Path, expected: Mapping[str, int], *, defines: Mapping[str, object] | None = None
) -> None:
    """Assert that constants of a C++ or CUDA source have these values.

    source: the text, or a Path; expected: name → integer, also qualified: cfg::BM, gemm::BM, Traits<128>::STAGES;
    defines: macros, as for -D. LayoutError for a missing name, and if the source does not determine the value, also if
    it depends on __CUDA_ARCH__ and defines does not have that.
    """
    __tracebackhide__ = True
    if not isinstance(expected, Mapping) or not expected:
        raise TypeError("expected is not a mapping from names to integers, or empty")
    macros = _format_macros(defines)
    text = _read_source(source)
    goals = {
        name: int(value) if isinstance(value, bool) else parse_integer(value, str(name), -(1 << 63))
        for name, value in expected.items()
    }
    results = read_constants(text, list(goals), macros)
    wrong = [(name, results[name], value) for name, value in goals.items() if results[name] != value]
    if wrong:
        where = f" in {source.name}" if isinstance(source, Path) else ""
        fail(
            f"{len(goals) - len(wrong)} of {len(goals)} constants{where} are those of Python",
            *(f"{name} is {has} in the source, {value} in Python" for name, has, value in wrong),
        )


def _format_macros(defines: Mapping[str, object] | None) -> dict[str, str]:
    """Return macros in the form of -D: True is 1."""
    if not isinstance(defines, Mapping | None):
        raise TypeError("defines is not a mapping from names to values")
    if none := [name for name, value in (defines or {}).items() if value is None]:
        raise TypeError(f"defines has None for {none[0]}; a macro that is not defined cannot be given")
    return {str(name): "1" if value is True else str(value) for name, value in (defines or {}).items()}


def _read_source(source: str | Path) -> str:
    if isinstance(source, Path):
        try:
            return source.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise LayoutError("bad_source", f"{source} cannot be read: {error}.", "", "source") from None
    if not isinstance(source, str):
        raise TypeError(f"source is {type(source).__name__}; text or a pathlib.Path is needed")
    if "\n" not in source and source.strip().endswith((".cu", ".cuh", ".h", ".hpp", ".cpp", ".cc")):
        raise LayoutError(
            "bad_source", f"'{source}' is a file's name, not its text.", "Give pathlib.Path(…).", "source"
        )
    return source
