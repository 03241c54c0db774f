"""The words of PTX's opcodes: those that begin one, those that may follow a family's name, and all modifiers.

Source: PTX ISA 9.1, 4.3.2 (Table 2, keywords of instructions) and the syntax of every instruction in 9.7. The shapes,
types and modifiers of matrix instructions are in the other tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lanescope.ptx.table.async_syntax import FORMS

# Words of ptxas 13.5 that the document lacks: what may follow them is not known.
UNDOCUMENTED = frozenset("cctl cctlu clmad spcompress spdecompress".split())

FIRST_WORDS = UNDOCUMENTED | frozenset(
    """
    abs activemask add addc alloca and applypriority atom bar barrier bfe bfi bfind bmsk bra brev brkpt brx call
    clusterlaunchcontrol clz cnot copysign cos cp createpolicy cvt cvta discard div dp2a dp4a elect ex2 exit fence fma
    fns getctarank griddepcontrol isspacep istypep ld ldmatrix ldu lg2 lop3 mad mad24 madc mapa match max mbarrier
    membar min mma mov movmatrix mul mul24 multimem nanosleep neg not or pmevent popc prefetch prefetchu prmt rcp red
    redux rem ret rsqrt sad selp set setmaxnreg setp shf shfl shl shr sin slct sqrt st stackrestore stacksave stmatrix
    sub subc suld suq sured sust szext tanh tcgen05 tensormap testp tex tld4 trap txq vabsdiff vabsdiff2 vabsdiff4 vadd
    vadd2 vadd4 vavrg2 vavrg4 vmad vmax vmax2 vmax4 vmin vmin2 vmin4 vote vset vset2 vset4 vshl vshr vsub vsub2 vsub4
    wgmma wmma xor
    """.split()
)


def _list_form_words() -> Iterator[tuple[str, ...]]:
    """Yield the words of each form of asynchronous copies, mbarriers and the like: its name, then the choices."""
    for line in FORMS.strip().splitlines():
        yield tuple(word for word in re.split(r"[.\s{}\[\]|]+", line) if word)


# name of a family → the words of which one follows it; those of the forms of async_syntax are added
_OTHER_SECOND_WORDS = {
    family: tuple(words.split())
    for family, words in {
        "barrier": "cta cluster sync arrive red",
        "bar": "cta warp sync arrive red",
        "clusterlaunchcontrol": "try_cancel query_cancel",
        "elect": "sync",
        "fence": "proxy mbarrier_init sc acq_rel acquire release cta cluster gpu sys",
        "ldmatrix": "sync",
        "membar": "cta gl sys proxy",
        "movmatrix": "sync",
        "multimem": "ld_reduce st red cp",
        "redux": "sync",
        "stmatrix": "sync",
        "tcgen05": "ld st cp mma",
        "tensormap": "replace cp_fenceproxy",
        "wgmma": "mma_async",
        "wmma": "load store mma",
    }.items()
}
_CHOSEN = ("griddepcontrol", "setmaxnreg")  # all words of a form follow the name


def _join_second_words() -> dict[str, tuple[str, ...]]:
    found = dict(_OTHER_SECOND_WORDS)
    for family, *words in _list_form_words():
        found[family] = (*found.get(family, ()), *words[: 2 if family in _CHOSEN else 1])
    return {family: tuple(dict.fromkeys(words)) for family, words in found.items()}


SECOND_WORDS = _join_second_words()

_QUALIFIERS = frozenset(
    """
    L1::evict_first L1::evict_last L1::evict_normal L1::evict_unchanged L1::no_allocate L1 L2::evict_first
    L2::evict_last L2::evict_normal L2::evict_unchanged a a1d a2d a2dms acube array_size channel_data_type
    channel_order cube depth force_unnormalized_coords geom height normalized_coords num_mipmap_levels num_samples
    samplerref surfref texref unified width level base grad filter_mode addr_mode_0 addr_mode_1 addr_mode_2
    memory_layout b p r g clamp mask trap wrap zero eq ne lt le gt ge lo ls hi hs equ neu ltu leu gtu geu num nan
    finite infinite notanumber number normal subnormal approx full ftz noftz rna rmi rni rpi rs rzi sat relu
    scaled::n2::ue8m0 oob xorsign negate wide hi24 cc l po shiftamt shr7 shr15 b0 b1 b2 b3 b10 b20 b21 b30 b31 b210
    b310 b320 b321 b3210 h0 h1 h10 x y z w f4e b4e rc8 ecl ecr rc16 weak volatile mmio to const local param
    param::entry param::func cs cv lu wb wt nc uni up bfly idx all any ballot pred cas exch acc::f16 acc::f32
    async::generic ignore_src multicast::cluster::all alias generic tensormap tensormap::generic
    sync_restrict::shared::cluster sync_restrict::shared::cta cvt range fractional pack is_canceled get_first_ctaid
    get_first_ctaid::x get_first_ctaid::y get_first_ctaid::z global_address rank box_dim global_dim global_stride
    element_stride elemtype interleave_layout swizzle_mode swizzle_atomicity fill_mode sp sp::ordered_metadata
    spformat ws collector::a collector::b exclusive row col bytes align
    """.split()
)
MODIFIERS = _QUALIFIERS.union(*SECOND_WORDS.values(), *(words[1:] for words in _list_form_words()))

# types, shapes, counts and dimensions, which have digits; and collector buffers
NUMBERED = re.compile(r"[a-z]{0,6}\d[\w]*(?:::\w+)?|collector::\w+(?:::\w+)*")
