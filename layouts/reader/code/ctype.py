"""C's integer types as nvcc and gcc have them on 64-bit Linux (LP64), and Python's int beside them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True, slots=True)
class CType:
    """An integer type: its name, its width (0: Python's int, which has none) and whether it has a sign."""

    name: str
    bits: int
    signed: bool

    def wrap(self, value: int) -> int:
        """The value a variable of this type holds after `value` was put in.

        >>> INT.wrap(1 << 31), UINT.wrap(-1)
        (-2147483648, 4294967295)
        """
        if not self.bits:
            return value
        value &= (1 << self.bits) - 1
        return value - (1 << self.bits) if self.signed and value >> (self.bits - 1) else value

    @property
    def mask(self) -> int:
        return (1 << self.bits) - 1 if self.bits else -1


INT = CType("int", 32, True)
UINT = CType("unsigned", 32, False)
LONG = CType("long", 64, True)
ULONG = CType("unsigned long", 64, False)
BOOL = CType("bool", 8, False)
CHAR = CType("char", 8, True)
PYTHON = CType("int", 0, True)

# every spelling of an integer type; words of C's own types may stand in any order (`long unsigned int`)
NAMED: dict[str, CType] = {
    **{f"int{bits}_t": CType(f"int{bits}_t", bits, True) for bits in (8, 16, 32, 64)},
    **{f"uint{bits}_t": CType(f"uint{bits}_t", bits, False) for bits in (8, 16, 32, 64)},
    **{f"int_fast{bits}_t": CType(f"int_fast{bits}_t", 64 if bits > 8 else 8, True) for bits in (8, 16, 32, 64)},
    "size_t": ULONG, "uintptr_t": ULONG, "ptrdiff_t": LONG, "intptr_t": LONG, "ssize_t": LONG, "uintmax_t": ULONG,
    "intmax_t": LONG, "cuuint32_t": UINT, "cuuint64_t": ULONG, "CUdeviceptr": ULONG, "uint": UINT, "ulong": ULONG,
    "ushort": CType("unsigned short", 16, False), "uchar": CType("unsigned char", 8, False), "bool": BOOL,
    "byte": CType("unsigned char", 8, False), "u8": CType("uint8_t", 8, False), "u16": CType("uint16_t", 16, False),
    "u32": CType("uint32_t", 32, False), "u64": CType("uint64_t", 64, False), "i32": CType("int32_t", 32, True),
    "i64": CType("int64_t", 64, True), "uint64": ULONG, "uint32": UINT, "char": CHAR,
}  # fmt: skip

# bytes of the element types of kernels: CUDA's headers, CUTLASS's numeric types, PyTorch's and plain C's
ELEMENT_BITS: dict[str, int] = {
    **dict.fromkeys("half __half half_t float16_t fp16 f16 nv_half __nv_half float16 Half".split(), 16),
    **dict.fromkeys("bfloat16_t bf16 __nv_bfloat16 nv_bfloat16 hip_bfloat16 bfloat16 BFloat16 bhalf".split(), 16),
    **dict.fromkeys("half2 __half2 __nv_bfloat162 nv_bfloat162 bf16_2 half_2".split(), 32),
    **dict.fromkeys("float tfloat32_t float32_t tf32 float32 fp32".split(), 32),
    **dict.fromkeys("double float64 float64_t fp64 float2 int2 uint2 long2".split(), 64),
    **dict.fromkeys("float4 int4 uint4 uint128_t double2 ulonglong2".split(), 128),
    **dict.fromkeys(
        "__nv_fp8_e4m3 __nv_fp8_e5m2 fp8e4m3 fp8e5m2 fp8_e4 fp8_e5 float_e4m3_t float_e5m2_t float8_e4m3fn"
        " float8_e5m2 Float8_e4m3fn Float8_e5m2 fp8_t e4m3 e5m2 fp8_e4_t fp8_e5_t __nv_fp8_e8m0 float_ue8m0_t"
        " float_ue4m3_t".split(), 8
    ),
    **dict.fromkeys("float_e2m1_t int4b_t uint4b_t int4_t uint4_t __nv_fp4_e2m1".split(), 4),
}  # fmt: skip


def promoted(given: CType) -> CType:
    """C's integer promotion: a type narrower than int becomes int."""
    return INT if 0 < given.bits < 32 else given


@lru_cache(maxsize=256)
def common(left: CType, right: CType) -> CType:
    """The type of a binary operation: C's usual arithmetic conversions."""
    left, right = promoted(left), promoted(right)
    if not left.bits or not right.bits:
        return PYTHON
    if left.bits == right.bits:
        return left if not left.signed else right
    return left if left.bits > right.bits else right


@lru_cache(maxsize=1024)
def spelled(words: str) -> CType | None:
    """The integer type of `unsigned long long`, `uint64_t`, `std::uint32_t` …; None for what is not an integer type."""
    words = words.split("::")[-1]
    if words in NAMED:
        return NAMED[words]
    parts = [word for word in words.split() if word not in ("const", "volatile", "constexpr", "static")]
    if len(parts) == 1 and parts[0] in NAMED:
        return NAMED[parts[0]]
    if not parts or set(parts) - set("unsigned signed int long short char".split()):
        return None
    signed = "unsigned" not in parts
    bits = 8 if "char" in parts else 16 if "short" in parts else 64 if "long" in parts else 32
    return CType(" ".join(parts), bits, signed)


def literal(text: str) -> tuple[int, CType] | None:
    """Value and type of a C integer literal; None for a floating one.

    >>> literal("0x3FFFFull")[0], literal("1llu")[1].name, literal("4294967296")[1].bits
    (262143, 'unsigned long', 64)
    """
    body = text.replace("'", "").lower()
    digits = body.rstrip("ulz")
    suffix = body[len(digits) :]
    if body.startswith("0x"):
        digits = body[: 2 + len(body[2:]) - len(body[2:].lstrip("0123456789abcdef"))]
        suffix = body[len(digits) :]
        if suffix.strip("ulz"):
            return None
    try:
        octal = len(digits) > 1 and digits.isdigit() and digits[0] == "0"
        value = int(digits, 8) if octal else int(digits, 0)
    except ValueError:
        return None
    unsigned, wide = "u" in suffix, "l" in suffix or "z" in suffix
    decimal = digits[:1] != "0" or digits == "0"
    for kind in (INT, UINT, LONG, ULONG):
        if (unsigned and kind.signed) or (wide and kind.bits == 32) or (decimal and not unsigned and not kind.signed):
            continue
        if value <= (kind.mask >> kind.signed):
            return value, kind
    return value & ULONG.mask, ULONG
