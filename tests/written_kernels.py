"""A wgmma kernel built by hand in CuTe, written in many ways: what each spells, and where its elements lie.

Where element (mn, k) lies is computed here from CUTLASS's definitions with pycute alone: an atom is 8 lines of one
swizzle width, tile_to_shape lays copies of it, the swizzle XORs bits 4 to 6 of the byte address with bits 7 to 9.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pycute

WIDTHS = {"none": 16, "32B": 32, "64B": 64, "128B": 128}  # bytes of an atom's line
CODES = {"none": 0, "128B": 1, "64B": 2, "32B": 3}  # PTX ISA 9.1, the descriptor's swizzle mode
ATOMS = {"none": "INTER", "32B": "SW32", "64B": "SW64", "128B": "SW128"}
TYPES = {  # PTX's name → C++'s type, its bits, PTX's accumulator
    "f16": ("cute::half_t", 16, "f32"),
    "bf16": ("cutlass::bfloat16_t", 16, "f32"),
    "e4m3": ("cutlass::float_e4m3_t", 8, "f32"),
    "s8": ("int8_t", 8, "s32"),
    "tf32": ("cutlass::tfloat32_t", 32, "f32"),
}


@dataclass(frozen=True)
class OperandTile:
    """One operand's tile: so many rows (of M or N) and elements of K; k_first: whether atoms are laid along K first."""

    rows: int
    k: int
    swizzle: str
    major: str = "K"
    k_first: bool = False

    def atom(self, bits: int) -> tuple[int, int]:
        wide = WIDTHS[self.swizzle] * 8 // bits
        return (8, wide) if self.major == "K" else (wide, 8)

    def layout(self, bits: int) -> tuple[Any, Any]:
        """(shape, stride) in elements, before the XOR."""
        (am, ak), (nm, nk) = self.atom(bits), self.copies(bits)
        whole = am * ak
        steps = (whole * nk, whole) if self.k_first else (whole, whole * nm)
        inside = (ak, 1) if self.major == "K" else (1, am)
        return ((am, nm), (ak, nk)), ((inside[0], steps[0]), (inside[1], steps[1]))

    def copies(self, bits: int) -> tuple[int, int]:
        am, ak = self.atom(bits)
        return self.rows // am, self.k // ak

    def address(self, mn: int, k: int, bits: int) -> int:
        """The byte that element (mn, k) begins at, from the tile's start."""
        shape, stride = self.layout(bits)
        at = pycute.Layout(shape, stride)(mn, k) * bits // 8
        mask = WIDTHS[self.swizzle] // 16 - 1
        return at ^ ((at >> 7 & mask) << 4)

    def lbo_sbo(self, bits: int) -> tuple[int, int]:
        """(LBO, SBO) in units of 16 bytes; one that no instruction reads is 1."""
        _, ((_, along_mn), (_, along_k)) = self.layout(bits)
        mn, k = (step * bits // 8 // 16 for step in (along_mn, along_k))
        if self.swizzle == "none":
            return k, mn
        return (1, mn) if self.major == "K" else (mn, k)

    def tuples(self, bits: int) -> tuple[str, str]:
        """Its shape and stride as C++ types."""
        return tuple(_format_type(one, name) for one, name in zip(self.layout(bits), ("Shape", "Stride"), strict=True))  # type: ignore[return-value]


def _format_type(nested: Any, name: str) -> str:
    if isinstance(nested, int):
        return f"Int<{nested}>"
    return f"{name}<{', '.join(_format_type(one, name) for one in nested)}>"


def _format_value(nested: Any, call: str) -> str:
    return (
        str(nested) if isinstance(nested, int) else f"{call}({', '.join(_format_value(one, call) for one in nested)})"
    )


def build_block(own: OperandTile, bits: int, kind: str) -> str:
    """The block of tile_to_shape as a value."""
    am, ak = own.atom(bits)
    stride = f"_{ak}, _1" if own.major == "K" else f"_1, _{am}"
    plain = f"Layout<Shape<_{am}, _{ak}>, Stride<{stride}>>"
    chunks = WIDTHS[own.swizzle].bit_length() - 5
    if kind == "plain":
        return f"{plain}{{}}"
    if kind == "flagged":
        return f"ComposedLayout<Swizzle<{chunks}, 4, 3>, smem_ptr_flag_bits<{bits}>, {plain}>{{}}"
    if kind == "composed":  # the swizzle counts elements
        base = 4 - (bits // 8).bit_length() + 1
        return f"composition(Swizzle<{chunks}, {base}, 3>{{}}, {plain}{{}})"
    assert kind == "atom"
    return f"GMMA::Layout_{own.major}_{ATOMS[own.swizzle]}_Atom<T>{{}}"


WAYS = ("tiled", "alias", "decltype", "struct", "template", "whole", "made")


def render_layout(own: OperandTile, name: str, bits: int, kind: str, way: str) -> tuple[str, str, str]:
    """(code before the kernel, code inside it, what stands for the layout where the tensor is made)."""
    inside = build_block(own, bits, kind)
    order = ", Step<_2, _1>{}" if own.k_first else ""
    tiled = f"tile_to_shape({inside}, make_shape(Int<{own.rows}>{{}}, Int<{own.k}>{{}}){order})"
    shape, stride = own.tuples(bits)
    chunks = WIDTHS[own.swizzle].bit_length() - 5
    if way == "tiled":
        return "", f"  auto {name}_where = {tiled};\n", f"{name}_where"
    if way == "alias":
        return "", f"  using Where_{name} = decltype({tiled});\n", f"Where_{name}{{}}"
    if way == "decltype":
        return "", f"  auto {name}_in = {tiled};\n", f"decltype({name}_in){{}}"
    if way == "struct":
        ahead = f"template <class T> struct How_{name} {{ using Smem = decltype({tiled}); }};\n"
        return ahead, "", f"typename How_{name}<T>::Smem{{}}"
    if way == "template":
        ahead = (
            f"template <class T, int Rows, int Deep> using Pick_{name} = decltype(tile_to_shape({inside},"
            f" Shape<Int<Rows>, Int<Deep>>{{}}{order}));\n"
        )
        return ahead, "", f"Pick_{name}<T, {own.rows}, {own.k}>{{}}"
    if way == "whole":  # the finished layout as a type
        plain = f"Layout<{shape}, {stride}>"
        whole = plain
        if own.swizzle != "none":
            whole = f"ComposedLayout<Swizzle<{chunks}, 4, 3>, smem_ptr_flag_bits<{bits}>, {plain}>"
        return f"using Whole_{name} = {whole};\n", "", f"Whole_{name}{{}}"
    assert way == "made"
    sizes, steps = own.layout(bits)
    made = f"make_layout({_format_value(sizes, 'make_shape')}, {_format_value(steps, 'make_stride')})"
    if own.swizzle != "none":
        base = 4 - (bits // 8).bit_length() + 1
        made = f"composition(Swizzle<{chunks}, {base}, 3>{{}}, {made})"
    return "", f"  auto {name}_at = {made};\n", f"{name}_at"


UNION = """union Matrix64
{
  uint64_t raw;
  struct
  {
    uint16_t start_address_ : 14, : 2;
    uint16_t leading_byte_offset_ : 14, : 2;
    uint16_t stride_byte_offset_ : 14, : 2;
    uint8_t : 1, base_offset_ : 3, : 4;
    uint8_t : 6, layout_type_ : 2;
  } bitfield;
};
"""


@dataclass(frozen=True)
class WrittenKernel:
    """A kernel of one wgmma: D = A · B from shared memory. exchanged: the operand whose LBO and SBO are exchanged."""

    a: OperandTile
    b: OperandTile
    type: str = "f16"
    kind: str = "plain"
    way: str = "tiled"
    exchanged: str = ""
    names: tuple[str, str] = ("left", "right")

    @property
    def bits(self) -> int:
        return TYPES[self.type][1]

    @property
    def ptx(self) -> str:
        _, _, d = TYPES[self.type]
        shape = f"m64n{self.b.rows}k{256 // self.bits}"
        return f"wgmma.mma_async.sync.aligned.{shape}.{d}.{self.type}.{self.type}"

    def parts(self) -> dict[str, str]:
        """The pieces of an article: union, ahead (aliases), head (of the kernel), fill, describe, run."""
        cxx = TYPES[self.type][0]
        ahead, inside, fill, describe = f"using T = {cxx};\n", "", "", ""
        for own, name, letter in ((self.a, self.names[0], "a"), (self.b, self.names[1], "b")):
            before, within, where = render_layout(own, name, self.bits, self.kind, self.way)
            ahead += before
            inside += within
            fill += f"  __shared__ alignas(1024) T {name}[{own.rows * own.k}];\n"
            fill += f"  auto {name}_view = make_tensor(make_smem_ptr({name}), {where});\n"
            fill += f"  if (t < {own.rows}) {{ for (int j = 0; j < {own.k}; ++j) {name}_view(t, j) = 0; }}\n"
            lbo, sbo = own.lbo_sbo(self.bits)
            if self.exchanged == letter:
                lbo, sbo = sbo, lbo
            describe += (
                f"  Matrix64 m{letter};\n"
                f"  m{letter}.bitfield.layout_type_ = {CODES[own.swizzle]};\n"
                f"  m{letter}.bitfield.start_address_ = static_cast<uint16_t>(cast_smem_ptr_to_uint({name}) >> 4);\n"
                f"  m{letter}.bitfield.base_offset_ = 0;\n"
                f"  m{letter}.bitfield.stride_byte_offset_ = {sbo};\n"
                f"  m{letter}.bitfield.leading_byte_offset_ = {lbo};\n"
                f"  bits_{letter} = m{letter}.raw;\n"
            )
        turned = [int(own.major == "MN") for own in (self.a, self.b)]
        count = self.b.rows // 2
        registers = ", ".join(f"%{n}" for n in range(count))
        outputs = ", ".join(f'"+{"r" if self.type == "s8" else "f"}"(acc[{n}])' for n in range(count))
        signs = f", %{count + 3}, %{count + 4}" if self.type != "s8" else ""
        turns = f", %{count + 5}, %{count + 6}" if self.bits == 16 else ""
        given = '"l"(bits_a), "l"(bits_b), "r"(0)'
        given += ', "n"(1), "n"(1)' if signs else ""
        given += f', "n"({turned[0]}), "n"({turned[1]})' if turns else ""
        run = (
            '  asm volatile("{ .reg .pred q; setp.ne.b32 q, %' + str(count + 2) + ', 0;\\n"\n'
            f'    "{self.ptx} {{{registers}}}, %{count}, %{count + 1}, q{signs}{turns}; }}\\n"\n'
            f"    : {outputs}\n    : {given});\n"
        )
        head = (
            "template <class U>\n__global__ void multiply(U const* x, U const* y, float* z)\n{\n"
            f"  uint64_t bits_a;\n  uint64_t bits_b;\n  float acc[{count}] = {{}};\n  int t = threadIdx.x;\n"
        )
        return {
            "union": UNION,
            "ahead": ahead,
            "head": head,
            "fill": inside + fill + "  __syncthreads();\n",
            "describe": describe,
            "run": run,
        }

    def whole(self, union: bool = True) -> str:
        """The kernel as a file has it."""
        p = self.parts()
        first = p["union"] if union else ""
        return first + p["ahead"] + p["head"] + p["fill"] + p["describe"] + p["run"] + "}\n"

    def article(self, union: bool = True, fences: bool = True) -> str:
        """The kernel as an article has it: in blocks with prose between, the kernel with `...` in place of its rest."""
        p = self.parts()
        told = [
            ("First the descriptor; LBO = 64 and SBO = 8 are explained below.", p["union"] if union else ""),
            ("The names used here:", p["ahead"]),
            ("The kernel has an accumulator of its own:", p["head"] + "\n  ...\n}\n"),
            ("Now store both tiles — `left(i, j) = x[i];` does it.", p["fill"]),
            ("Fill in the fields, in units of 16 bytes (LBO; SBO):", p["describe"]),
            ("Run it.", p["run"]),
        ]
        if not fences:
            return "\n".join(code for _, code in told if code)
        return "# A kernel\n" + "".join(f"\n{said}\n\n```cpp\n{code}```\n" for said, code in told if code)
