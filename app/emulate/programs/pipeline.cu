// D = A · Bᵀ by one block: warp 4 loads tiles with TMA into a ring of two stages, warps 0–3 multiply them with wgmma.
// nvcc -ptx -arch=sm_90a -std=c++17 -lineinfo pipeline.cu
#include <cstdint>
#include <cuda.h>

constexpr int M = 64, N = 64, TILE_K = 64, STAGES = 2, BYTES = 2 * M * TILE_K;

__device__ uint32_t shared_address(const void* pointer) { return uint32_t(__cvta_generic_to_shared(pointer)); }

__device__ void wait(uint64_t* barrier, uint32_t parity) {
    uint32_t done = 0;
    while (!done)
        asm volatile(
            "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
            : "=r"(done) : "r"(shared_address(barrier)), "r"(parity) : "memory");
}

__device__ void load(void* tile, const CUtensorMap* map, int k, uint64_t* barrier) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
        ::"r"(shared_address(tile)), "l"(map), "r"(k), "r"(0), "r"(shared_address(barrier)) : "memory");
}

// K-major, 128B swizzle: 8 rows are 1024 bytes, 16 elements of K are 32 bytes.
__device__ uint64_t describe(const void* tile, int k) {
    return uint64_t((shared_address(tile) + 2 * k) >> 4 & 0x3FFF) | 1ull << 16 | 64ull << 32 | 1ull << 62;
}

__device__ void multiply(float (&d)[32], uint64_t a, uint64_t b) {
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, "
        "%13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, %32, %33, 1, "
        "1, 1, 0, 0;"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]),
          "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]),
          "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]),
          "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
        : "l"(a), "l"(b));
}

extern "C" __global__ void __launch_bounds__(160) pipeline(
    const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b, float* out, int tiles) {
    __shared__ alignas(1024) uint16_t a[STAGES][M * TILE_K], b[STAGES][N * TILE_K];
    __shared__ alignas(8) uint64_t full[STAGES], empty[STAGES];
    int thread = threadIdx.x, warp = thread / 32;
    if (thread == 0) {
        for (int stage = 0; stage < STAGES; ++stage) {
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&full[stage])));
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 128;" ::"r"(shared_address(&empty[stage])));
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    if (warp == 4) {  // the producer
        if (thread % 32 == 0)
#pragma unroll 1
            for (int tile = 0; tile < tiles; ++tile) {
                int stage = tile % STAGES, round = tile / STAGES;
                wait(&empty[stage], round & 1 ^ 1 /* producer parity */);
                asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                             ::"r"(shared_address(&full[stage])), "n"(2 * BYTES) : "memory");
                load(a[stage], &map_a, tile * TILE_K, &full[stage]);
                load(b[stage], &map_b, tile * TILE_K, &full[stage]);
            }
        return;
    }
    float d[32] = {};
#pragma unroll 1
    for (int tile = 0; tile < tiles; ++tile) {  // the consumers
        int stage = tile % STAGES, round = tile / STAGES;
        wait(&full[stage], round & 1);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
        for (int k = 0; k < TILE_K; k += 16) multiply(d, describe(a[stage], k), describe(b[stage], k));
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
        asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(&empty[stage])) : "memory");
    }
    int row = warp * 16 + thread % 32 / 4, column = thread % 4 * 2;
    for (int i = 0; i < 32; ++i) out[(row + i / 2 % 2 * 8) * N + column + i / 4 * 8 + i % 2] = d[i];
}
