"""The words of a search for instructions: common names of types, and words to ignore."""

from __future__ import annotations

from lanescope.cxx.sizes import ELEMENT_NAMES
from lanescope.ptx import syntax

_ALTERNATIVES = {  # PTX's word (one of several if the common name is ambiguous) → names beside those of types in C++
    "f64": "dmma",
    "f32": "float_t",
    "f16": "half2 __half2",
    "bf16": "bfloat __nv_bfloat162 nv_bfloat162",
    "tf32": "tfloat32",
    "e4m3 e5m2": "fp8 float8 f8 fp8_t",
    "e4m3": "float8_e4m3 fp8_e4m3 e4m3fn __nv_fp8x2_e4m3 __nv_fp8x4_e4m3",
    "e5m2": "fp8_e5m2 __nv_fp8x2_e5m2 __nv_fp8x4_e5m2",
    "e3m2 e2m3": "fp6 float6",
    "e3m2": "float_e3m2_t __nv_fp6_e3m2",
    "e2m3": "float_e2m3_t __nv_fp6_e2m3",
    "e2m1": "fp4 __nv_fp4x2_e2m1 float4_e2m1fn_x2",
    "s8": "int8 int8_t i8",
    "u8": "uint8 uint8_t",
    "s4": "int4",
    "u4": "uint4",
    "s32": "int32 int32_t int i32",
    "b1": "binary uint1b_t",
    "sp": "sparse",
    "trans": "transposed",
    "satfinite": "saturate saturating",
    "cta_group::1": "1cta 1sm",
    "cta_group::2": "2cta 2sm",
}
SYNONYMS: dict[str, tuple[str, ...]] = {name.lower(): (ptx,) for name, ptx in ELEMENT_NAMES.items() if name != ptx} | {
    name: tuple(spellings.split()) for spellings, names in _ALTERNATIVES.items() for name in names.split()
}
KIND_OF_I8 = "i8"  # i8 is PTX's kind::i8 of tcgen05.mma, and the name of s8 in other compilers
SYNONYMS[KIND_OF_I8] = (KIND_OF_I8, *SYNONYMS[KIND_OF_I8])
_SPELLINGS = {  # block-scaled kinds, shapes in SASS, targets by chip and architecture
    "mxf8f6f4": "mxfp8 mxfp6",
    "mxf4nvf4": "nvfp4",
    "mxf4 mxf4nvf4": "mxfp4",
    "m8n8k4": "884",
    "m8n8k16": "8816",
    "m8n8k32": "8832",
    "m8n8k128": "88128",
    "m16n8k8": "1688",
    "m16n8k16": "16816",
    "m16n8k32": "16832",
    "m16n8k64": "16864",
    "m16n8k128": "168128",
    "m16n8k256": "168256",
    "m16n16k16": "161616",
    "sm_75": "turing t4",
    "sm_80": "a100 a30 a800",
    "sm_80 sm_86": "ampere",
    "sm_86": "a10 a10g a16 a40 a4000 a5000 a6000",
    "sm_87": "orin",
    "sm_89": "ada l4 l20 l40 l40s",
    "sm_90a": "hopper h20 h100 h200 h800 gh200",
    "sm_100a": "b100 b200 gb200 sm_100",
    "sm_100a sm_103a sm_120a": "blackwell",
    "sm_103a": "b300 gb300 sm_103",
    "sm_107a": "rubin sm_107",
    "sm_110a": "thor sm_110",
    "sm_120a": "gb202 sm_120",
    "sm_121a": "gb10 spark sm_121",
}
SYNONYMS |= {name: tuple(spellings.split()) for spellings, names in _SPELLINGS.items() for name in names.split()}
SENTENCE = frozenset(  # words of prose, which name neither a form nor a page
    """an are at by do does for from give have how i in into is it its many me my of on or show tell that the this to
    use what where which with""".split()
)
# Prose around a name; x is the sign of a product, scale precedes the type of the scale factors.
FILLERS = SENTENCE | frozenset(
    """acc accumulate accumulated accumulates accumulating accumulation accumulator accumulators describe explain hold
    holds instruction instructions layout layouts open per please ptx register registers scale thread using variant
    variants x""".split()
)
ARTICLES = frozenset(("a", "and", "b", "c", "d"))  # words of prose that are also PTX words
SILENT = frozenset(syntax.SILENT) | FILLERS
