"""What code is read into as a whole: tensor maps of every maker with each of its names, amounts and bounds; and short
programs, one for each thing that can be written in more than one way.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product

from layouts.reader.code import builders, rows, tensor_maps
from layouts.reader.code.evaluate import evaluate
from tests.calls import Call

TYPES = (
    "torch.float16 torch.bfloat16 torch.float32 torch.float8_e4m3fn torch.float8_e5m2 torch.int8 torch.uint8"
    " torch.float64 tl.float16"
    " tl.float8e4nv tl.float8e5 torch.kHalf E4M3 E5M2 BF16 F16 kFloat torch.bool nothing"
).split()
C10 = (
    "kHalf Half kFloat16 Float16 kBFloat16 BFloat16 kFloat Float kFloat32 kFloat8_e4m3fn kFloat8_e5m2 kByte Byte"
    " kUInt8 kChar kInt8 kInt Halfx"
)
DRIVER = "cuTensorMapEncodeTiled(&map, {}, {}, ptr, dims, strides, box, steps, {}, {}, 0, 0);"
LISTS = (
    "uint64_t dims[{0}] = {{{1}}}; uint64_t strides[{2}] = {{{3}}};"
    " uint32_t box[{0}] = {{{4}}}; uint32_t steps[{0}] = {{{5}}};"
)


def driver(
    kind: object, rank: int, interleave: object, swizzle: object, box: str = "64, 8, 2, 1, 1", row: int = 128
) -> str:
    def cut(text: str, many: int) -> str:
        return ", ".join(text.split(", ")[:many])

    lists = LISTS.format(
        rank, cut("64, 256, 8, 4, 2", rank), max(rank - 1, 1), cut(f"{row}, 32768, 262144, 1048576", max(rank - 1, 1)),
        cut(box, rank), cut("1, 1, 1, 1, 1", rank),
    )  # fmt: skip
    return lists + DRIVER.format(kind, rank, interleave, swizzle)


def of_code_maps() -> Iterator[Call]:
    read = tensor_maps.tensor_maps
    for code in range(-1, 17):
        yield f"data type {code}", partial(read, driver(code, 2, 0, 3))
        yield f"swizzle {code}", partial(read, driver(6, 2, 0, code))
    for rank, interleave in product(range(1, 6), (0, 1, 2, "x")):
        yield f"rank {rank} interleave {interleave}", partial(read, driver(6, rank, interleave, 1))
    for box, row in product(
        ("64, 8", "65, 8", "64, 256", "64, 257", "8, 8", "7, 8", "0, 8", "x, 8", "64, x"), (64, 112, 128, 130)
    ):
        yield f"box {box} row {row}", partial(read, driver(6, 2, 0, 3, box, row))
    for head in (
        "cuTensorMapEncodeTiled tensor_map_encode_tiled encodeTiled encode_tiled_x my_encode TensorMapEncode"
        " fn_im2col fn"
    ).split():
        given = "&m, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 1, p, d, s, b, e, 0, 0"
        for more in ("", ", 0", ", 0, 0", ", 0, 0, 0"):
            yield f"{head} {more}", partial(read, f"auto desc = {head}({given}{more});")
    for name in TYPES:
        for text in (
            "a = torch.empty((8, 8), dtype={0})\ndesc = TensorDescriptor.from_tensor(a, [16, 64])\n",
            "desc = tl.make_tensor_descriptor(p, shape=[M, 64], strides=[64, 1], block_shape=[16, 64], dtype={0})\n",
            "a = torch.zeros(8).to({0})\ndesc = TensorDescriptor(a, [8, 8], [8, 1], [8, 32])\n",
            "desc = tl.make_tensor_descriptor(p, [8, 8], [8, 1], [8, 32], element_ty=tl.pointer_type({0}))\n",
        ):
            yield f"{name} in {text[:30]}", partial(read, "import torch\n" + text.format(name))
    for name, scope in product(C10.split(), ("torch::", "at::", "c10::ScalarType::", "x::")):
        text = f"auto a = torch::empty({{8, 8}}, {scope}{name}); make_tma_2d_desc(a, 8, 256, 64, 16, 8, 128);"
        yield f"{scope}{name}", partial(read, text)
    for name in "half bfloat16 float to double".split():
        yield (
            f"a tensor's .{name}()",
            partial(read, f"import torch\na = x.{name}()\ndesc = TensorDescriptor.from_tensor(a, [8, 64])"),
        )
    for block in ("[8, 64]", "[7, 64]", "[8, 32]", "[8, 16]", "[8, 8]", "[64]", "[2, 4, 64]", "[2, 3, 64]", "[n, 64]",
    "[8, n]",
                  "[8, 128]", "[1, 1]", "[8, 65]", "b", "[]", "[8, 1]"):  # fmt: skip
        for form in (
            "tl.make_tensor_descriptor(p, [1024, 64], [64, 1], {}, dtype=tl.float16)",
            "tl.make_tensor_descriptor(p, [1024, 64], [64, 2], {}, dtype=tl.float32)",
            "gl.make_tensor_descriptor(p, [9, 9], [9, 1], {}, gl.NVMMASharedLayout(swizzle_byte_width=64,"
            " element_bitwidth=16))",
            "gl.make_tensor_descriptor(p, [9, 9], [9, 1], {}, gl.NVMMASharedLayout(swizzle_byte_width=0,"
            " element_bitwidth=8))",
            "gl.make_tensor_descriptor(p, [9, 9], [9, 1], {}, gl.NVMMASharedLayout.get_default_for([8, 64],"
            " gl.float16))",
            "TensorDescriptor.from_tensor(t, {})",
            "TensorDescriptor.from_tensor(tensor=t.half(), block_shape={})",
        ):
            yield (
                f"block {block} in {form[:30]}{form[-30:]}",
                partial(read, f"import triton\ndesc = {form.format(block)}\n"),
            )
    for text in (
        "create_2d_tma_descriptor(p, 64, 256, 8, {}, 2)", "create_1d_tma_descriptor(p, 64, {}, 2)",
        "fill_2d_tma_descriptor(p, M, N, 8, {}, 2)",
        "fill_1d_tma_descriptor_type(p, 64, {}, 4)", "create_2d_tma_descriptor(p, 64, 256, 8, {}, t.element_size())",
        "create_2d_tma_descriptor(p, 64, 256, 8, {})", "create_3d_tma_descriptor(p, 64, 256, 8, {}, 2)",
        "create_tma_descriptor(6, 2, p, 64, 8, 2, 128, {}, 8, 1, 1, 0, 3)", "create_tma_descriptor(6, 2, p, 64, 8,"
        " 2, 128, {}, 8, 1, 1, 0)",
        "create_tma_descriptor(6, 0, p, {}, 8, 2)", "create_tma_descriptor(6, 6, p, {})", "create_tma_descriptor(6,"
        " {})",
        "create_tma_descriptor(6, 1, p, 64, 2, {}, 1, 0, 2)", "make_tma_2d_desc(t, 64, 256, {}, 8, 64, 128)",
        "make_tma_2d_desc(t, 64, 256, {}, 8, 64)",
        "make_tma_3d_desc(t, 64, 256, 4, {}, 8, 1, 64, 4096, 128)", "make_tma_cd_desc(t, 256, 64, 8, {}, 64, 1, 128)",
        "make_tma_a_desc(0, t, 256, 64, 8, {}, 64, 1, 128)", "make_tma_a_desc(1, t, 256, 64, 8, {}, 64, 1, 128)",
        "make_tma_b_desc(0, t, 9, 9, 8, {}, 9, 1)",
        "make_tma_b_desc(0, t, 256, 64, 8, {}, 64, 1, 0)", "make_tma_b_desc(0, t, 256, 64, 8, {}, 64, 1, 16)",
        "make_tma_b_desc(x, t, 2, 6, 8, {}, 6, 1, 128)",
        "make_tma_b_desc(0, t, 256, 64, 8, {}, 64, 1, m)",
    ):  # fmt: skip
        for width in ("8", "64", "65", "16", "32", "128", "n"):
            yield (
                f"{text} {width}",
                partial(read, f"import torch\nt = torch.empty(8, dtype=torch.float16)\n{text.format(width)}\n"),
            )
    atoms = [
        f"Layout_{major}_{mode}_Atom"
        for major in ("K", "MN", "M")
        for mode in ("INTER", "SW32", "SW64", "SW128", "SW16")
    ]
    for atom, shape in product(atoms, ("Shape<_64, _64>{}", "make_shape(_8{}, Int<64>{})", "shape")):
        for order in ("", ", Step<_2, _1>{}", ", Step<_1, _2>{}"):
            layout = f"tile_to_shape(GMMA::{atom}<half_t>{{}}, {shape}{order})"
            yield f"{layout}", partial(read, f"auto m = make_tma_copy(SM90_TMA_LOAD{{}}, t, {layout});")
    for major, mode, kind in product(
        ("K", "MN", "X"),
        ("INTER", "SW32", "SW64", "SW128"),
        ("cutlass.Float16", "cutlass.BFloat16", "TFloat32", "Int8", "x"),
    ):
        atom = f"make_smem_layout_atom(SmemLayoutAtomKind.{major}_{mode}, {kind})"
        layout = f"cute.tile_to_shape({atom}, (64, 64), (0, 1))"
        yield f"{major} {mode} {kind}", partial(read, f"import cute\nm = make_tiled_tma_atom(op, t, {layout})\n")
    for name in ("make_tma_copy make_tma_atom make_tiled_tma_copy make_tiled_tma_atom make_tma_copy_A_sm90"
                 " make_tma_tile_atom_A"
                 " make_tiled_tma_atom_B make_tma_x").split():  # fmt: skip
        yield (
            name,
            partial(
                read,
                f"auto m = {name}(op, t, tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{{}},"
                f" Shape<_64, _64>{{}})); auto n = {name}(op, t, l);",
            ),
        )


ENUMS = (
    "CU_TENSOR_MAP_SWIZZLE_NONE", "CU_TENSOR_MAP_SWIZZLE_32B", "CU_TENSOR_MAP_SWIZZLE_64B",
    "CU_TENSOR_MAP_SWIZZLE_128B",
    "CU_TENSOR_MAP_SWIZZLE_128B_x", "CUtensorMapSwizzle::64B", "tensorMapSwizzle.NONE",
    "TensorMapSwizzleMode::CU_32B", "CUtensorMapSwizzle.a_b_64B",
    "xCU_TENSOR_MAP_SWIZZLE_64B", "CU_TENSOR_MAP_SWIZZLE_64B CU_TENSOR_MAP_SWIZZLE_64B", "CU_TENSOR_MAP_SWIZZLE_64B"
    " CU_TENSOR_MAP_SWIZZLE_NONE",
    "cuTensorMapEncodeIm2col CU_TENSOR_MAP_SWIZZLE_64B", "CU_TENSOR_MAP_SWIZZLE_16B", "TensorMapSwizzle:64B",
    "CU_TENSOR_MAP_SWIZZLE_64B" + " " * 3975,
    "CU_TENSOR_MAP_SWIZZLE_64B" + " " * 3976,
)  # fmt: skip
BUILT = (
    "uint64_t desc = (uint64_t)(({0} & 0x3FFFF) >> 4) | (uint64_t){1} << 16 | (uint64_t){2} << 32 |"
    " (uint64_t){3} << 49 | (uint64_t){4} << 62;"
)
PARTS = (
    ("s", "0x1000", "s + 16 * k"), ("1", "l", "64"), ("64", "m", "0x7fff"), ("0", "3", "o"), ("1", "0", "w"),
)  # fmt: skip


def of_code_programs() -> Iterator[Call]:
    for text in ENUMS:
        yield f"{text[:60]} of {len(text)}", partial(rows.read, text)
    for given in product(*PARTS):
        text = BUILT.format(*given)
        yield f"built of {given}", lambda text=text: [rows.read(text), builders.builders(text)]
    for mode, given in product(("128B", "64B", "32B"), ("0x1000", "p", '"x"', "x + 16", "&s", "a", "1 << 20")):
        text = f"half* p; int s; int a[2] = {{1, 2}}; desc = mk({given});"
        yield f"{mode} of {given}", lambda text=text, mode=mode: str(evaluate(text, 1, (("mk", mode),)).found)  # type: ignore[union-attr]
