"""Matrices of a user: by formula, as rows of numbers, or as a NumPy file; checked against the element types."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.cxx import formula
from lanescope.dump import npy
from lanescope.errors import LayoutError
from lanescope.inputs import parse_real, shorten_value
from lanescope.ptx.codec import get_bounds, round_to_type
from lanescope.ptx.instruction import Instruction

Array = NDArray[Any]
OPERANDS = ("a", "b", "c")
LONGEST = 1 << 16  # characters of pasted numbers
MOST_BYTES = 1 << 18  # in a file
_SEPARATOR = re.compile(r"[\s,;\[\]]+")
HINT = "Give a formula such as -(i + 1), or rows of numbers."


def get_matrix_shape(i: Instruction, name: str, steps: int = 1) -> tuple[int, int]:
    """Return (rows, cols) of a matrix; A of a sparse instruction uncompressed. steps: of K, in a whole product."""
    sizes = i.sizes | {"k": i.sizes["k"] * steps}
    rows, cols = {"a": ("m", "k"), "b": ("k", "n"), "c": ("m", "n")}[name]
    return sizes[rows], sizes[cols]


def count_products(i: Instruction) -> int:
    return i.operands["d"].extents.get("product", 1)


def build_formula_names(i: Instruction, name: str, steps: int = 1) -> dict[str, Array]:
    """Build the names that a formula may use: i counts elements in memory order (A and C row by row, B column by
    column), row, col, product.
    """
    rows, cols = get_matrix_shape(i, name, steps)
    product, row, col = np.meshgrid(np.arange(count_products(i)), np.arange(rows), np.arange(cols), indexing="ij")
    linear = col * rows + row if name == "b" else row * cols + col
    return {"i": linear, "row": row, "col": col} | ({"product": product} if count_products(i) > 1 else {})


def check_matrices(i: Instruction, data: Mapping[str, Any], prefix: str = "", steps: int = 1) -> dict[str, Any]:
    """Check the matrices of a request and return them unchanged: a formula's text, or lists.

    prefix: the text before the operand's name in a field, as "data.". LayoutError names the operand and what is wrong
    with it.
    """
    values = {name: data[name] for name in OPERANDS if name in data and data[name] != ""}
    try:
        checked = {name: _check_value(value, name) for name, value in values.items()}
        matrices = build_matrices(i, checked, steps)
        op = i.operands["a"]
        if "a" in matrices and op.sparsity:
            for dense in matrices["a"]:
                op.sparsity.find_kept_positions(dense)
    except LayoutError as error:
        raise error.move_to_field(prefix + (error.field or "a")) from None
    return checked


def _check_value(value: Any, field: str) -> Any:
    """Return a formula, or nested lists of numbers."""
    if isinstance(value, str):
        return parse_matrix(value, field)
    if isinstance(value, list):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return repr(value)
    raise LayoutError("bad_matrix", f"{field} is {shorten_value(value)}.", HINT, field)


def parse_matrix(text: str, field: str) -> Any:
    """Parse numbers in a text into lists (a line per row); a formula is returned as text."""
    if len(text) > LONGEST:
        raise LayoutError("bad_matrix", f"{field} has {len(text)} characters.", f"At most {LONGEST}.", field)
    tokens = [token for token in _SEPARATOR.split(text) if token]
    if len(tokens) < 2 or any(_parse_number(token) is None for token in tokens):
        if "[" in text:
            return _parse_json(text, field)
        return text.strip()
    lines = [
        line for part in re.split(r"[\n;]|\]\s*,?\s*\[", text) if (line := [t for t in _SEPARATOR.split(part) if t])
    ]
    rows = [[_parse_number(token) for token in line] for line in lines]
    return rows[0] if len(rows) == 1 else rows


def _parse_json(text: str, field: str) -> Any:
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        raise LayoutError(
            "bad_matrix", f"{field} is '{shorten_value(text)}', which is not a list of numbers.", HINT, field
        ) from None
    if not isinstance(parsed, list):
        raise LayoutError("bad_matrix", f"{field} is '{shorten_value(text)}'.", HINT, field)
    return parsed


def _parse_number(token: str) -> float | None:
    """Return the number of a token, with its sign; None if it is not a number."""
    parsed = parse_real(token[1:] if token[0] in "+-" else token)
    return None if parsed is None else -parsed[0] if token[0] == "-" else parsed[0]


def read_npy(raw: bytes, field: str) -> Any:
    """Read the numbers of a .npy file as nested lists; numbers only, never objects."""
    if len(raw) > MOST_BYTES:
        raise LayoutError("bad_matrix", f"{field}: the file has {len(raw)} bytes.", f"At most {MOST_BYTES}.", field)
    wrong = LayoutError(
        "bad_matrix", f"{field}: not a .npy file of numbers.", "Save one array of numbers with numpy.save.", field
    )
    header = npy.parse_header(raw)
    if header is None or header.kind.kind not in "biuf" or header.data_bytes != len(raw) - header.offset:
        raise wrong
    return npy.parse_array(raw, header).astype(np.float64).tolist()


def build_matrices(i: Instruction, data: Mapping[str, Any], steps: int = 1) -> dict[str, Array]:
    """Build the matrices [product, rows, cols] of a checked request, rounded to the element types; int64 if all values
    are whole.
    """
    return {name: _build_matrix(i, name, data[name], steps) for name in OPERANDS if name in data}


def _build_matrix(i: Instruction, name: str, value: Any, steps: int) -> Array:
    names = build_formula_names(i, name, steps)
    shape = names["i"].shape
    if isinstance(value, str):
        array, _ = formula.evaluate_formula(value, names, name)
    else:
        array = _reshape_lists(name, value, names["i"])
    kind = i.types.get(name) or i.types["d"]
    low, high = get_bounds(kind)
    whole_type = (kind[0] in "su" and kind[1:].isdecimal()) or kind == "b1"
    outside = (array < low) | (array > high) | ~np.isfinite(array)
    if outside.any() or (whole_type and (array != np.rint(array)).any()):
        wrong = outside if outside.any() else array != np.rint(array)
        product, row, col = (int(n) for n in np.argwhere(wrong)[0])
        element_name = f"{name.upper()}[{row},{col}]" + (f" of product {product}" if shape[0] > 1 else "")
        allowed = "Integers from" if whole_type else "Numbers from"
        raise LayoutError(
            "bad_matrix",
            f"{element_name} = {array[product, row, col]:g} is not representable as {kind}.",
            f"{allowed} {low:g} to {high:g}.",
            name,
        )
    rounded = round_to_type(array, kind)
    return (
        rounded.astype(np.int64) if (rounded == np.rint(rounded)).all() and np.abs(rounded).max() < 2**53 else rounded
    )


def _require_numbers(items: Any, depth: int = 4) -> None:
    """Raise TypeError for an item of nested lists that is not a number: NumPy would take true for 1 and "5" for 5."""
    for item in items:
        if isinstance(item, list) and depth:
            _require_numbers(item, depth - 1)
        elif isinstance(item, bool) or not isinstance(item, int | float):
            raise TypeError


def _reshape_lists(name: str, lists: Any, linear: Array) -> Array:
    """Reshape lists to [product, rows, cols]: a matrix, one a product, or a flat list in memory order, which `linear`
    counts.
    """
    shape = linear.shape
    try:
        _require_numbers(lists)
        array = np.array(lists, dtype=np.float64)
    except (ValueError, TypeError, OverflowError):
        raise LayoutError(
            "bad_matrix", f"{name} has rows of different lengths, or values that are not numbers.", HINT, name
        ) from None
    if array.shape == shape:
        return array
    if array.shape == shape[1:]:
        return np.broadcast_to(array, shape).copy()
    if array.shape == (shape[1] * shape[2],):
        return np.broadcast_to(array[linear[0]], shape).copy()
    size = " × ".join(map(str, array.shape)) or "one number"
    hint = (
        f"{name.upper()} is {shape[1]} × {shape[2]}"
        + (" (k × n)" if name == "b" else "")
        + ", or one line of all numbers as memory has them"
    )
    transpose_note = " That is the transpose." if array.shape == shape[:0:-1] else ""
    raise LayoutError("bad_matrix", f"{name} is {size}.{transpose_note}", f"{hint}.", name)


def format_matrix(matrix: Any) -> str:
    """Format lists as parse_matrix parses them: a line per row, products one after another separated by blank lines."""
    if not matrix or not isinstance(matrix[0], list):
        return " ".join(f"{value:.17g}" for value in matrix)
    if isinstance(matrix[0][0], list):
        return json.dumps(matrix)
    return "\n".join(" ".join(f"{value:.17g}" for value in row) for row in matrix)


# as text --------------------------------------------------------------------------------------------------------------


def describe_matrices(data: Mapping[str, Any] | None) -> dict[str, str]:
    """Describe where each matrix that is not random comes from: a formula, or numbers."""
    if not data:
        return {}
    texts = {name: value if isinstance(value, str) else "numbers given" for name, value in data.items()}
    return texts if "c" in texts else texts | {"c": "0"}


def describe_inputs(texts: Mapping[str, str], seed: int) -> str:
    """Describe in one line where all matrices come from; texts: of those that are not random."""
    return ", ".join(f"{name.upper()} = {text}" for name, text in texts.items()) or f"seed {seed}"


def drop_point(value: Any) -> int | float:
    """Return an integer without a point."""
    number = float(value)
    return int(number) if number.is_integer() else number


def format_number(value: float) -> str:
    """Format a number: whole ones in full, others to six digits."""
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else f"{value:g}"
