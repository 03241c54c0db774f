"""Names that Lanescope does not cover, and why."""

from __future__ import annotations

import re

from lanescope.app.read.known_names import LONGEST

OUTSIDE = (
    "Lanescope covers where operands of tensor cores are: registers, shared memory, descriptors, tensor memory. Other"
    " instructions, clusters, register counts and kernel schedules are not among them: see the PTX ISA and CUTLASS."
)
_TILELANG = "TileLang's compiler derives the layouts: paste the CUDA C++ or the PTX that it generates."
_CUDA_TILE = "CUDA Tile leaves instructions and layouts to its compiler: paste the SASS of the kernel."
_LIBRARY = "A function of a library does not determine its kernel: paste the kernel's name as a profiler prints it."
_ALONE = "This name alone determines no layout: paste the type or the call that it is part of, with its arguments."
_CALLED = r"(?:\s*\(.*\))?"
_NAMES = (  # a whole text → why, "" for no more than OUTSIDE
    (
        r"(?i:setmaxnreg|griddepcontrol|clusterlaunchcontrol|clusters?|warp specialization|Kernel\w*WarpSpecialized\w*"
        r"|CollectiveBuilder|CollectiveMMA)",
        "",
    ),
    (
        rf"(?:torch|F|nn|jnp|jax|np|numpy|at)(?:(?:\.|::)\w+)+{_CALLED}|(?:cublas|cudnn|cusparse|nccl)\w*{_CALLED}",
        _LIBRARY,
    ),
    (
        rf"(?:tl|gl|ttgl|triton|tt|ttg|ttng)(?:\.\w+)+{_CALLED}",
        "This does not determine a layout: paste layouts of Triton's IR, #ttg.…<{…}>, or tl.dot with M, N and K.",
    ),
    (rf"(?:(?i:tilelang)\s+)?(?:T|tilelang)\.(?!ptx)\w+{_CALLED}|(?i:tilelang)", _TILELANG),
    (rf"(?:ct|cuda\.tile|cuda_tile|cutile)(?:\.\w+)*{_CALLED}|(?i:cutile(?: python)?|cuda tile(?: ir)?)", _CUDA_TILE),
    (
        rf"(?:cuda::|cooperative_groups::|cg::)memcpy_async{_CALLED}",
        "It becomes cp.async or a bulk copy of bytes, in the order that the program gives.",
    ),
    (
        r"(?i:(?:thread)?block swizzl\w+|L2 swizzl\w+|(?:tile )?rasteri[sz]ation)|\w*ThreadblockSwizzle\w*(?:<.*>)?",
        "The order in which blocks take their tiles changes no layout.",
    ),
    (
        r"(?:local_tile|local_partition|make_(?:\w+_)?tensor|print|size|cosize|rank|shape|stride|layout)(?:<\w*>)?\s*\(.*\)"
        r"|(?:t[A-Z]\w?[rsg]|[srg])[A-Z]\w{0,2}\s*\([^=]*\)",
        "A tensor's name says no layout: paste what print(tensor) prints, or the code that makes it.",
    ),
    (
        r"c\[0x\w+\]\[0x\w+\]|desc\[U?R\d+\](?:\[[^\]]*\])?",
        "An operand of SASS: a constant, or a descriptor of memory that is not a matrix's. Paste the whole line.",
    ),
    (rf"__(?!nv_|half)\w+{_CALLED}", "A function or an attribute of CUDA C++ that by itself moves no matrix."),
    (r"(?:cute|cutlass)(?:::\w+)+(?:<.*>)?(?:\s*\(.*\)|\{\})?;?", _ALONE),
    (r"(?:Mainloop|Epilogue|Kernel|Collective|StageCount|Gemm|LinearCombination)(?=[A-Z])\w*(?:<.*>)?", _ALONE),
)
_OUTSIDE = tuple((re.compile(pattern, re.S), why) for pattern, why in _NAMES)
_OF_COMPILERS = {  # what code of a compiler contains
    re.compile(r"\bimport\s+tilelang\b|@T\.prim_func\b|@tilelang\.jit\b|\bT\.(?:gemm|alloc_\w+)\("): _TILELANG,
    re.compile(r"\bimport\s+cuda\.tile\b|@ct\.kernel\b|\bcuda_tile\.\w"): _CUDA_TILE,
}
_EARLY = re.compile(r"\s*(?:ct|T)\.\w+\s*|\s*(?i:L2|block) swizzle\s*")  # also the beginning of other words


def is_known_early(text: str) -> bool:
    """Return whether a text is such a name, and might be taken for words of an instruction or of a page."""
    return _EARLY.fullmatch(text) is not None


def explain_outside(text: str) -> tuple[str, ...]:
    """Return why Lanescope does not cover what a text names; () for any other text.

    >>> explain_outside("torch.matmul")[0].partition(":")[0]
    'A function of a library does not determine its kernel'
    """
    text = text.strip() if len(text) <= LONGEST else ""
    why = next((why for pattern, why in _OUTSIDE if pattern.fullmatch(text)), None)
    why = why or next((each for pattern, each in _OF_COMPILERS.items() if pattern.search(text)), why)
    return () if why is None else (*filter(None, [why]), OUTSIDE)
