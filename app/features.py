"""The features of the application, a line each, in the order of /docs.

A feature is a folder of app/ whose feature.py defines FEATURE (app/kit/feature.py). Each line has the feature's
commands and their help, so that a command loads only its own feature, and --help loads none. "" means that verbs.py has
the help and imports nothing heavy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lanescope.app.kit.feature import Feature

TILES = "Whole tiles: TiledMMA, TiledCopy, thread-value and Triton layouts."
FEATURES: dict[str, dict[str, str]] = {
    "catalogue": {"list": ""},
    "targets": {"targets": "What a GPU has: families, types, shapes, and the limits of a block."},
    "instruction": {"show": ""},
    "read": {"read": ""},
    "kernel": {"kernel": ""},
    "memory": {
        "smem": "A tile in shared memory: atom, strides, CuTe, and the descriptor of every K step.",
        "descriptor": "",
    },
    "dump": {"dump": "Dumps of shared memory: what an instruction reads from them."},
    "capture": {"capture": ""},
    "check": {"check": ""},
    "lsp": {"lsp": ""},
    "emulate": {"emulate": ""},
    "diagram": {"diagram": ""},
    "runs": {"steps": "", "gpu": ""},
    "steps": {
        "matrix-steps": "One ldmatrix or stmatrix, step by step: shared memory, lane addresses, the rows that travel,"
        " registers."
    },
    "reuse": {
        "reuse": "Whether D of one instruction can be A of the next without a shuffle. Exit status 1 if it needs one."
    },
    "compare": {
        "compare": "Two operands, each {ptx}/{operand}: the elements that other lanes or values hold. Exit status 1 if"
        " there are any."
    },
    "metadata": {"metadata": "Sparsity metadata in global memory."},
    "chain": {"chain": ""},
    "delivery": {
        "deliver": "The shortest loads and moves from a storage to an operand. Exit status 1 if there are none."
    },
    "banks": {
        "banks": "Wavefronts of a shared-memory access, and the smallest swizzle without conflicts. Exit status 1 if"
        " there are conflicts."
    },
    "tiles": {"tiles": TILES},
    "layouts": {
        "tiles": TILES,
        "cute": "CuTe's layout algebra, step by step: composition, complement, divides, products, inverses, coalesce,"
        " slices.",
        "convert": "What a conversion between two of Triton's layouts moves. Exit status 1 if elements change threads.",
        "feeds": "The operands of mma and wgmma that a thread layout already matches. Exit status 1 if there is none.",
    },
    "triton_dot": {
        "triton-dot": "What Triton makes of tl.dot: the instruction, the layout of D, and the condition that decided."
    },
    "weights": {
        "weights": "Prepacked weights of Marlin, Machete, AWQ and GPTQ: the word, lane and register of an element."
    },
    "idesc": {"idesc": "Instruction descriptors of tcgen05.mma, and zero-column masks."},
    "tmem": {"tmem": "Tensor memory of tcgen05."},
    "scales": {
        "scale-factors": "The scale factors of a block-scaled tile: one factor followed, the copies, and the ids of"
        " each MMA."
    },
    "agents": {"mcp": "", "skill": ""},
    "messages": {"explain": ""},
    "guide": {},
    "share": {"share": ""},
    "home": {},
    "apidocs": {},
}


def load_feature(folder: str) -> Feature:
    """Return the feature of a folder."""
    feature: Feature = import_module(f"lanescope.app.{folder}.feature").FEATURE
    return feature


def load_features() -> dict[str, Feature]:
    """Return all features by their folders."""
    return {folder: load_feature(folder) for folder in FEATURES}
