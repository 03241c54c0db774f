$tables

#define CHECK(call) check(call, #call, __LINE__)
static void check(cudaError_t status, const char* call, int line) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "line %d: %s: %s\n", line, call, cudaGetErrorString(status));
  std::exit(2);
}

template <class T>
static T* to_device(const std::vector<T>& host) {
  T* device = nullptr;
  CHECK(cudaMalloc(&device, host.size() * sizeof(T)));
  CHECK(cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
  return device;
}

static unsigned state = 20261121u;
static int pick(int low, int high) {  // random, the same in every run
  state = state * 1664525u + 1013904223u;
  return low + static_cast<int>((state >> 16) % static_cast<unsigned>(high - low + 1));
}

$value

int main() {
  const int M = $m, N = $n, K = $k$products;
  // Small whole numbers: every product and every sum is exact, so the check is for equality.
  std::vector<int> a($a_size), b($b_size), c($c_size);
  $pick_a
  for (int& x : b) x = pick($b_span);
  $pick_c

  $buffers
  $accumulators
  $scales

  std::vector<$d_kind> D($d_size);
  $copies
  $allow_shared
  $kernel<<<1, $threads, $shared_bytes>>>($arguments);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(D.data(), device_D, D.size() * sizeof(D[0]), cudaMemcpyDeviceToHost));
  $frees

  int wrong = 0;
  $check
  std::printf("%s: %d of %d elements of D differ\n", wrong ? "FAILED" : "OK", wrong, $c_size);
  return wrong != 0;
}
