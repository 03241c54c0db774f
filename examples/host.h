// Host side of the examples: two matrices whose elements tell who they are, one launch, one capture file.
#pragma once
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <string>
#include <vector>

enum class Type { f16, bf16, e4m3 };

// A matrix in device memory, row by row, filled by lanescope::code. k_first: stored (k, n) instead of (n, k).
struct Matrix {
  int rows, columns;
  Type type;
  char operand;
  bool k_first;
  unsigned char* device = nullptr;

  Matrix(int rows, int columns, Type type, char operand, bool k_first = false)
      : rows(rows), columns(columns), type(type), operand(operand), k_first(k_first) {
    cudaMalloc(&device, size_t(rows) * columns * bytes());
    fill(1);
  }

  int bytes() const { return type == Type::e4m3 ? 1 : 2; }

  // pass: 8-bit types are filled twice, 1 and 2; others have one fill.
  void fill(int pass) {
    std::vector<unsigned char> host(size_t(rows) * columns * bytes());
    for (int row = 0; row < rows; ++row)
      for (int column = 0; column < columns; ++column) {
        const unsigned mn = k_first ? column : row, k = k_first ? row : column;
        const unsigned code = type == Type::e4m3 ? lanescope::code_8(mn, k, operand, pass)
            : type == Type::f16 ? lanescope::code_f16(mn, k, operand) : lanescope::code_bf16(mn, k, operand);
        for (int byte = 0; byte < bytes(); ++byte)
          host[(size_t(row) * columns + column) * bytes() + byte] = (unsigned char)(code >> 8 * byte);
      }
    cudaMemcpy(device, host.data(), host.size(), cudaMemcpyHostToDevice);
  }

  // A tensor map in device memory: boxes of `inner` elements of a row times `outer` rows.
  const void* map(unsigned inner, unsigned outer, CUtensorMapSwizzle swizzle) const {
    void* encode = nullptr;
    cudaDriverEntryPointQueryResult found;
    cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &encode, 12000, cudaEnableDefault, &found);
    if (!encode) return nullptr;
    alignas(64) CUtensorMap made;
    const cuuint64_t sizes[] = {cuuint64_t(columns), cuuint64_t(rows)}, strides[] = {cuuint64_t(columns) * bytes()};
    const cuuint32_t box[] = {inner, outer}, steps[] = {1, 1};
    const CUtensorMapDataType kind = type == Type::e4m3 ? CU_TENSOR_MAP_DATA_TYPE_UINT8
        : type == Type::f16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16 : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    if (reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(encode)(
            &made, kind, 2, device, sizes, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
            CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) != CUDA_SUCCESS) return nullptr;
    void* held = nullptr;
    cudaMalloc(&held, sizeof made);
    cudaMemcpy(held, &made, sizeof made, cudaMemcpyHostToDevice);
    return held;
  }
};

using Kernel = void(float*, const void*, const void*, void*);

// One block; a and b are what the kernel takes, tensor maps or matrices. Writes NAME.lscap (8-bit types: NAME.1.lscap
// and NAME.2.lscap); NAME is the program's first argument.
inline int run(int count, char** arguments, Kernel* kernel, unsigned shared, unsigned threads, unsigned outputs,
               Matrix& a, Matrix& b, const void* given_a, const void* given_b) {
  float* out = nullptr;
  cudaMalloc(&out, outputs * sizeof(float));
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(shared));
  const std::string name = count > 1 ? arguments[1] : "capture";
  const int passes = a.bytes() == 1 ? 2 : 1;
  for (int pass = 1; pass <= passes; ++pass) {
    a.fill(pass);
    b.fill(pass);
    void* const buffer = lanescope::create(16 << 20);
    kernel<<<1, threads, shared>>>(out, given_a, given_b, buffer);
    const std::string file = name + (passes == 2 ? "." + std::to_string(pass) : "") + ".lscap";
    const bool saved = lanescope::save(buffer, file.c_str());
    lanescope::destroy(buffer);
    std::printf("%s: %s\n", file.c_str(), saved ? "written" : cudaGetErrorString(cudaGetLastError()));
    if (!saved) return 1;
  }
  return 0;
}
