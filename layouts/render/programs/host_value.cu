template <class T>
static double value(T number) {
  return static_cast<double>(number);
}
