static double value(unsigned short half) {
  const int exponent = half >> 10 & 31, fraction = half & 1023;
  const double size = exponent ? std::ldexp(1024 + fraction, exponent - 25) : std::ldexp(fraction, -24);
  return half & 0x8000 ? -size : size;
}
