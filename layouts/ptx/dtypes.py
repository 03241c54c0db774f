"""Element types: PTX suffix, bits, and how they sit in registers. PTX ISA 9.1, sections 5.2 and 9.7.14.2."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from lanescope.errors import LayoutError


class SpecialCodes(Enum):
    """What codes with all exponent bits set encode."""

    IEEE = "infinities and NaNs"
    ONE_NAN = "numbers, except NaN if all mantissa bits are set"
    NONE = "numbers"


@dataclass(frozen=True, slots=True)
class FloatFormat:
    """A binary floating-point format: sign, exponent with the usual bias, mantissa; subnormal below the least normal.

    digits: the significant bits that are used, if fewer than are stored. A format without mantissa has no zero and no
    subnormal number: its code is the exponent. IEEE 754; OCP FP8 (e4m3, e5m2); OCP MX 1.0 (e3m2, e2m3, e2m1, ue8m0).
    """

    exponent_bits: int
    mantissa_bits: int
    special: SpecialCodes = SpecialCodes.IEEE
    signed: bool = True
    digits: int = 0

    @property
    def bias(self) -> int:
        return (1 << (self.exponent_bits - 1)) - 1

    @property
    def significant(self) -> int:
        """The number of significant bits, including the leading one."""
        return self.digits or self.mantissa_bits + 1

    @property
    def least_exponent(self) -> int:
        """The exponent of the least normal number."""
        return 1 - self.bias if self.mantissa_bits else -self.bias

    @property
    def largest(self) -> float:
        """The largest finite value."""
        top = (1 << self.exponent_bits) - (2 if self.special is SpecialCodes.IEEE else 1)
        last = self.special is SpecialCodes.ONE_NAN and self.mantissa_bits > 0
        if self.special is SpecialCodes.ONE_NAN and not self.mantissa_bits:
            top -= 1
        return float(2 - 2.0 ** (1 - self.significant) * (2 if last else 1)) * 2.0 ** (top - self.bias)

    @property
    def past_largest(self) -> int:
        """The code for values beyond the largest: infinity, or the largest number if the format has no infinity."""
        codes = 1 << (self.exponent_bits + self.mantissa_bits)
        if self.special is SpecialCodes.IEEE:
            return codes - (1 << self.mantissa_bits)
        return codes - (2 if self.special is SpecialCodes.ONE_NAN else 1)

    @property
    def nan(self) -> int:
        """The code of a quiet NaN, or of the largest number if the format has no NaN."""
        codes = 1 << (self.exponent_bits + self.mantissa_bits)
        return codes - (1 << self.mantissa_bits >> 1) if self.special is SpecialCodes.IEEE else codes - 1


@dataclass(frozen=True, slots=True)
class TypeNames:
    """Names of an element type outside PTX, "" if there is none.

    atom: in the names of CUTLASS's atoms (SM80_16x8x16_F32F16F16F32_TN); cutlass: the C++ type; dsl: the type of CuTe's
    Python DSL, after `cutlass.`; also: further spellings in code, in lower case.
    """

    atom: str = ""
    cutlass: str = ""
    dsl: str = ""
    also: tuple[str, ...] = ()

    @property
    def python(self) -> str:
        """The type in CuTe's Python DSL with its module."""
        return f"cutlass.{self.dsl}"

    @property
    def short(self) -> str:
        """C++'s type without its namespace."""
        return self.cutlass.rpartition("::")[2]

    @property
    def padded(self) -> str:
        """C++'s type of narrower elements that are padded to one byte each in shared memory."""
        return f"cutlass::detail::{self.short.removesuffix('_t')}_unpacksmem_t"


@dataclass(frozen=True, slots=True)
class DType:
    """One element type.

    `bits` is what one element occupies in a packed register (tf32 takes a 32-bit register, of which 19 bits are used).
    `kind` is "float", "int", "uint" or "bits"; `format` is the encoding of a float. `cpp` is the CUDA C++ type of one
    element, "" if there is none; `register_type` is the PTX type of the register that holds it; `names`: other names.
    """

    name: str
    bits: int
    kind: str
    cpp: str = ""
    note: str = ""
    format: FloatFormat | None = None
    register_type: str = "b32"
    names: TypeNames = TypeNames()

    @property
    def register_bits(self) -> int:
        return 64 if self.bits == 64 else 32

    @property
    def signed(self) -> bool:
        """Whether it holds negative numbers."""
        return self.format.signed if self.format else self.kind == "int"

    @property
    def unread_bits(self) -> int:
        """The number of low mantissa bits that no instruction reads: 13 for tf32. PTX ISA 9.1, 9.7.15.2."""
        return self.format.mantissa_bits + 1 - self.format.significant if self.format and self.format.digits else 0

    def count_padding_below(self, container_bits: int) -> int:
        """Return the bits of padding below an element in its container.

        e2m1 takes the middle four of eight bits, e3m2 and e2m3 the low six.

        PTX ISA 9.1, 9.7.14.5.14; CUTLASS shifts by the same two bits (include/cute/atom/mma_traits_sm120.hpp,
        fp4_shift_A).
        """
        return (container_bits - 4) // 2 if self.bits == 4 else 0


E4M3 = FloatFormat(4, 3, SpecialCodes.ONE_NAN)
_ROWS = (
    DType(
        "f64",
        64,
        "float",
        "double",
        "",
        format=FloatFormat(11, 52),
        register_type="f64",
        names=TypeNames("F64", "double", "Float64"),
    ),
    DType(
        "f32",
        32,
        "float",
        "float",
        "",
        format=FloatFormat(8, 23),
        register_type="f32",
        names=TypeNames("F32", "float", "Float32", ("f32",)),
    ),
    DType(
        "tf32",
        32,
        "float",
        "float",
        "19 significant bits in a 32-bit register",
        FloatFormat(8, 23, digits=11),
        names=TypeNames("TF32", "cutlass::tfloat32_t", "TFloat32", ("tf32",)),
    ),
    DType(
        "f16",
        16,
        "float",
        "__half",
        "",
        FloatFormat(5, 10),
        names=TypeNames("F16", "cutlass::half_t", "Float16", ("f16", "half", "fp16", "__half")),
    ),
    DType(
        "bf16",
        16,
        "float",
        "__nv_bfloat16",
        "",
        FloatFormat(8, 7),
        names=TypeNames("BF16", "cutlass::bfloat16_t", "BFloat16", ("bf16", "__nv_bfloat16")),
    ),
    DType(
        "e4m3",
        8,
        "float",
        "__nv_fp8_e4m3",
        "",
        E4M3,
        names=TypeNames("E4M3", "cutlass::float_e4m3_t", "Float8E4M3FN", ("e4m3", "float8e4m3")),
    ),
    DType(
        "e5m2",
        8,
        "float",
        "__nv_fp8_e5m2",
        "",
        FloatFormat(5, 2),
        names=TypeNames("E5M2", "cutlass::float_e5m2_t", "Float8E5M2", ("e5m2",)),
    ),
    DType(
        "e3m2",
        6,
        "float",
        "__nv_fp6_e3m2",
        "",
        FloatFormat(3, 2, SpecialCodes.NONE),
        names=TypeNames("E3M2", "cutlass::float_e3m2_t", "Float6E3M2FN"),
    ),
    DType(
        "e2m3",
        6,
        "float",
        "__nv_fp6_e2m3",
        "",
        FloatFormat(2, 3, SpecialCodes.NONE),
        names=TypeNames("E2M3", "cutlass::float_e2m3_t", "Float6E2M3FN"),
    ),
    DType(
        "e2m1",
        4,
        "float",
        "__nv_fp4_e2m1",
        "",
        FloatFormat(2, 1, SpecialCodes.NONE),
        names=TypeNames("E2M1", "cutlass::float_e2m1_t", "Float4E2M1FN"),
    ),
    DType(
        "ue8m0",
        8,
        "float",
        "__nv_fp8_e8m0",
        "unsigned scale factor, a power of two",
        FloatFormat(8, 0, SpecialCodes.ONE_NAN, False),
        names=TypeNames("", "cutlass::float_ue8m0_t", "Float8E8M0FNU", ("type_erased_dynamic_float_ue8m0_t",)),
    ),
    DType(
        "ue4m3",
        8,
        "float",
        "",
        "unsigned scale factor",
        replace(E4M3, signed=False),
        names=TypeNames("", "cutlass::float_ue4m3_t", "Float8E4M3FN"),
    ),
    DType("s32", 32, "int", "int", register_type="s32", names=TypeNames("S32", "int32_t", "Int32", ("int",))),
    DType("u32", 32, "uint", "unsigned"),
    DType("s8", 8, "int", "signed char", names=TypeNames("S8", "int8_t", "Int8")),
    DType("u8", 8, "uint", "unsigned char", names=TypeNames("U8", "uint8_t", "Uint8")),
    DType("s4", 4, "int", names=TypeNames("S4", "", "Int4")),
    DType("u4", 4, "uint", names=TypeNames("U4", "", "Uint4")),
    DType("b1", 1, "bits", names=TypeNames("U1")),
    DType("b32", 32, "bits", "unsigned"),
    DType("b16", 16, "bits", "unsigned short"),
    DType("b8", 8, "bits"),
)


@dataclass(frozen=True, slots=True)
class RegisterType:
    """A PTX register type in CUDA C++: the type of a variable, and its letter in an asm statement's constraints."""

    cpp: str
    letter: str


# PTX register type → CUDA C++ type and asm constraint. NVIDIA, "Inline PTX Assembly in CUDA", 1.1.1 (constraints).
REGISTERS = {
    "b32": RegisterType("unsigned", "r"),
    "s32": RegisterType("int", "r"),
    "f32": RegisterType("float", "f"),
    "f64": RegisterType("double", "d"),
    "b64": RegisterType("unsigned long long", "l"),
    "u32": RegisterType("unsigned", "r"),
    "u64": RegisterType("const void*", "l"),
}

DTYPES: dict[str, DType] = {row.name: row for row in _ROWS}


def _index_spellings() -> dict[str, str]:
    spellings: dict[str, str] = {}
    for row in _ROWS:
        for name in (row.names.short, row.names.dsl.lower(), *row.names.also):
            spellings.setdefault(name, row.name)
    del spellings[""]
    return spellings


# Lower-case spelling of an element type in code → PTX's name. A spelling of two types means the first in the table.
SPELLED = _index_spellings()


def get_dtype(name: str) -> DType:
    """Return the row of a PTX type name; LayoutError lists the known ones."""
    try:
        return DTYPES[name]
    except KeyError:
        raise LayoutError(
            "unknown_type", f"No element type '{name}'.", f"Known: {', '.join(DTYPES)}.", field="type"
        ) from None
