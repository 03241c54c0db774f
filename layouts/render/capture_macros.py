"""The head of lanescope.cuh: how it is used, and its macros. layouts/render/capture_header.py fills it in."""

TEXT = r"""// lanescope.cuh: record what a kernel's wgmma, ldmatrix and mma really read, and verify it outside:
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
                         @OPEN@, @OPEN@, @OPEN@}
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

"""
