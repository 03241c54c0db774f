$template
__device__ inline void $name($parameters) {
  asm volatile("$assembly\n"
      : $outputs
      : $inputs$clobber);
}
