"""Matrices that a user gives: formulas against C's own answers, rounding against NumPy, sparsity both ways, and what is
refused.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from lanescope import find
from lanescope.app.hardware import mma_runs, product_inputs, runs, user_matrices
from lanescope.app.hardware.numpy_device import NumpyDevice
from lanescope.cxx.formula import evaluate_formula
from lanescope.errors import LayoutError
from lanescope.product.planning import is_plannable
from lanescope.ptx import catalog, codec
from tests import cpp
from tests.cases import for_each
from tests.npy_files import encode_npy

S8 = "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32"
F16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"

# formulas -------------------------------------------------------------------------------------------------------------

LEAVES = st.sampled_from(["i", "row", "col", "0", "1", "2", "3", "7", "100", "0x10"])


def _extend_formulas(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    binary = st.sampled_from(["+", "-", "*", "/", "%", "&", "|", "^", "==", "!=", "<", "<=", ">", ">=", "&&", "||"])
    return st.one_of(
        st.tuples(inner, binary, inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        st.tuples(st.sampled_from("-~!"), inner).map(lambda t: f"{t[0]}({t[1]})"),
        st.tuples(inner, inner, inner).map(lambda t: f"({t[0]} ? {t[1]} : {t[2]})"),
        st.tuples(inner, st.integers(0, 3)).map(lambda t: f"(({t[0]} & 255) << {t[1]})"),
        st.tuples(inner, st.integers(0, 3)).map(lambda t: f"({t[0]} >> {t[1]})"),
    )


FORMULAS = st.recursive(LEAVES, _extend_formulas, max_leaves=6)


@pytest.mark.skipif(cpp.find_compiler() is None, reason=cpp.MISSING)
def test_formulas_mean_what_c_means() -> None:
    """Two hundred formulas, compiled by a C++ compiler and run, against ours; a division by zero is refused."""
    texts: list[str] = []

    @settings(max_examples=200, deadline=None, database=None, derandomize=True)
    @given(FORMULAS)
    def collect(text: str) -> None:
        texts.append(text)

    collect()
    texts += [
        "-(i + 1)",
        "i % 7 - 3",
        "-i / 2",
        "-i % 3",
        "1 + 2 * 3 << 1 & 12 | 1 ^ 3",
        "i == 3 || i > 5 && col",
        "- -i - - -1",
        "!i + ~i",
    ]
    where = {"i": np.arange(12), "row": np.arange(12) // 4, "col": np.arange(12) % 4}
    kept, wanted = [], []
    for text in texts:
        try:
            array, whole = evaluate_formula(text, where)
        except LayoutError as error:
            assert "divided by zero" in error.message
            continue
        assert whole
        kept.append(text)
        wanted.append(array.astype(np.int64).tolist())
    assert len(kept) > 120
    # C++ may evaluate what we select around; only formulas that are defined everywhere are kept above.
    lines = "".join(
        f"  out([](I i, I row, I col) -> I {{ (void)i; (void)row; (void)col; return ({text}); }});\n" for text in kept
    )
    told = cpp.build_and_run(
        "#include <cstdio>\nusing I = long long;\ntemplate <class F> void out(F f) { for (I i = 0; i < 12; ++i)"
        ' std::printf("%lld ", f(i, i / 4, i % 4)); std::puts(""); }\nint main() {\n' + lines + "}\n"
    ).decode()
    assert [[int(n) for n in line.split()] for line in told.splitlines()] == wanted


def test_real_numbers_and_functions() -> None:
    i = {"i": np.arange(5)}
    assert (
        evaluate_formula("i / 2.0", i)[0].tolist() == [0, 0.5, 1, 1.5, 2] and evaluate_formula("i / 2.0", i)[1] is False
    )
    assert evaluate_formula("abs(i - 2) + max(i, 3) - min(i, 1)", i)[0].tolist() == [5, 3, 2, 3, 5]
    assert evaluate_formula("1e-1 * .5", i)[0].tolist() == [0.05] * 5
    assert evaluate_formula("i ? 6 / i : 0", i)[0].tolist() == [0, 6, 3, 2, 1]
    assert evaluate_formula("-i / 2", i)[0].tobytes() == np.array([0.0, 0, -1, -1, -2]).tobytes()  # no negative zeros


@for_each(
    ("text", "says"),
    [
        ("", "a value is missing at the end"),
        ("i +", "missing at the end"),
        ("x", "'x' has no value"),
        ("i ** 2", "was found where a value is expected"),
        ("(i", "')' is missing"),
        ("i 2", "follows a complete formula"),
        ("6 / i", "divided by zero"),
        ("1.5 & 1", "takes integers"),
        ("~1.5", "takes integers"),
        ("i << 60", "shifts by 0 to 52"),
        ("i << -1", "shifts by 0 to 52"),
        ("9007199254740991 + 1", "2^53 or more"),
        ("1e400", "too large"),
        ("max(i)", "max needs 2 arguments, not 1"),
        ("__import__('os')", "has no meaning"),
        ("i.real", "has no meaning"),
        ("(" * 40 + "i" + ")" * 40, "nested deeper"),
        ("-" * 40 + "i", "signs in a row"),
        ("i" * 501, "501 characters"),
        ("lambda: 1", "'lambda' has no value"),
    ],
)
def test_what_is_no_formula(text: str, says: str) -> None:
    with pytest.raises(LayoutError) as caught:
        evaluate_formula(text, {"i": np.arange(4)}, "a")
    assert says in caught.value.message and caught.value.field == "a" and caught.value.hint


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=40) | st.text(alphabet="irowcl0123.xe+-*/%<>&|^~!?:(),= ", max_size=40))
def test_any_text_is_a_formula_or_refused(text: str) -> None:
    try:
        assert np.isfinite(
            evaluate_formula(text, {"i": np.arange(4), "row": np.arange(4), "col": np.arange(4)})[0]
        ).all()
    except LayoutError as error:
        assert error.code == "bad_formula"


# element types --------------------------------------------------------------------------------------------------------


@for_each("name", ["f16", "bf16", "tf32", "f32", "e4m3", "e5m2", "e3m2", "e2m3", "e2m1"])
def test_values_are_rounded_to_the_nearest_that_a_type_holds(name: str) -> None:
    low, high = codec.get_bounds(name)
    rng = np.random.default_rng(1)
    values = np.clip(rng.normal(size=4000) * 10.0 ** rng.uniform(-8, 4, 4000), low, high)
    values = np.concatenate([values, [low, high, 0.0]])
    held = codec.round_to_type(values, name)
    assert np.array_equal(codec.decode_bits(codec.encode_values(held, name), name), held + 0.0)
    if name in ("f16", "f32"):
        assert np.array_equal(held, values.astype(np.dtype(f"float{name[1:]}")).astype(np.float64))
        return
    if name in ("bf16", "tf32"):
        step = 1 << (16 if name == "bf16" else 13)
        around = [
            (held.astype(np.float32).view(np.int32).astype(np.int64) + way).astype(np.int32).view(np.float32)
            for way in (-step, step)
        ]
        assert all(
            (np.abs(held - values) <= np.abs(other.astype(np.float64) - values) * (1 + 1e-12)).all()
            for other in around
            if np.isfinite(other).all()
        )
        return
    known = np.unique(
        codec.decode_bits(
            np.arange(1 << (8 if name in ("e4m3", "e5m2") else 6 if name != "e2m1" else 4), dtype=np.uint64), name
        )
    )
    known = known[np.abs(known) <= high]
    assert np.array_equal(np.abs(held - values), np.abs(values[:, None] - known[None, :]).min(axis=1))
    assert (
        codec.round_to_type((known[:-1] + known[1:]) / 2, name)
        == np.where(codec.encode_values(known[:-1], name) & np.uint64(1), known[1:], known[:-1])
    ).all()


def test_bounds_of_whole_types() -> None:
    assert [codec.get_bounds(name) for name in ("s8", "u8", "s4", "u4", "b1")] == [
        (-128, 127),
        (0, 255),
        (-8, 7),
        (0, 15),
        (0, 1),
    ]


# sparsity -------------------------------------------------------------------------------------------------------------


@for_each(
    "found",
    list({(i.types["a"], i.shape): i for i in catalog.instructions() if i.family.name == "mma_sp"}.values()),
    ids=lambda i: i.ptx,
)
def test_a_dense_matrix_is_compressed_and_told_back(found: Any) -> None:
    op = found.operands["a"]
    rng = np.random.default_rng(2)
    for selector in range(op.sparsity.selectors):
        columns = op.sparsity.list_dense_columns(
            op.coords["col"], product_inputs.make_random_metadata(rng, op.sparsity, found.threads), selector
        )
        dense = np.zeros((op.row_count, op.dense_col_count), dtype=np.int64)
        dense[op.rows, columns] = rng.integers(0, 3, columns.shape)
        stored, words = op.sparsity.compress(dense), op.sparsity.pack_words(dense, op.rows, op.coords["col"], selector)
        again = np.zeros_like(dense)
        again[op.rows, op.sparsity.list_dense_columns(op.coords["col"], words, selector)] = stored[
            op.rows, op.coords["col"]
        ]
        assert np.array_equal(again, dense)
    with pytest.raises(LayoutError, match="nonzero") as caught:
        op.sparsity.find_kept_positions(np.ones_like(dense))
    hint = caught.value.hint.partition("e.g. ")[2].rstrip(".")
    kept, _ = evaluate_formula(hint, user_matrices.build_formula_names(found, "a"))
    op.sparsity.find_kept_positions(kept[0])


# whole runs -----------------------------------------------------------------------------------------------------------


def run_product(ptx: str, **data: Any) -> dict[str, Any]:
    return runs.execute_run(
        NumpyDevice(), runs.parse_run({"kind": "mma", "instruction": ptx, "backend": "numpy", "data": data})
    )


def test_the_seeds_matrices() -> None:
    """A = i, B = -(i + 1), B's elements counted column by column as memory has them."""
    told = run_product(S8, a="i", b="-(i + 1)")
    a, b = np.arange(128).reshape(8, 16), -(np.arange(128) + 1).reshape(8, 16).T
    assert told["agrees"] and np.array_equal(told["measured"], a @ b) and np.array_equal(told["predicted"], a @ b)
    lists = run_product(S8, a=a.tolist(), b=" ".join(str(-(n + 1)) for n in range(128)), c=[[0] * 8] * 8)
    assert np.array_equal(lists["measured"], a @ b)
    text = "\n".join(",".join(map(str, row)) for row in b.tolist())
    assert np.array_equal(run_product(S8, a="i", b=text)["measured"], a @ b)


ANY = {
    "mma": "i % 3 - 1",
    "mma_scaled": "i % 2",
    "wmma": "i % 3",
    "wgmma": "i % 2",
    "mma_sp": "col % 4 == row % 4 ? 1 : 0",
    "wgmma_sp": "col % 4 == row % 4 ? 1 : 0",
}


def test_every_family_takes_matrices() -> None:
    """One of each family and types: what is given is what is multiplied."""
    seen = {(i.family.name, i.types["a"]): i for i in reversed(catalog.instructions()) if is_plannable(i)}
    for (family, kind), found in seen.items():
        text = ANY[family]
        if kind.startswith("u") or kind == "b1":
            text = f"abs({text})" if kind != "b1" else "i & 1"
        told = run_product(found.ptx, a=text, b="1", c="row")
        assert told["agrees"], found.ptx
        dense, _ = evaluate_formula(text, user_matrices.build_formula_names(found, "a"))
        if kind != "b1" and not found.scales:
            assert np.array_equal(
                np.asarray(told["measured"])[..., 0], (dense.sum(axis=2) + np.arange(found.sizes["m"])).squeeze()
            ), found.ptx


def test_rounding_is_allowed_for_and_a_wrong_element_is_still_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run_product(F16, a="i / 7.0", b="(row - col) / 3.0")["agrees"]
    made = product_inputs.make_random_inputs(find(F16), data={"a": "i", "b": "i % 9"})
    assert (made.compute_tolerance(find(F16)) == 0).all()  # whole and small: exact
    rough = product_inputs.make_random_inputs(find(F16), data={"a": "i / 7.0", "b": "1"})
    assert 0 < rough.compute_tolerance(find(F16)).max() < 1e-2
    right = mma_runs.execute_inputs

    def wrong(*given: Any) -> Any:
        got, disagree, source = right(*given)
        got = got.copy()
        got[0, 3, 2] *= 1.001
        return got, disagree, source

    monkeypatch.setattr(mma_runs, "execute_inputs", wrong)
    told = run_product(F16, a="i / 7.0", b="1")
    assert not told["agrees"] and [(m["row"], m["col"]) for m in told["mismatches"]] == [(3, 2)]


@for_each(
    ("ptx", "data", "says", "field"),
    [
        (S8, {"a": "i * i"}, r"A\[0,12\] = 144 is not representable as s8", "data.a"),
        (S8, {"a": "0.5"}, r"A\[0,0\] = 0.5 is not representable as s8", "data.a"),
        (S8, {"b": "1 2 3"}, "b is 3", "data.b"),
        (S8, {"b": [[1] * 16] * 8}, "b is 8 × 16. That is the transpose", "data.b"),
        (S8, {"a": [[1, 2], [3]]}, "rows of different lengths", "data.a"),
        (S8, {"a": None}, "a is null", "data.a"),
        (S8, {"a": True}, "a is true", "data.a"),
        (S8, {"x": "i"}, "data has no key 'x'", "data.x"),
        (S8, {"a": [["1", "z"]]}, "not numbers", "data.a"),
        (S8, {"c": "1 << 40"}, "is not representable as s32", "data.c"),
        (
            "mma.m16n8k16.row.col.f16.f16.f16.f16",
            {"a": "i", "b": "i"},
            r"D\[2,6\] would be 65752; f16 ends at 65504",
            "data",
        ),
        ("mma.sp::ordered_metadata.m16n8k32.row.col.f32.f16.f16.f32", {"a": "i"}, "have 3 nonzero elements", "data.a"),
        (S8, {"a": "[[1, 2"}, "a is 2", "data.a"),
        (S8, {"a": "[a]"}, "not a list of numbers", "data.a"),
    ],
)
def test_data_that_are_refused(ptx: str, data: dict[str, Any], says: str, field: str) -> None:
    with pytest.raises(LayoutError, match=says) as caught:
        run_product(ptx, **data)
    assert caught.value.field == field and caught.value.hint


def test_data_of_a_whole_product() -> None:
    """A wgmma over two steps of K, stored as its options say: A and B as given, the sparse one with metadata a step."""
    job = {
        "kind": "mma",
        "instruction": "wgmma.mma_async.m64n16k16.f32.f16.f16",
        "backend": "numpy",
        "a": "major=MN,swizzle=64B,k=32",
        "b": "swizzle=64B",
    }
    told = runs.execute_run(NumpyDevice(), runs.parse_run(job | {"data": {"a": "i % 7", "b": "row - col", "c": "i"}}))
    a, b = np.arange(64 * 32).reshape(64, 32) % 7, np.arange(32)[:, None] - np.arange(16)[None, :]
    assert told["agrees"] and np.array_equal(told["measured"], a @ b + np.arange(1024).reshape(64, 16))
    sparse = job | {"instruction": "wgmma.mma_async.sp.m64n16k32.f32.f16.f16", "a": "k=64", "b": ""}
    told = runs.execute_run(
        NumpyDevice(),
        runs.parse_run(sparse | {"data": {"a": "col % 4 == row % 4 || col % 4 == 3 ? i % 5 : 0", "b": "1"}}),
    )
    i, row, col = (
        user_matrices.build_formula_names(find(sparse["instruction"]), "a", told["steps"])[name][0]
        for name in ("i", "row", "col")
    )
    dense = np.where((col % 4 == row % 4) | (col % 4 == 3), i % 5, 0)
    assert told["agrees"] and np.array_equal(np.asarray(told["measured"])[:, 3], dense.sum(axis=1))
    with pytest.raises(LayoutError, match="A is 64 × 32") as caught:
        get_error(job | {"data": {"a": [[1, 2]]}})
    assert caught.value.field == "data.a"


def get_error(job: dict[str, Any]) -> None:
    try:
        runs.parse_run(job)
    except LayoutError as error:
        raise LayoutError(error.code, f"{error.message} {error.hint}", error.hint, error.field) from None


def test_data_is_an_object() -> None:
    with pytest.raises(LayoutError, match="data is missing"):
        runs.parse_run({"kind": "mma", "instruction": F16, "backend": "numpy", "data": None})


def test_numpy_files(tmp_path: Path) -> None:
    assert user_matrices.read_npy(encode_npy(np.arange(6, dtype=np.int8).reshape(2, 3)), "a") == [[0, 1, 2], [3, 4, 5]]
    assert user_matrices.read_npy(encode_npy(np.array([0.5], np.float16)), "a") == [0.5]
    for bad in (
        b"",
        b"\x93NUMPY",
        b"PK\x03\x04",
        encode_npy(np.array([{}], dtype=object)),
        encode_npy(np.array(["x"])),
        encode_npy(np.array([1j])),
        b"\x00" * (1 << 18) + b"x",
    ):
        with pytest.raises(LayoutError) as caught:
            user_matrices.read_npy(bad, "b")
        assert caught.value.field == "b" and caught.value.code == "bad_matrix"
