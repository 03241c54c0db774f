// lanescope.cuh: record what a kernel's wgmma, ldmatrix and mma really read, and verify it outside:
//   lanescope capture verify FILE
// C++17, sm_75 and later; nvcc, NVRTC, clang. No dependencies. Written by `lanescope capture header`.
//
//   #define LANESCOPE 1            // or -DLANESCOPE=1; without it every macro below is nothing
//   #include "lanescope.cuh"
//
// In the kernel; `buffer` is a kernel parameter, void*. A null buffer records nothing.
//   LANESCOPE_WGMMA(buffer, "AB", desc_a, desc_b, "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16", 1, 1, 0, 0);
//     before the wgmma, after its data have arrived (below). "A", "B" or "AB": the operands that are read through a
//     descriptor. After the instruction's text, where it has them: imm-scale-a, imm-scale-b, imm-trans-a, imm-trans-b
//     (A in registers: imm-scale-a, imm-scale-b, imm-trans-b). Every thread of the warpgroup calls it.
//   LANESCOPE_LDMATRIX(buffer, "A", address, "ldmatrix.sync.aligned.m8n8.x4.shared.b16", registers);
//     after the ldmatrix: the lane's 32-bit shared address, and the array it loaded.
//   LANESCOPE_MMA(buffer, "", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", a, b, d);
//     after the mma: the arrays of registers. "A" or "B" instead of "": only that operand is an element of a matrix.
//   LANESCOPE_FRAGMENT(buffer, "A", "wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e4m3", registers);
//     one operand's registers: A of a wgmma that takes it from registers; D after wgmma.wait_group; "C" before the
//     first wgmma or mma, where the accumulators do not begin at zero.
//   LANESCOPE_WGMMA_AT, LANESCOPE_LDMATRIX_AT, LANESCOPE_MMA_AT: the same, and which slice it should be: m, n, k of its
//     first element in A and B come after the second argument. Where they are not stated, the verifier infers the slice
//     from the other operand and the other steps, and says so.
//
// On the host:
//   void* buffer = lanescope::create(64 << 20);        // records of block 0; create(bytes, first, last) for others.
//                                                      // A cluster is recorded whole, so give it room for each block
//   kernel<<<grid, block, shared>>>(..., buffer);
//   lanescope::save(buffer, "kernel.lscap");           // synchronizes, copies the buffer, writes the file
//   lanescope::destroy(buffer);
//
// What must be ordered. A macro reads shared memory with ordinary loads, as this thread sees it. Call it where the
// instruction itself is legal: after the mbarrier wait of a TMA load, after cp.async.wait_group and the barrier, or
// after the stores of other threads and the barrier. Stages that a copy is still filling are recorded as they happen
// to be; an instruction does not read them. A wgmma in flight is not disturbed: nothing is written but the buffer. One
// warp of a warpgroup records; the others wait for it at the named barrier LANESCOPE_BARRIER (15, one less for each
// further warpgroup of the block), so that none releases a stage that is being recorded.
//
// To choose what is recorded:
//   #define LANESCOPE_WHEN (k < 2)        // a condition that is the same for the whole warpgroup; calls that it leaves
//                                         // out are counted
//   #define LANESCOPE_FIRST 1024          // first byte of shared memory that is recorded, and how many; by default all
//   #define LANESCOPE_BYTES 32768         // that the block has, which is also the most
//   #define LANESCOPE_BARRIER (-1)        // no barrier after a recorded wgmma
#ifndef LANESCOPE_CUH
#define LANESCOPE_CUH

#if defined(LANESCOPE) && LANESCOPE
#ifndef LANESCOPE_WHEN
#define LANESCOPE_WHEN true
#endif
#ifndef LANESCOPE_FIRST
#define LANESCOPE_FIRST ::lanescope::shared_first()
#endif
#ifndef LANESCOPE_BYTES
#define LANESCOPE_BYTES ::lanescope::shared_bytes(LANESCOPE_FIRST)
#endif
#ifndef LANESCOPE_BARRIER
#define LANESCOPE_BARRIER 15
#endif
#define LANESCOPE_RECORD(buffer, call) \
  do { if (LANESCOPE_WHEN) ::lanescope::call; else ::lanescope::skip(buffer); } while (0)
#define LANESCOPE_PLACE {__FILE__, __LINE__, LANESCOPE_FIRST, LANESCOPE_BYTES, LANESCOPE_BARRIER, \
                         $open, $open, $open}
#define LANESCOPE_PLACE_AT(m, n, k) {__FILE__, __LINE__, LANESCOPE_FIRST, LANESCOPE_BYTES, LANESCOPE_BARRIER, \
                                     (unsigned)(m), (unsigned)(n), (unsigned)(k)}
#define LANESCOPE_WGMMA(buffer, operands, desc_a, desc_b, ...) \
  LANESCOPE_RECORD(buffer, wgmma(LANESCOPE_PLACE, buffer, operands, desc_a, desc_b, __VA_ARGS__))
#define LANESCOPE_WGMMA_AT(buffer, operands, m, n, k, desc_a, desc_b, ...) \
  LANESCOPE_RECORD(buffer, wgmma(LANESCOPE_PLACE_AT(m, n, k), buffer, operands, desc_a, desc_b, __VA_ARGS__))
#define LANESCOPE_LDMATRIX(buffer, operand, address, text, registers) \
  LANESCOPE_RECORD(buffer, ldmatrix(LANESCOPE_PLACE, buffer, operand, address, text, registers))
#define LANESCOPE_LDMATRIX_AT(buffer, operand, m, n, k, address, text, registers) \
  LANESCOPE_RECORD(buffer, ldmatrix(LANESCOPE_PLACE_AT(m, n, k), buffer, operand, address, text, registers))
#define LANESCOPE_MMA(buffer, label, text, a, b, d) \
  LANESCOPE_RECORD(buffer, mma(LANESCOPE_PLACE, buffer, label, text, a, b, d))
#define LANESCOPE_MMA_AT(buffer, label, m, n, k, text, a, b, d) \
  LANESCOPE_RECORD(buffer, mma(LANESCOPE_PLACE_AT(m, n, k), buffer, label, text, a, b, d))
#define LANESCOPE_FRAGMENT(buffer, operand, text, registers) \
  LANESCOPE_RECORD(buffer, fragment(LANESCOPE_PLACE, buffer, operand, text, registers))
#define LANESCOPE_FRAGMENT_AT(buffer, operand, m, n, k, text, registers) \
  LANESCOPE_RECORD(buffer, fragment(LANESCOPE_PLACE_AT(m, n, k), buffer, operand, text, registers))
#else
#define LANESCOPE_WGMMA(...) ((void)0)
#define LANESCOPE_WGMMA_AT(...) ((void)0)
#define LANESCOPE_LDMATRIX(...) ((void)0)
#define LANESCOPE_LDMATRIX_AT(...) ((void)0)
#define LANESCOPE_MMA(...) ((void)0)
#define LANESCOPE_MMA_AT(...) ((void)0)
#define LANESCOPE_FRAGMENT(...) ((void)0)
#define LANESCOPE_FRAGMENT_AT(...) ((void)0)
#endif

namespace lanescope {

$header

$record

// Fills: matrices whose elements tell who they are. The code of element (mn, k): A is (m, k), B (n, k); operand 'a' or
// 'b'; 8-bit types take two runs of the kernel, pass 1 and 2. code_tf32 is the bits of a float.
#if defined(__CUDACC__)
#define LANESCOPE_BOTH __host__ __device__
#else
#define LANESCOPE_BOTH
#endif
LANESCOPE_BOTH inline unsigned code_f16(unsigned mn, unsigned k, char operand) {
  return ${first_f16}u + (mn % ${mn}u ^ k / ${k}u % 8) * ${k}u + k % ${k}u + (operand == 'b' ? 0x8000u : 0u);
}

LANESCOPE_BOTH inline unsigned code_bf16(unsigned mn, unsigned k, char operand) {
  return ${first_bf16}u + (mn % ${mn}u ^ k / ${k}u % 8) * ${k}u + k % ${k}u + (operand == 'b' ? 0x8000u : 0u);
}

LANESCOPE_BOTH inline unsigned code_tf32(unsigned mn, unsigned k, char operand) {
  return ${first_tf32}u + ((mn % ${mn}u ^ k / ${k}u % 4) * ${k}u + k % ${k}u) * ${step_tf32}u
         + (operand == 'b' ? 0x80000000u : 0u);
}

LANESCOPE_BOTH inline unsigned code_8(unsigned mn, unsigned k, char operand, unsigned pass) {
  const unsigned r = k % ${eight}u;
  return 1 + (pass * (mn % ${eight}u) + r * r % ${eight}u * r) % ${eight}u + (operand == 'b' ? 0x80u : 0u);
}

// Whether some block of a cluster is in the range of blocks first to last, by their linear index in the grid. corner:
// the cluster's first block, in x, y and z. A cluster is recorded whole: a block that records alone comes late, and
// signals barriers in the shared memory of blocks that have ended, which is a fault.
LANESCOPE_BOTH inline bool in_range(unsigned first, unsigned last, const unsigned (&grid)[3],
                                    const unsigned (&corner)[3], const unsigned (&cluster)[3]) {
  for (unsigned z = 0; z < cluster[2]; ++z)
    for (unsigned y = 0; y < cluster[1]; ++y) {
      const unsigned begin = corner[0] + grid[0] * (corner[1] + y + grid[1] * (corner[2] + z));
      if (begin <= last && begin + (cluster[0] - 1) >= first) return true;
    }
  return false;
}

static_assert(sizeof(Header) == $header_bytes && sizeof(Record) == $record_bytes, "the file's format");

#if defined(LANESCOPE) && LANESCOPE && defined(__CUDACC__)

struct Place {
  const char* file;
  unsigned line, window_first, window_bytes;
  int barrier;
  unsigned m, n, k;
};

// The first byte of the block's own shared memory: past what the system keeps at the window's beginning. cap is the
// size of that region; end, of which an H200 says 288 where 1024 bytes are reserved, only how much of it is in use.
__device__ inline unsigned shared_first() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  unsigned begin, end, cap;
  asm volatile("mov.u32 %0, %%reserved_smem_offset_begin;" : "=r"(begin));
  asm volatile("mov.u32 %0, %%reserved_smem_offset_end;" : "=r"(end));
  asm volatile("mov.u32 %0, %%reserved_smem_offset_cap;" : "=r"(cap));
  return begin != 0 ? 0 : cap > end ? cap : end;
#else
  return 0;
#endif
}

__device__ inline unsigned shared_bytes(unsigned first) {
  unsigned end;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("mov.u32 %0, %%aggr_smem_size;" : "=r"(end));  // with what the system keeps
#else
  asm volatile("mov.u32 %0, %%total_smem_size;" : "=r"(end));
  end += shared_first();
#endif
  return first < end ? end - first : 0;
}

__device__ inline unsigned least(unsigned a, unsigned b) { return a < b ? a : b; }
__device__ inline unsigned most(unsigned a, unsigned b) { return a > b ? a : b; }

// Where the block's own window begins: in a cluster bits 24 and up of a shared address are the block's rank, and the
// addresses of rank 0 are another block's. What is recorded counts from the block's own window.
enum : unsigned { OWN = 0xffffffu };

__device__ inline unsigned shared_window() {
  extern __shared__ unsigned char lanescope_shared[];  // takes no memory
  return (unsigned)__cvta_generic_to_shared(lanescope_shared) & ~OWN;
}

__device__ inline unsigned thread_of_block() {
  return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}

__device__ inline unsigned lane() { return thread_of_block() % 32; }

__device__ inline bool wanted(const void* buffer) {
  if (!buffer) return false;
  const Header* head = static_cast<const Header*>(buffer);
  const unsigned grid[3] = {gridDim.x, gridDim.y, gridDim.z};
  unsigned corner[3] = {blockIdx.x, blockIdx.y, blockIdx.z}, cluster[3] = {1, 1, 1};
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  unsigned x, y, z;
  asm("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(cluster[0]));
  asm("mov.u32 %0, %%cluster_nctaid.y;" : "=r"(cluster[1]));
  asm("mov.u32 %0, %%cluster_nctaid.z;" : "=r"(cluster[2]));
  asm("mov.u32 %0, %%cluster_ctaid.x;" : "=r"(x));
  asm("mov.u32 %0, %%cluster_ctaid.y;" : "=r"(y));
  asm("mov.u32 %0, %%cluster_ctaid.z;" : "=r"(z));
  corner[0] -= x;
  corner[1] -= y;
  corner[2] -= z;
#endif
  return in_range(head->block_first, head->block_last, grid, corner, cluster);
}

// What LANESCOPE_WHEN left out is counted, so that a sum over the recorded steps is not taken for the whole of D.
__device__ inline void skip(void* buffer) {
  if (wanted(buffer) && lane() == 0) atomicAdd(&static_cast<Header*>(buffer)->skipped, 1ull);
}

__device__ inline unsigned padded(unsigned bytes) { return (bytes + 15u) & ~15u; }

// Bytes of a text, its end included; a longer one is cut.
__device__ inline unsigned text_bytes(const char* text) {
  unsigned n = 0;
  while (n < 300 && text[n]) ++n;
  return n + 1;
}

__device__ inline void put_text(unsigned char* to, const char* text, unsigned bytes) {
  for (unsigned n = lane(); n < bytes; n += 32) to[n] = n + 1 < bytes ? (unsigned char)text[n] : (unsigned char)0;
}

// Registers of one operand: an array in registers, or none.
struct None {};
template <class T> struct Words { static constexpr unsigned count = 0; };
template <class T, int N> struct Words<T[N]> {
  static_assert(sizeof(T) % 4 == 0, "registers have 32 or 64 bits");
  static constexpr unsigned count = N * (sizeof(T) / 4);
};

__device__ inline unsigned char* put(unsigned char* to, const None&) { return to; }

template <class T, int N> __device__ inline unsigned char* put(unsigned char* to, const T (&from)[N]) {
  constexpr int per = sizeof(T) / 4;
  unsigned* row = reinterpret_cast<unsigned*>(to) + lane() * (N * per);
#pragma unroll
  for (int n = 0; n < N; ++n)
#pragma unroll
    for (int word = 0; word < per; ++word) row[n * per + word] = reinterpret_cast<const unsigned*>(&from[n])[word];
  return to + 128 * N * per;
}

// One record by one warp. Its bytes are claimed first, so records of other warps never overlap it; its mark is written
// last.
template <class A, class B, class D>
__device__ inline void record(const Place& place, void* buffer, unsigned kind, const char* label, const char* text,
                              unsigned long long desc_a, unsigned long long desc_b, unsigned immediates,
                              bool addressed, unsigned address, const A& a, const B& b, const D& d) {
  __syncwarp();
  unsigned char* const bytes = static_cast<unsigned char*>(buffer);
  Header* const head = static_cast<Header*>(buffer);
  const unsigned file_text = text_bytes(place.file), label_text = text_bytes(label), own_text = text_bytes(text);
  const unsigned texts = file_text + label_text + own_text;
  constexpr unsigned count_a = Words<A>::count, count_b = Words<B>::count, count_d = Words<D>::count;
  const bool from_shared = kind == $wgmma || kind == $ldmatrix;
  const unsigned first = from_shared ? least(most(place.window_first & OWN & ~15u, shared_first()), ${most_window}u) : 0;
  const unsigned window = from_shared
      ? least(least(place.window_bytes, ${most_window}u), shared_bytes(first)) & ~15u : 0;
  const unsigned size = (unsigned)sizeof(Record) + padded(texts) + (addressed ? 128 : 0)
      + 128 * (count_a + count_b + count_d) + window;
  unsigned long long at = 0;
  if (lane() == 0) {
    at = atomicAdd(&head->used, (unsigned long long)size);
    if (at + size > head->capacity) {
      atomicAdd(&head->dropped, 1u);
      at = 0;
    }
  }
  at = __shfl_sync(0xffffffffu, at, 0);
  if (!at) return;
  Record* const row = reinterpret_cast<Record*>(bytes + at);
  unsigned char* to = bytes + at + sizeof(Record);
  put_text(to, place.file, file_text);
  put_text(to + file_text, label, label_text);
  put_text(to + file_text + label_text, text, own_text);
  to += padded(texts);
  if (addressed) {
    reinterpret_cast<unsigned*>(to)[lane()] = address & OWN;
    to += 128;
  }
  to = put(put(put(to, a), b), d);
  const unsigned begin = shared_window() + first;
  for (unsigned n = 16 * lane(); n < window; n += 512) {
    uint4 held;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(held.x), "=r"(held.y), "=r"(held.z), "=r"(held.w) : "r"(begin + n) : "memory");
    *reinterpret_cast<uint4*>(to + n) = held;
  }
  if (lane() == 0) {
    row->bytes = size;
    row->kind = kind;
    row->line = place.line;
    row->block_x = blockIdx.x;
    row->block_y = blockIdx.y;
    row->block_z = blockIdx.z;
    row->thread = thread_of_block();
    row->desc_a = desc_a;
    row->desc_b = desc_b;
    row->m = place.m;
    row->n = place.n;
    row->k = place.k;
    row->immediates = immediates;
    row->window_first = first;
    row->window_bytes = window;
    row->text_bytes = texts;
    row->addresses = addressed ? 32 : 0;
    row->registers_a = count_a;
    row->registers_b = count_b;
    row->registers_c = 0;
    row->registers_d = count_d;
  }
  __syncwarp();
  __threadfence();
  if (lane() == 0) {
    row->mark = $mark;
    atomicAdd(&head->records, 1u);
  }
  __syncwarp();
}

__device__ inline unsigned packed(int scale_a, int scale_b, int trans_a, int trans_b) {
  return (scale_a & 255u) | (scale_b & 255u) << 8 | (trans_a & 255u) << 16 | (trans_b & 255u) << 24;
}

__device__ inline void wgmma_of(const Place& place, void* buffer, const char* operands, unsigned long long desc_a,
                                unsigned long long desc_b, const char* text, unsigned immediates) {
  if (!wanted(buffer)) return;
  const unsigned thread = thread_of_block();
  if (thread / 32 % 4 == 0)
    record(place, buffer, $wgmma, operands, text, desc_a, desc_b, immediates, false, 0, None(), None(), None());
  if (place.barrier >= 0)
    asm volatile("bar.sync %0, 128;" :: "r"(place.barrier - (int)(thread / 128)) : "memory");
}

__device__ inline void wgmma(const Place& place, void* buffer, const char* operands, unsigned long long desc_a,
                             unsigned long long desc_b, const char* text) {
  wgmma_of(place, buffer, operands, desc_a, desc_b, text, packed(-128, -128, -128, -128));
}

__device__ inline void wgmma(const Place& place, void* buffer, const char* operands, unsigned long long desc_a,
                             unsigned long long desc_b, const char* text, int scale_a, int scale_b) {
  wgmma_of(place, buffer, operands, desc_a, desc_b, text, packed(scale_a, scale_b, -128, -128));
}

__device__ inline void wgmma(const Place& place, void* buffer, const char* operands, unsigned long long desc_a,
                             unsigned long long desc_b, const char* text, int scale_a, int scale_b, int trans_b) {
  wgmma_of(place, buffer, operands, desc_a, desc_b, text, packed(scale_a, scale_b, -128, trans_b));
}

__device__ inline void wgmma(const Place& place, void* buffer, const char* operands, unsigned long long desc_a,
                             unsigned long long desc_b, const char* text, int scale_a, int scale_b, int trans_a,
                             int trans_b) {
  wgmma_of(place, buffer, operands, desc_a, desc_b, text, packed(scale_a, scale_b, trans_a, trans_b));
}

template <class T, int N>
__device__ inline void ldmatrix(const Place& place, void* buffer, const char* operand, unsigned address,
                                const char* text, const T (&registers)[N]) {
  if (wanted(buffer))
    record(place, buffer, $ldmatrix, operand, text, 0, 0, packed(-128, -128, -128, -128), true, address, registers,
           None(), None());
}

template <class TA, int NA, class TB, int NB, class TD, int ND>
__device__ inline void mma(const Place& place, void* buffer, const char* label, const char* text, const TA (&a)[NA],
                           const TB (&b)[NB], const TD (&d)[ND]) {
  if (wanted(buffer))
    record(place, buffer, $mma, label, text, 0, 0, packed(-128, -128, -128, -128), false, 0, a, b, d);
}

// One operand of one warp; every warp of a warpgroup writes a record of its own.
template <class T, int N>
__device__ inline void fragment(const Place& place, void* buffer, const char* operand, const char* text,
                                const T (&registers)[N]) {
  if (!wanted(buffer)) return;
  const unsigned none = packed(-128, -128, -128, -128);
  const char letter = operand[0];
  if (letter == 'A' || letter == 'a')
    record(place, buffer, $fragment, operand, text, 0, 0, none, false, 0, registers, None(), None());
  else if (letter == 'B' || letter == 'b')
    record(place, buffer, $fragment, operand, text, 0, 0, none, false, 0, None(), registers, None());
  else
    record(place, buffer, $fragment, operand, text, 0, 0, none, false, 0, None(), None(), registers);
}

#endif

}  // namespace lanescope

#if !defined(__CUDACC_RTC__)
#include <cstdio>
#include <cstring>
#include <vector>

#include <cuda_runtime.h>

namespace lanescope {

// A device buffer of so many bytes for the records of blocks first … last of the grid, and of the other blocks of
// their clusters; null where there is no memory.
inline void* create(unsigned long long bytes, unsigned first = 0, unsigned last = 0) {
  Header head;
  std::memset(&head, 0, sizeof head);
  head.magic = $magic;
  head.version = $version;
  head.header_bytes = $header_bytes;
  head.capacity = bytes / 16 * 16;
  head.used = $header_bytes;
  head.block_first = first;
  head.block_last = last;
  void* buffer = nullptr;
  if (head.capacity < $header_bytes + $record_bytes) return nullptr;
  if (cudaMalloc(&buffer, head.capacity) != cudaSuccess) return nullptr;
  if (cudaMemset(buffer, 0, head.capacity) != cudaSuccess
      || cudaMemcpy(buffer, &head, sizeof head, cudaMemcpyHostToDevice) != cudaSuccess) {
    cudaFree(buffer);
    return nullptr;
  }
  return buffer;
}

// Waits for the device and copies what was recorded; empty after an error.
inline std::vector<unsigned char> fetch(const void* buffer) {
  std::vector<unsigned char> out;
  Header head;
  if (!buffer || cudaDeviceSynchronize() != cudaSuccess
      || cudaMemcpy(&head, buffer, sizeof head, cudaMemcpyDeviceToHost) != cudaSuccess) return out;
  out.resize(head.used < head.capacity ? head.used : head.capacity);
  if (cudaMemcpy(out.data(), buffer, out.size(), cudaMemcpyDeviceToHost) != cudaSuccess) out.clear();
  return out;
}

// The same, to a file; false after an error.
inline bool save(const void* buffer, const char* name) {
  const std::vector<unsigned char> bytes = fetch(buffer);
  std::FILE* const file = bytes.empty() ? nullptr : std::fopen(name, "wb");
  if (!file) return false;
  const bool whole = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  return std::fclose(file) == 0 && whole;
}

inline void destroy(void* buffer) { cudaFree(buffer); }

}  // namespace lanescope
#endif

#endif  // LANESCOPE_CUH
