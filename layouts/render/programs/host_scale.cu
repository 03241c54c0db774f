// One factor for each $line and $elements of K.
std::vector<int> s$letter($size);
std::vector<unsigned char> S$upper($size);
for (int at = 0; at < $size; ++at) S$upper[at] = S_BITS[s$letter[at] = pick(0, 2)];
