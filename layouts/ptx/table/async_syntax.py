"""The words of asynchronous copies, mbarriers, and the instructions of wgmma and tcgen05 that multiply nothing.

One line for each form: words in their order, {a|b} for one of several, [a|b] for one that may be left out; words that
come together are joined by a dot. Source: PTX ISA 9.1, 9.7.9.25, 9.7.9.27, 9.7.13.15, 9.7.15.7 and 9.7.16; ptxas 13
takes all of them, and their words in another order, too, but for the state spaces; the name comes first.
"""

from __future__ import annotations

_TILES = "1d|2d|3d|4d|5d|1d.tile|2d.tile|3d.tile|4d.tile|5d.tile"
_IM2COL = "|".join(f"{rank}d.im2col{mode}" for rank in (3, 4, 5) for mode in ("", "::w", "::w::128"))
_BOX = f"{{{_TILES}|2d.tile::gather4|{_IM2COL}}}"
_STORED = f"{{{_TILES}|3d.im2col_no_offs|4d.im2col_no_offs|5d.im2col_no_offs}}"
_ARRIVE = "[release.cta|release.cluster|relaxed.cta|relaxed.cluster] [shared|shared::cta|shared::cluster] b64"
_WAIT = "[acquire.cta|acquire.cluster|relaxed.cta|relaxed.cluster] [shared|shared::cta] b64"
_CACHE = "[L2::cache_hint] [L2::64B|L2::128B|L2::256B]"
_PAIR = "{cta_group::1|cta_group::2}"

FORMS = f"""
cp.async {{ca|cg}} {{shared|shared::cta}} global {_CACHE}
cp.async.commit_group
cp.async.wait_group
cp.async.wait_all
cp.async.mbarrier.arrive [noinc] [shared|shared::cta] b64
cp.async.bulk.commit_group
cp.async.bulk.wait_group [read]
cp.async.bulk shared::cta global mbarrier::complete_tx::bytes [ignore_oob] [L2::cache_hint]
cp.async.bulk shared::cluster global mbarrier::complete_tx::bytes [multicast::cluster] [L2::cache_hint]
cp.async.bulk shared::cluster shared::cta mbarrier::complete_tx::bytes
cp.async.bulk global shared::cta bulk_group [L2::cache_hint] [cp_mask]
cp.async.bulk.prefetch L2 global [L2::cache_hint]
cp.async.bulk.tensor {_BOX} shared::cta global mbarrier::complete_tx::bytes [cta_group::1|cta_group::2] [L2::cache_hint]
cp.async.bulk.tensor {_BOX} shared::cluster global mbarrier::complete_tx::bytes [multicast::cluster] \
[cta_group::1|cta_group::2] [L2::cache_hint]
cp.async.bulk.tensor {_STORED} global shared::cta bulk_group [L2::cache_hint]
cp.async.bulk.tensor 2d.tile::scatter4 global shared::cta bulk_group [L2::cache_hint]
cp.async.bulk.prefetch.tensor {_BOX} L2 global [L2::cache_hint]
cp.reduce.async.bulk.tensor {_STORED} global shared::cta {{add|min|max|inc|dec|and|or|xor}} bulk_group [L2::cache_hint]
mbarrier.init [shared|shared::cta] b64
mbarrier.inval [shared|shared::cta] b64
mbarrier.expect_tx [relaxed.cta|relaxed.cluster] [shared|shared::cta|shared::cluster] b64
mbarrier.complete_tx [relaxed.cta|relaxed.cluster] [shared|shared::cta|shared::cluster] b64
mbarrier.arrive {_ARRIVE}
mbarrier.arrive.expect_tx {_ARRIVE}
mbarrier.arrive_drop {_ARRIVE}
mbarrier.arrive_drop.expect_tx {_ARRIVE}
mbarrier.arrive noComplete [release.cta] [shared|shared::cta] b64
mbarrier.arrive_drop noComplete [release.cta] [shared|shared::cta] b64
mbarrier.test_wait {_WAIT}
mbarrier.test_wait.parity {_WAIT}
mbarrier.try_wait {_WAIT}
mbarrier.try_wait.parity {_WAIT}
mbarrier.pending_count b64
barrier.cluster.arrive [release|relaxed] [aligned]
barrier.cluster.wait [acquire] [aligned]
wgmma.fence sync aligned
wgmma.commit_group sync aligned
wgmma.wait_group sync aligned
tcgen05.alloc {_PAIR} sync aligned [shared::cta] b32
tcgen05.dealloc {_PAIR} sync aligned b32
tcgen05.relinquish_alloc_permit {_PAIR} sync aligned
tcgen05.commit {_PAIR} mbarrier::arrive::one [shared::cluster] [multicast::cluster] b64
tcgen05.wait::ld sync aligned
tcgen05.wait::st sync aligned
tcgen05.fence::before_thread_sync
tcgen05.fence::after_thread_sync
tcgen05.shift {_PAIR} down
setmaxnreg {{inc|dec}} sync aligned u32
griddepcontrol {{launch_dependents|wait}}
"""
