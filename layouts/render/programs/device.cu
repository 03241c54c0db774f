// One $scope. $room
${linkage}__global__ void __launch_bounds__($threads) $kernel($parameters) {
  $body
}
