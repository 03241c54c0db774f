"""Element types: PTX suffix, bits, and how they sit in registers. PTX ISA 9.1, sections 5.2 and 9.7.14.2."""

from __future__ import annotations

from dataclasses import dataclass

from layouts.errors import LayoutError


@dataclass(frozen=True, slots=True)
class DType:
    """One element type.

    `bits` is what one element occupies in a packed register (tf32 takes a whole 32-bit register, 19 bits of it count).
    `kind` is "float", "int", "uint" or "bits". `cpp` is the CUDA C++ type of one element, "" where there is none.
    """

    name: str
    bits: int
    kind: str
    cpp: str = ""
    note: str = ""

    @property
    def register_type(self) -> str:
        """The PTX type of the register that holds it: wide types name themselves, narrow ones are packed in .b32."""
        if self.name in ("f32", "f64", "s32"):
            return self.name
        return "b32"

    @property
    def register_bits(self) -> int:
        return 64 if self.bits == 64 else 32

    def padding_below(self, container_bits: int) -> int:
        """Bits of padding below an element in its container: e2m1 takes the middle four of eight, e3m2 and e2m3 the low
        six.

        PTX ISA 9.1, 9.7.14.5.14; CUTLASS shifts by the same two bits (include/cute/atom/mma_traits_sm120.hpp,
        fp4_shift_A).
        """
        return (container_bits - 4) // 2 if self.bits == 4 else 0


_ROWS = (
    DType("f64", 64, "float", "double"),
    DType("f32", 32, "float", "float"),
    DType("tf32", 32, "float", "float", "19 significant bits in a 32-bit register"),
    DType("f16", 16, "float", "__half"),
    DType("bf16", 16, "float", "__nv_bfloat16"),
    DType("e4m3", 8, "float", "__nv_fp8_e4m3"),
    DType("e5m2", 8, "float", "__nv_fp8_e5m2"),
    DType("e3m2", 6, "float", "__nv_fp6_e3m2"),
    DType("e2m3", 6, "float", "__nv_fp6_e2m3"),
    DType("e2m1", 4, "float", "__nv_fp4_e2m1"),
    DType("ue8m0", 8, "float", "__nv_fp8_e8m0", "unsigned scale factor, a power of two"),
    DType("ue4m3", 8, "float", "", "unsigned scale factor"),
    DType("s32", 32, "int", "int"),
    DType("u32", 32, "uint", "unsigned"),
    DType("s8", 8, "int", "signed char"),
    DType("u8", 8, "uint", "unsigned char"),
    DType("s4", 4, "int"),
    DType("u4", 4, "uint"),
    DType("b1", 1, "bits"),
    DType("b16", 16, "bits", "unsigned short"),
    DType("b8", 8, "bits"),
)

DTYPES: dict[str, DType] = {row.name: row for row in _ROWS}


def dtype(name: str) -> DType:
    """The row of a PTX type name; LayoutError names the known ones."""
    try:
        return DTYPES[name]
    except KeyError:
        raise LayoutError(
            "unknown_type", f"No element type '{name}'.", f"Known: {', '.join(DTYPES)}.", field="type"
        ) from None
