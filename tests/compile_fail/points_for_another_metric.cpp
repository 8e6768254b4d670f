// expect: a bandwidth rule that sees the points chooses an h for squared Euclidean distances
#include <repel/repel.hpp>

const double h = repel::bandwidth(repel::Laplace{repel::HeatBandwidth{}}, repel::normal(2, 5, 1));
