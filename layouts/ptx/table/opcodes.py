"""The words of PTX's opcodes: those that begin one, those that may follow a family's name, and all modifiers.

Source: PTX ISA 9.1, 4.3.2 (Table 2, keywords of instructions) and the syntax of every instruction in 9.7. The shapes,
types and modifiers of matrix instructions are in the other tables.
"""

from __future__ import annotations

import re

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

# name of a family → the words of which one follows it
SECOND_WORDS = {
    family: tuple(words.split())
    for family, words in {
        "barrier": "cta cluster sync arrive red",
        "bar": "cta warp sync arrive red",
        "clusterlaunchcontrol": "try_cancel query_cancel",
        "cp": "async reduce",
        "elect": "sync",
        "fence": "proxy mbarrier_init sc acq_rel acquire release cta cluster gpu sys",
        "griddepcontrol": "launch_dependents wait",
        "ldmatrix": "sync",
        "mbarrier": "init inval expect_tx complete_tx arrive arrive_drop pending_count test_wait try_wait",
        "membar": "cta gl sys proxy",
        "movmatrix": "sync",
        "multimem": "ld_reduce st red cp",
        "redux": "sync",
        "setmaxnreg": "inc dec",
        "stmatrix": "sync",
        "tcgen05": "alloc dealloc relinquish_alloc_permit ld st wait::ld wait::st cp shift mma commit"
        " fence::before_thread_sync fence::after_thread_sync",
        "tensormap": "replace cp_fenceproxy",
        "wgmma": "mma_async fence commit_group wait_group",
        "wmma": "load store mma",
    }.items()
}

_QUALIFIERS = frozenset(
    """
    L1::evict_first L1::evict_last L1::evict_normal L1::evict_unchanged L1::no_allocate L1 L2 L2::128B L2::256B L2::64B
    L2::cache_hint L2::evict_first L2::evict_last L2::evict_normal L2::evict_unchanged
    a a1d a2d a2dms acube array_size channel_data_type channel_order cube depth force_unnormalized_coords geom height
    normalized_coords num_mipmap_levels num_samples samplerref surfref texref unified width level base grad filter_mode
    addr_mode_0 addr_mode_1 addr_mode_2 memory_layout b p r g clamp mask trap wrap zero
    eq ne lt le gt ge lo ls hi hs equ neu ltu leu gtu geu num nan finite infinite notanumber number normal subnormal
    approx full ftz noftz rn rna rm rmi rni rp rpi rs rz rzi sat satfinite relu scaled::n2::ue8m0 oob abs NaN
    xorsign negate wide hi24 cc l po shiftamt shr7 shr15 b0 b1 b2 b3 b10 b20 b21 b30 b31 b32 b210 b310 b320 b321 b3210
    h0 h1 h10 x y z w f4e b4e rc8 ecl ecr rc16
    acquire release relaxed acq_rel sc weak volatile mmio cta cluster gpu sys gl to
    const global local param shared shared::cta shared::cluster param::entry param::func
    ca cg cs cv lu wb wt nc uni up down bfly idx all any ballot pred sync aligned popc warp
    and or xor cas exch add inc dec min max
    acc::f16 acc::f32 async async::generic bulk bulk_group tensor tile tile::gather4 tile::scatter4 im2col im2col::w
    im2col::w::128 im2col_no_offs commit_group wait_group wait_all read ignore_src cp_mask noinc mbarrier reduce
    prefetch multicast::cluster multicast::cluster::all mbarrier::complete_tx::bytes mbarrier::arrive::one
    alias proxy generic tensormap tensormap::generic sync_restrict::shared::cluster sync_restrict::shared::cta
    arrive arrive_drop expect_tx complete_tx noComplete parity cvt range fractional pack
    is_canceled get_first_ctaid get_first_ctaid::x get_first_ctaid::y get_first_ctaid::z
    global_address rank box_dim global_dim global_stride element_stride elemtype interleave_layout swizzle_mode
    swizzle_atomicity fill_mode replace
    sp sp::ordered_metadata spformat ws ashift block_scale block16 block32 scale_vec::1X scale_vec::2X scale_vec::4X
    cta_group::1 cta_group::2 kind::f16 kind::tf32 kind::i8 kind::f8f6f4 kind::mxf8f6f4 kind::mxf4 kind::mxf4nvf4
    pack::16b unpack::16b warpx4 warpx2::01_23 warpx2::02_13 collector::a collector::b exclusive
    row col trans load store mma_async red bytes align
    """.split()
)
MODIFIERS = _QUALIFIERS.union(*SECOND_WORDS.values())

# types, shapes, counts and dimensions, which have digits; and collector buffers
NUMBERED = re.compile(r"[a-z]{0,6}\d[\w]*(?:::\w+)?|collector::\w+(?:::\w+)*")
