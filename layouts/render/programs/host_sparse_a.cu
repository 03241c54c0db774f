// A keeps $kept of every $group columns: stored has them, place says which position of the group each had.
const int KS = $stored_k;
std::vector<int> stored(M * KS), place(M * KS);
for (int m = 0; m < M; ++m)
  for (int g = 0; g < K / $group; ++g) {
    $picks
    for (int x = 0; x < $kept; ++x) {
      const int at = m * KS + g * $kept + x;
      place[at] = $chosen;
      stored[at] = pick($span);
      a[m * K + g * $group + place[at]$scaled$inside] = stored[at];
    }
  }
// Metadata: the thread that names an element's position, and the bits of its e that do$selector.
std::vector<unsigned> E($steps * $threads);
for (int step = 0; step < $steps; ++step)
  for (int thread = 0; thread < $threads; ++thread)
    for (int i = 0; i < $values; ++i) {
      $words
      const int row = $row, col = $col;
      const unsigned position = static_cast<unsigned>(place[row * KS + step * $step_columns + col]);
      E[step * $threads + $source] |= $code << ($bit);
    }
