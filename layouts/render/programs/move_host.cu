#define CHECK(call) check(call, #call, __LINE__)
static void check(cudaError_t status, const char* call, int line) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "line %d: %s: %s\n", line, call, cudaGetErrorString(status));
  std::exit(2);
}

// $numbered
static unsigned number(unsigned i) {
  $number
}

int main() {
  std::vector<unsigned> memory($words), fragment($fragment_words);
  $fill

  unsigned *device_memory = nullptr, *device_fragment = nullptr;
  CHECK(cudaMalloc(&device_memory, memory.size() * sizeof(unsigned)));
  CHECK(cudaMalloc(&device_fragment, fragment.size() * sizeof(unsigned)));
  CHECK(cudaMemcpy(device_$source, $source.data(), $source.size() * sizeof(unsigned), cudaMemcpyHostToDevice));
  $kernel<<<1, 32, $shared_bytes>>>(device_$source, device_$target);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy($target.data(), device_$target, $target.size() * sizeof(unsigned), cudaMemcpyDeviceToHost));
  CHECK(cudaFree(device_memory));
  CHECK(cudaFree(device_fragment));

  int wrong = 0;
  for (unsigned lane = 0; lane < 32; ++lane) {
    std::printf("lane %2u:", lane);
    for (unsigned i = 0; i < $values; ++i) {
      $places
      const unsigned element = $element;  // where the map puts value i
      const unsigned expected = number($expected), got = $got;
      std::printf($format, $shown_got);
      if (got != expected) {
        ++wrong;
        std::printf(" (expected$format_expected)", $shown_expected);
      }
    }
    std::printf("\n");
  }
  std::printf("%s: %d of %d values differ from the map\n", wrong ? "FAILED" : "OK", wrong, 32 * $values);
  return wrong != 0;
}
