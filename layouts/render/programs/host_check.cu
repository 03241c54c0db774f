double sum = $first;
for (int k = 0; k < K; ++k) sum $sign= $term;
const double got = value(D[$at]);
if (got != sum && wrong++ < 10) std::printf("$place = %g, expected %g\n", $indices, got, sum);
