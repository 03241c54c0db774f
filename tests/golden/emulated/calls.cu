// Recursion, a table of functions, a switch, printf, assert, structs by value, and variables that hold addresses.
#include <cassert>
#include <cstdio>
struct Shape { int kind; short sides[3]; double size; };
__device__ int numbers[4] = {10, 20, 30, 40};
__device__ int *places[2] = {numbers + 1, numbers + 3};
__constant__ Shape shapes[2] = {{1, {3, 4, 5}, 0.5}, {2, {6, 8, 10}, 0.25}};
__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
__device__ __noinline__ int twice(int x) { return 2 * x; }
__device__ __noinline__ int square(int x) { return x * x; }
__device__ __noinline__ Shape grow(Shape shape, int by) {
    for (int i = 0; i < 3; ++i) shape.sides[i] += by;
    shape.size *= by;
    return shape;
}
typedef int (*Function)(int);
__device__ Function functions[2] = {twice, square};
extern "C" __global__ void calls(int *out, double *sizes, Shape given, int bound) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int result = fibonacci(t % 9);
    result += functions[t & 1](t);
    switch (t % 7) {
    case 0: result += 5; break;
    case 1: result ^= 0x55; break;
    case 2: result *= 3; break;
    case 3: result -= 1000; break;
    case 4: result <<= 2; break;
    case 5: result = -result; break;
    default: result += *places[t & 1];
    }
    Shape shape = grow(t & 2 ? shapes[t & 1] : given, t % 5);
    result += shape.sides[t % 3] + shape.kind;
    assert(result != 123456789);
    if (t == 3) printf("thread %d: %d %f\n", t, result, shape.size);
    if (t < bound) {
        out[t] = result;
        sizes[t] = shape.size;
    }
}
