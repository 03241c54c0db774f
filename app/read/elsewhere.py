"""Texts that Lanescope has no map for and knows where they belong: instructions of other makers, messages of the
driver. No framework.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from lanescope.ptx import catalog

LONGEST = 4096  # characters of a text that is looked at
MOST_NAME = 200  # characters of a name or a line


@dataclass(frozen=True, slots=True)
class OtherMaker:
    """A maker of matrix instructions: the beginnings of their names, and who covers them."""

    title: str
    names: re.Pattern[str]
    covers: str


COVERED = "Lanescope covers NVIDIA's tensor cores: mma, wgmma, wmma, tcgen05 and their loads."
MAKERS = (
    OtherMaker(
        "A matrix instruction of AMD",
        re.compile(
            r"(?<![A-Za-z0-9])(?:v_s?mfma[ci]?_|v_smfmac_|v_s?wmmac?_|v_swmmac_|rocwmma|mfma\b|__builtin_amdgcn_)", re.I
        ),
        "AMD's Matrix Instruction Calculator shows the registers of MFMA and WMMA"
        " (github.com/ROCm/amd_matrix_instruction_calculator).",
    ),
    OtherMaker(
        "A matrix instruction of Intel",
        re.compile(
            r"(?<![A-Za-z0-9])(?:dpasw?\b|tdp(?:b[fsu]|fp|hbf|hf)\w*ps\b|tdpb[su][su]d\b|tdp\w+|tileloadd\w*|tilestored|"
            r"_tile_\w+|joint_matrix\w*|amx\b|intel_sub_group_\w*matrix\w*|__esimd\w*)",
            re.I,
        ),
        "Intel's own documentation describes AMX tiles (Software Developer's Manual) and DPAS (oneAPI, joint_matrix).",
    ),
    OtherMaker(
        "A matrix function of Apple",
        re.compile(
            r"(?<![A-Za-z0-9])(?:simdgroup_(?:matrix|multiply|load|store|float|half|bfloat)\w*|make_filled_simdgroup\w*)",
            re.I,
        ),
        "Apple's Metal Shading Language Specification describes simdgroup_matrix.",
    ),
)


@dataclass(frozen=True, slots=True)
class KnownMessage:
    """A message, what it means and the page that helps."""

    pattern: re.Pattern[str]
    title: str
    page: str
    notices: tuple[str, ...]


_MAP_RULES = (
    "cuTensorMapEncodeTiled answers CUDA_ERROR_INVALID_VALUE for any argument that breaks a rule, without its name.",
    "Address: a multiple of 16 bytes. Strides: multiples of 16 bytes, the innermost left out. boxDim: 1 to 256 in each"
    " dimension, and boxDim[0] times the element size a multiple of 16 bytes. elementStrides: 1 to 8. Rank: 1 to 5.",
    "With a swizzle, the innermost box has at most as many bytes as the swizzle is wide: 32, 64 or 128.",
)
MESSAGES = (
    KnownMessage(
        re.compile(
            r"cuTensorMapEncode\w*.{0,80}(?:CUDA_ERROR|invalid|fail|error)|(?:fail|error|CUDA_ERROR_INVALID_VALUE)\w*"
            r".{0,80}(?:cuTensorMap|tensor ?map|TMA desc)|failed to initialize the TMA descriptor",
            re.I | re.S,
        ),
        "A tensor map that the driver refuses",
        "/guide/paste#tensor-maps",
        _MAP_RULES,
    ),
    KnownMessage(
        re.compile(r"\bTMA\b.*multicast|multicast.*\bTMA\b", re.I | re.S),
        "TMA multicast",
        "/smem",
        (
            "Multicast changes which CTAs of the cluster receive the box, not how it lies: each has it at the same"
            " offset of its own shared memory, with the swizzle of the tensor map.",
        ),
    ),
    KnownMessage(
        re.compile(r"wgmma\w*(?:\.mma_async)? instructions are serialized", re.I),
        "ptxas serializes wgmma",
        "/guide/fence-commit-wait",
        ("The code is right; ptxas waits for each wgmma before the next.",),
    ),
    KnownMessage(
        re.compile(r"misaligned address|MISALIGNED_ADDRESS|misaligned (?:shared|global|local)", re.I),
        "A misaligned address",
        "/guide/ldmatrix",
        (
            "An access is not aligned to its size: ldmatrix and stmatrix take row addresses that are multiples of 16"
            " bytes, a vector access of n bytes a multiple of n.",
        ),
    ),
)


def find_maker(text: str) -> OtherMaker | None:
    """Find the maker whose matrix instructions a text names, if it is not NVIDIA."""
    return next((maker for maker in MAKERS if maker.names.search(text)), None) if len(text) <= LONGEST else None


def is_other_maker(text: str) -> bool:
    """Return whether a text is another maker's name or line, not code for NVIDIA that mentions one."""
    short = len(text) <= MOST_NAME and "\n" not in text.strip()
    return (short or "rocwmma::" in text) and find_maker(text) is not None and not catalog.extract_opcode(text)


def find_message(text: str) -> KnownMessage | None:
    """Find a known message in a text."""
    return next((one for one in MESSAGES if one.pattern.search(text)), None) if len(text) <= LONGEST else None
