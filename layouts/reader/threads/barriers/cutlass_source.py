"""Functions and classes of CUTLASS that kernels call around mbarriers, as device code of our own with the same effect.

Texts include CUTLASS and do not contain it; names that it declares itself are its own. A pipeline has a cluster of one
block here. Blocks, their tiles and clusters of cooperative_groups, and functions of cuda::ptx, are among them, too.
Sources: CUDA C++ Programming Guide; libcu++, cuda::ptx; CUTLASS 4.7,
cute/arch/copy_sm90_desc.hpp, cute/arch/cluster_sm90.hpp, cutlass/arch/barrier.h, cutlass/pipeline/sm90_pipeline.hpp.
"""

from __future__ import annotations

import re
from functools import lru_cache

from lanescope.reader.code.syntax import cxx
from lanescope.reader.code.syntax.source import make_plain_source
from lanescope.reader.code.syntax.tree import Statement

NAMES = re.compile(r"\b(?:Cluster(?:Transaction)?Barrier|initialize_barrier|wait_barrier|PipelineTmaAsync)\b")
LIBRARY = re.compile(
    rf"{NAMES.pattern}|\b(?:this_cluster|cluster_(?:sync|arrive\w*|wait)|block_rank_in_cluster"
    r"|elect_sync|barrier_cluster_(?:arrive|wait)|get_sreg_\w+)\s*\("
)
GROUPS = re.compile(r"\bthis_thread_block\b")
_BARRIER = r"""
struct NAME {
  uint64_t word_;
  static void init(uint64_t const* at_, uint32_t count_) { initialize_barrier(*at_, count_); }
  static void wait(uint64_t const* at_, uint32_t parity_) { wait_barrier(*at_, parity_); }
  static void arrive(uint64_t const* at_) { arrive_barrier(*at_); }
  static void arrive(uint64_t const* at_, uint32_t rank_, uint32_t on_) {
    if (on_) lanescope_arrive_at(*at_, rank_);
  }
  static void arrive_and_expect_tx(uint64_t const* at_, uint32_t n_) { set_barrier_transaction_bytes(*at_, n_); }
  static void expect_transaction(uint64_t const* at_, uint32_t n_) { lanescope_expect(*at_, n_); }
  static void invalidate(uint64_t const* at_) {}
  void init(uint32_t count_) { initialize_barrier(word_, count_); }
  void wait(uint32_t parity_) { wait_barrier(word_, parity_); }
  void arrive() { arrive_barrier(word_); }
  void arrive(uint32_t rank_, uint32_t on_) { if (on_) lanescope_arrive_at(word_, rank_); }
  void arrive_and_expect_tx(uint32_t bytes_) { set_barrier_transaction_bytes(word_, bytes_); }
  void expect_transaction(uint32_t n_) { lanescope_expect(word_, n_); }
  void invalidate() {}
};
"""
_BY_DIMENSION = ("tid", "ntid", "ctaid", "nctaid", "cluster_ctaid", "cluster_nctaid")
_REGISTERS = "".join(
    f"""
inline uint32_t get_sreg_{name.replace(".", "_")}() {{
  uint32_t value_;
  asm volatile("mov.u32 %0, %%{name};" : "=r"(value_));
  return value_;
}}"""
    for name in ("laneid", "cluster_ctarank", "cluster_nctarank", *(f"{n}.{d}" for n in _BY_DIMENSION for d in "xyz"))
)
_GROUPS = """
struct thread_block {
  void sync() { __syncthreads(); }
  unsigned thread_rank() {
    return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  }
  unsigned num_threads() { return blockDim.x * blockDim.y * blockDim.z; }
  unsigned size() { return blockDim.x * blockDim.y * blockDim.z; }
  dim3 thread_index() { return threadIdx; }
  dim3 group_index() { return blockIdx; }
  dim3 dim_threads() { return blockDim; }
  dim3 group_dim() { return blockDim; }
};
inline thread_block this_thread_block() { thread_block block_; return block_; }
template <unsigned Size_>
struct thread_block_tile {
  void sync() {
    if (Size_ <= 32) __syncwarp();
    else if (Size_ == this_thread_block().size()) __syncthreads();
    else lanescope_synchronize_part();
  }
  unsigned thread_rank() { return this_thread_block().thread_rank() % Size_; }
  unsigned meta_group_rank() { return this_thread_block().thread_rank() / Size_; }
  unsigned meta_group_size() { return this_thread_block().size() / Size_; }
  unsigned num_threads() { return Size_; }
  unsigned size() { return Size_; }
};
template <unsigned Size_> inline thread_block_tile<Size_> tiled_partition(thread_block parent_) {
  thread_block_tile<Size_> tile_;
  return tile_;
}
template <class Group_> inline void sync(Group_ group_) { group_.sync(); }
"""
_SOURCE = rf"""
inline void initialize_barrier(uint64_t& at_, int count_ = 1) {{
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(__cvta_generic_to_shared(&at_)), "r"(count_));
}}
inline void set_barrier_transaction_bytes(uint64_t& at_, uint32_t bytes_) {{
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
               :: "r"(__cvta_generic_to_shared(&at_)), "r"(bytes_));
}}
inline void lanescope_expect(uint64_t& at_, uint32_t bytes_) {{
  asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;"
               :: "r"(__cvta_generic_to_shared(&at_)), "r"(bytes_));
}}
inline void wait_barrier(uint64_t& at_, int parity_) {{
  asm volatile("{{ .reg .pred p; again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @!p bra again; }}"
               :: "r"(__cvta_generic_to_shared(&at_)), "r"(parity_));
}}
inline void arrive_barrier(uint64_t& at_) {{
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(__cvta_generic_to_shared(&at_)));
}}
inline void lanescope_arrive_at(uint64_t& at_, uint32_t rank_) {{
  asm volatile("{{ .reg .b32 other; mapa.shared::cluster.u32 other, %0, %1;"
               " mbarrier.arrive.shared::cluster.b64 _, [other]; }}"
               :: "r"(__cvta_generic_to_shared(&at_)), "r"(rank_));
}}
inline bool elect_sync(uint32_t mask_) {{
  uint32_t chosen_;
  asm volatile("{{ .reg .pred p; elect.sync _|p, %1; selp.u32 %0, 1, 0, p; }}" : "=r"(chosen_) : "r"(mask_));
  return chosen_;
}}
inline uint32_t elect_one_sync() {{
  uint32_t chosen_;
  asm volatile("{{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p; }}" : "=r"(chosen_));
  return chosen_;
}}
inline void umma_arrive(uint64_t const* at_) {{
  if (elect_one_sync())
    asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];"
                 :: "r"(__cvta_generic_to_shared(at_)));
}}
inline int canonical_lane_idx() {{ return threadIdx.x % 32; }}
inline int canonical_warp_idx() {{ return threadIdx.x / 32; }}
inline int canonical_warp_idx_sync() {{ return threadIdx.x / 32; }}
inline int canonical_warp_group_idx() {{ return threadIdx.x / 128; }}
constexpr int NumThreadsPerWarp = 32;
constexpr int NumThreadsPerWarpGroup = 128;
constexpr int NumWarpsPerWarpGroup = 4;
inline void cluster_sync() {{ lanescope_cluster_sync(); }}
inline void cluster_arrive() {{ asm volatile("barrier.cluster.arrive.aligned;"); }}
inline void cluster_arrive_relaxed() {{ asm volatile("barrier.cluster.arrive.relaxed.aligned;"); }}
inline void cluster_wait() {{ asm volatile("barrier.cluster.wait.aligned;"); }}
inline uint32_t block_rank_in_cluster() {{
  uint32_t rank_;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank_));
  return rank_;
}}
inline void barrier_cluster_arrive(int order_ = 0, int scope_ = 0) {{ cluster_arrive(); }}
inline void barrier_cluster_wait(int order_ = 0, int scope_ = 0) {{ cluster_wait(); }}
{_REGISTERS}
struct cluster_group {{
  unsigned block_rank() {{ return block_rank_in_cluster(); }}
  unsigned num_blocks() {{
    unsigned count_;
    asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(count_));
    return count_;
  }}
  void sync() {{ cluster_arrive(); cluster_wait(); }}
  void barrier_arrive() {{ cluster_arrive(); }}
  void barrier_wait() {{ cluster_wait(); }}
  template <class T_> T_* map_shared_rank(T_* at_, unsigned rank_) {{
    T_* other_;
    asm volatile("mapa.u64 %0, %1, %2;" : "=l"(other_) : "l"(at_), "r"(rank_));
    return other_;
  }}
}};
inline cluster_group this_cluster() {{ return cluster_group(); }}
inline void tma_store_fence() {{ asm volatile("fence.proxy.async.shared::cta;"); }}
inline void fence_view_async_shared() {{ asm volatile("fence.proxy.async.shared::cta;"); }}
inline void tma_store_arrive() {{ asm volatile("cp.async.bulk.commit_group;"); }}
template <int Groups_> void tma_store_wait() {{ asm volatile("cp.async.bulk.wait_group.read %0;" :: "n"(Groups_)); }}
inline void tma_desc_commit_group() {{ tma_store_arrive(); }}
inline void tma_desc_wait_group() {{ tma_store_wait<0>(); }}
inline void pipeline_init_arrive_relaxed(int size_) {{ if (size_ > 1) cluster_arrive_relaxed(); }}
inline void pipeline_init_wait(int size_) {{ if (size_ > 1) cluster_wait(); else __syncthreads(); }}
enum class ReservedNamedBarriers {{
  EpilogueBarrier = -8, TransposeBarrier, TransformBarrier, StreamkBarrier0, StreamkBarrier1, TmemAllocBarrier
}};
struct NamedBarrier {{
  uint32_t threads_;
  uint32_t number_;
  NamedBarrier(uint32_t count_, uint32_t id_ = 0) : threads_(count_), number_(id_) {{}}
  void sync() {{ NamedBarrier::sync(threads_, number_); }}
  void arrive() {{ NamedBarrier::arrive(threads_, number_); }}
  void arrive_and_wait() {{ NamedBarrier::sync(threads_, number_); }}
  static void arrive_and_wait(uint32_t count_, uint32_t id_) {{ NamedBarrier::sync(count_, id_); }}
  static void sync(uint32_t count_, uint32_t id_) {{
    asm volatile("bar.sync %0, %1;" :: "r"(id_ + 8), "r"(count_));
  }}
  static void arrive(uint32_t count_, uint32_t id_) {{
    asm volatile("bar.arrive %0, %1;" :: "r"(id_ + 8), "r"(count_));
  }}
}};
inline bool thread0() {{ return false; }}
inline bool block0() {{ return false; }}
struct Allocator1Sm {{
  static constexpr int Sm100TmemCapacityColumns = 512;
  void allocate(int columns_, uint32_t* at_) {{}}
  void free(uint32_t at_, int columns_) {{}}
  void release_allocation_lock() {{}}
}};
{_BARRIER.replace("NAME", "ClusterBarrier")}
{_BARRIER.replace("NAME", "ClusterTransactionBarrier")}
template <int Stages_>
struct LanescopeState {{
  static constexpr int Stages = Stages_;
  int index_;
  uint32_t phase_;
  uint32_t count_;
  LanescopeState() : index_(0), phase_(0), count_(0) {{}}
  LanescopeState(int first_, uint32_t parity_, uint32_t turns_) : index_(first_), phase_(parity_), count_(turns_) {{}}
  int index() {{ return index_; }}
  uint32_t phase() {{ return phase_; }}
  uint32_t count() {{ return count_; }}
  void operator++() {{
    count_ += 1;
    index_ += 1;
    if (index_ == Stages_) {{ index_ = 0; phase_ ^= 1; }}
  }}
  void advance(uint32_t steps_) {{
    count_ += steps_;
    phase_ ^= ((index_ + steps_) / Stages_) & 1;
    index_ = (index_ + steps_) % Stages_;
  }}
}};
template <int Stages_> using PipelineState = LanescopeState<Stages_>;
template <class Pipeline_>
LanescopeState<Pipeline_::Stages> make_producer_start_state() {{
  return LanescopeState<Pipeline_::Stages>(0, 1, 0);
}}
struct LanescopeCategory {{
  static constexpr int NonParticipant = 0;
  static constexpr int Producer = 1;
  static constexpr int Consumer = 2;
  static constexpr int ProducerConsumer = 3;
}};
struct LanescopeParams {{
  uint32_t transaction_bytes;
  int role;
  uint32_t is_leader;
  uint32_t num_consumers;
  uint32_t num_producers = 1;
}};
template <int Stages_>
struct LanescopeStorage {{
  uint64_t full_barrier_[Stages_];
  uint64_t empty_barrier_[Stages_];
}};
template <int Stages_>
struct PipelineTmaAsync {{
  static constexpr int Stages = Stages_;
  using PipelineState = LanescopeState<Stages_>;
  using SharedStorage = LanescopeStorage<Stages_>;
  using Params = LanescopeParams;
  using ThreadCategory = LanescopeCategory;
  using ProducerBarrierType = uint64_t;
  uint64_t* full_;
  uint64_t* empty_;
  uint32_t bytes_;
  uint32_t leads_;
  template <class Storage_, class Params_, class Cluster_>
  PipelineTmaAsync(Storage_& storage_, Params_ params_, Cluster_ cluster_)
      : full_(&storage_.full_barrier_[0]), empty_(&storage_.empty_barrier_[0]), bytes_(params_.transaction_bytes),
        leads_(params_.is_leader) {{
    if (size(cluster_) != 1 || params_.num_consumers % 128 != 0) lanescope_not_followed();
    if (threadIdx.x / 32 == 0 && elect_one_sync()) {{
      for (int n_ = 0; n_ < Stages_; ++n_) {{
        initialize_barrier(full_[n_], params_.num_producers);
        initialize_barrier(empty_[n_], params_.num_consumers / 128);
      }}
    }}
  }}
  template <class State_> int producer_try_acquire(State_ const& at_) {{ return 0; }}
  template <class State_> int consumer_try_wait(State_ const& at_) {{ return 0; }}
  template <class State_> void producer_acquire(State_ const& at_, int token_ = 0) {{
    wait_barrier(empty_[at_.index_], at_.phase_);
    if (leads_) set_barrier_transaction_bytes(full_[at_.index_], bytes_);
  }}
  template <class State_> void producer_commit(State_ const& at_, uint32_t bytes_ = 0) {{}}
  template <class State_> void producer_tail(State_ at_) {{}}
  template <class State_> uint64_t* producer_get_barrier(State_ const& at_) {{ return &full_[at_.index_]; }}
  template <class State_> void consumer_wait(State_ const& at_, int token_ = 0) {{
    wait_barrier(full_[at_.index_], at_.phase_);
  }}
  template <class State_> void consumer_release(State_ const& at_) {{
    if (threadIdx.x % 128 == 0) arrive_barrier(empty_[at_.index_]);
  }}
}};
"""


# where mbarriers are not followed: nothing waits, and the first thread of a warp is elected
_WAIT = re.compile(r'asm volatile\("{ \.reg \.pred p; again: .*\n.*')
_GROUP = re.compile(r'asm volatile\("cp\.async\.bulk\.\w+_group.*?\); }')
_ELECT = re.compile(r'asm volatile\("{ \.reg \.pred p; elect.*')


@lru_cache(maxsize=4)
def parse_library(start: int, barriers: bool, waits: bool = True) -> tuple[str, tuple[Statement, ...]]:
    """Return the source, and its definitions as those of a text that it continues at a place.

    barriers: with the functions around mbarriers, too, not only groups of threads; waits: whether mbarriers are
    followed.
    """
    source = _GROUPS + (_SOURCE if barriers else "")
    if not waits:
        source = _ELECT.sub("chosen_ = threadIdx.x % 32 == 0;", _WAIT.sub("", _GROUP.sub("}", source)))
    return source, tuple(cxx.parse_cxx(make_plain_source(" " * start + source)))
