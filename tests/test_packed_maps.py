"""Tensor maps that are encoded otherwise than by a plain call: the packed function of TileLang, wrapped pointers,
im2col. All say the same box of 64 × 128 elements of 16 bits with the 128B swizzle.
"""

from __future__ import annotations

from tests.cases import for_each
from tests.found_in_code import find_tensor_maps

ARRAYS = "uint64_t dims[2] = {4096, 1024}, strides[1] = {8192}; uint32_t box[2] = {64, 128}, ones[2] = {1, 1};"
GIVEN = (
    "CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, ptr, dims, strides, box, ones, CU_TENSOR_MAP_INTERLEAVE_NONE,"
    " CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE"
)
POINTER = (
    "PFN_cuTensorMapEncodeTiled_v12000 get() { void* p = nullptr; cudaDriverEntryPointQueryResult found;"
    ' cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &p, cudaEnableDefault, &found);'
    " return reinterpret_cast<PFN_cuTensorMapEncodeTiled_v12000>(p); }"
)
TEXTS = {
    "a wrapper of CUTLASS": f"void f(CUtensorMap& m, void* ptr) {{ {ARRAYS}"
    f" CUTLASS_CUDA_DRIVER_WRAPPER_CALL(cuTensorMapEncodeTiled)(&m, {GIVEN}); }}",
    "a function pointer": f"{POINTER}\nvoid f(CUtensorMap* m, void* ptr) {{ {ARRAYS}"
    f" auto encode = get(); encode(m, {GIVEN}); }}",
    "a helper that returns it": "template <int Rows, int Cols> CUtensorMap make(void* ptr) { CUtensorMap m;"
    f" {ARRAYS.replace('{64, 128}', '{Cols, Rows}')} cuTensorMapEncodeTiled(&m, {GIVEN}); return m; }}\n"
    "void g(void* p) { CUtensorMap a = make<128, 64>(p); }",
    "TileLang": "tvm_tensormap_create_tiled(A_desc, 9, 2, A, 4096, 1024, 2, 8192, 64, 128, 1, 1, 0, 3, 2, 0);",
    "TileLang, packed": 'def main():\n    T.call_packed("__tvm_tensormap_create_tiled", A_desc, 9, 2, A, 4096, 1024, 2,'
    " 8192, 64, 128, 1, 1, 0, 3, 2, 0)\n",
}


@for_each("text", TEXTS.values(), ids=TEXTS)
def test_encoded_otherwise(text: str) -> None:
    (found,) = find_tensor_maps(text)
    assert (found.box, found.swizzle, found.element_bits) == ((64, 128), "128B", 16)
    assert (found.dims, found.strides, found.problems) == ((4096, 1024), (8192,), ())


def test_im2col_lays_pixels_as_rows_of_channels() -> None:
    text = (
        "void f(CUtensorMap* m, void* ptr) { uint64_t dims[4] = {64, 56, 56, 8}, strides[3] = {128, 7168, 401408};"
        " int lower[2] = {-1, -1}, upper[2] = {-1, -1}; uint32_t ones[4] = {1, 1, 1, 1};"
        " cuTensorMapEncodeIm2col(m, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 4, ptr, dims, strides, lower, upper, 64, 128,"
        " ones, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,"
        " CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE); }"
    )
    (found,) = find_tensor_maps(text)
    assert (found.box, found.swizzle, found.problems) == ((64, 128), "128B", ())
    (found,) = find_tensor_maps(text.replace("CU_TENSOR_MAP_SWIZZLE_128B", "(CUtensorMapSwizzle)9"))
    assert found.swizzle is None and [one.message for one in found.problems] == ["9 is not a CUtensorMapSwizzle."]


def test_another_number_of_arguments_is_no_map() -> None:
    assert not find_tensor_maps(
        "tvm_tensormap_create_tiled(A_desc, 9, 2, A, 4096, 1024, 2, 8192, 64, 128, 1, 1, 0, 3);"
    )
