"""Instructions of other vendors, which Lanescope does not cover."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lanescope.ptx import catalog
from lanescope.reader.compiler_output.triton import recognise_triton_layouts

LONGEST = 4096  # characters of a text that are searched
MOST_NAME = 200  # characters of a name or a line


@dataclass(frozen=True, slots=True)
class OtherMaker:
    """A vendor of matrix instructions: prefixes of their names, and where they are documented."""

    title: str
    names: re.Pattern[str]
    covers: str


COVERED = "Lanescope covers NVIDIA's tensor cores: mma, wgmma, wmma, tcgen05 and their loads."
MAKERS = (
    OtherMaker(
        "A matrix function of Apple",
        re.compile(
            r"(?<![A-Za-z0-9])(?:simdgroup_(?:matrix|multiply|load|store|float|half|bfloat)\w*|"
            r"make_filled_simdgroup\w*|"
            r"mpp::\w+|tensor_ops::\w+|matmul2d|apple\b|metal (?:tensor|shader|matrix|simdgroup))",
            re.I,
        ),
        "Apple's Metal Shading Language Specification describes simdgroup_matrix and tensor operations.",
    ),
    OtherMaker(
        "A matrix instruction of AMD",
        re.compile(
            r"(?<![A-Za-z0-9])(?:(?:v_)?s?mfmac?i?_|v_s?wmmac?_|v_swmmac_|rocwmma|mfma\b|__builtin_amdgcn_|"
            r"[cr]dna ?\d?\b|mi\d{3}[ax]?\b|gfx\d{2,4}\w*|amd(?:gpu|gcn)?\b|ds_read_\w*tr_\w+|"
            r"buffer_load_\w+)",
            re.I,
        ),
        "AMD's Matrix Instruction Calculator shows the registers of MFMA and WMMA"
        " (github.com/ROCm/amd_matrix_instruction_calculator)."
        " Of AMD's only Triton's layouts amd_mfma and amd_wmma are drawn here (/layouts/triton).",
    ),
    OtherMaker(
        "A matrix instruction of Intel",
        re.compile(
            r"(?<![A-Za-z0-9])(?:dpasw?\b|tdp(?:b[fsu]|fp|hbf|hf)\w*ps\b|tdpb[su][su]d\b|tdp\w+|tileloadd\w*|"
            r"tilestored|"
            r"_tile_\w+|joint_matrix\w*|amx\b|xmx\b|intel\b|vpdp\w+|avx512\w*|intel_sub_group_\w*matrix\w*|__esimd\w*)",
            re.I,
        ),
        "Intel's own documentation describes AMX tiles (Software Developer's Manual) and DPAS (oneAPI, joint_matrix).",
    ),
    OtherMaker(
        "A matrix instruction of Arm",
        re.compile(r"(?<![A-Za-z0-9])(?:arm sme\d?\b|sme\b|[us]?[fbsu]mop[as]\b|bfmmla|(?:us|s|u|f)mmla)", re.I),
        "Arm's Architecture Reference Manual describes SME and the MMLA instructions.",
    ),
    OtherMaker(
        "A matrix unit of Google",
        re.compile(r"(?<![A-Za-z0-9])(?:tpu\b|mxu\b)", re.I),
        "Google's documentation of Pallas and Mosaic describes layouts on a TPU.",
    ),
    OtherMaker(
        "A matrix unit of another maker",
        re.compile(
            r"(?<![A-Za-z0-9])(?:tenstorrent|tensix|ttnn\b|ascend(?: ?c)?\b|da ?vinci core|cambricon|gaudi\d?\b|"
            r"trainium|inferentia|nki\b|hmx\b|xv[if]\w+ger\w*|__builtin_mma_xv\w+|xtheadmatrix|musa\b)",
            re.I,
        ),
        "The documents of its maker describe it.",
    ),
)

_MAKER = re.compile(r"(?<![A-Za-z0-9])(?:[cr]dna ?\d?\b|mi\d{3}[ax]?\b|gfx\d+|amd\b|intel\b|apple\b)", re.I)


def find_maker(text: str) -> OtherMaker | None:
    """Return the vendor other than NVIDIA whose matrix instructions a text names."""
    return next((maker for maker in MAKERS if maker.names.search(text)), None) if len(text) <= LONGEST else None


def is_other_maker(text: str) -> bool:
    """Return whether a text is a name or line of another vendor, rather than a layout of Triton or code for NVIDIA."""
    short = len(text) <= MOST_NAME and "\n" not in text.strip()
    if not (short or "rocwmma::" in text) or find_maker(text) is None or recognise_triton_layouts(text):
        return False
    return _MAKER.search(text) is not None or not catalog.extract_opcode(text)
