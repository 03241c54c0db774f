// $title
$parts
__device__ inline void deliver(unsigned (&out)[$registers], $parameter) {
  $lane
  $body
}
