// expect: repel::mpi::spread: a sampler made by weight_space() or function_space() is expected here
#include <repel/mpi.hpp>
#include <repel/repel.hpp>

using State = repel::State<Eigen::MatrixXd, repel::Empty>;
auto sampler = repel::mpi::spread(*static_cast<repel::AnySampler<State>*>(nullptr), MPI_COMM_WORLD);
