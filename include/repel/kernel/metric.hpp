#pragma once

#include <repel/core/product.hpp>
#include <repel/core/types.hpp>
#include <repel/kernel/points.hpp>
#include <repel/kernel/triangle.hpp>

#include <algorithm>

// Distances between points, and sums of their gradients: all that a kernel φ(distance / h) needs to know about space.
//
// A metric is a sum over coordinates of term(x_k − y_k), whose derivative is slope_factor × direction(x_k − y_k).
// Distances are formed from the differences themselves, which no cancellation can spoil (there is never a d×n×n
// tensor).

namespace repel {

namespace detail {

/// sign(x), 0 for 0, which Eigen does not vectorise.
template <class Scalar>
struct Sign {
  Scalar operator()(const Scalar& x) const { return static_cast<Scalar>((x > 0) - (x < 0)); }
  template <class Packet>
  Packet packetOp(const Packet& x) const {
    namespace simd = Eigen::internal;
    const Packet one = simd::pset1<Packet>(Scalar(1)), zero = simd::pzero(x);
    return simd::psub(simd::pand(simd::pcmp_lt(zero, x), one), simd::pand(simd::pcmp_lt(x, zero), one));
  }
};

}  // namespace detail

}  // namespace repel

template <class Scalar>
struct Eigen::internal::functor_traits<repel::detail::Sign<Scalar>> {
  enum { Cost = 4 * NumTraits<Scalar>::AddCost, PacketAccess = packet_traits<Scalar>::HasCmp };
};

namespace repel {

/// ‖x − y‖²
struct SquaredEuclidean {
  static constexpr int slope_factor = 2;
  template <class Array>
  static auto term(const Array& difference) {
    return difference.square();
  }
  template <class Array>
  static const Array& direction(const Array& difference) {
    return difference;
  }
};

/// ‖x − y‖₁
struct Manhattan {
  static constexpr int slope_factor = 1;
  template <class Array>
  static auto term(const Array& difference) {
    return difference.abs();
  }
  template <class Array>
  static auto direction(const Array& difference) {
    return difference.unaryExpr(detail::Sign<typename Array::Scalar>{});
  }
};

namespace detail {

/// The distances of 3×3 points over `depth` coordinates, added to out: nine sums in registers, each coordinate loaded
/// once for three of them. A general matrix product is no faster, since it cannot use the symmetry.
template <class Metric, class Scalar>
void add_distances_3x3(const Scalar* x, const Scalar* y, Index stride, Index depth, Scalar* out, Index out_stride) {
  using C = Chunk<Scalar>;
  C sums[3][3];
#pragma GCC unroll 3
  for (int c = 0; c < 3; ++c)
#pragma GCC unroll 3
    for (int r = 0; r < 3; ++r) sums[c][r].setZero();
  for (Index k = 0; k < depth; k += kChunk<Scalar>) {
    C row[3];
#pragma GCC unroll 3
    for (int r = 0; r < 3; ++r) row[r] = Eigen::Map<const C>(x + r * stride + k);
#pragma GCC unroll 3
    for (int c = 0; c < 3; ++c) {
      const C column = Eigen::Map<const C>(y + c * stride + k);
#pragma GCC unroll 3
      for (int r = 0; r < 3; ++r) sums[c][r] += Metric::term(row[r] - column);
    }
  }
#pragma GCC unroll 3
  for (int c = 0; c < 3; ++c)
#pragma GCC unroll 3
    for (int r = 0; r < 3; ++r) out[r + c * out_stride] += sums[c][r].sum();
}

/// Points in many dimensions are compared by blocks of this many, which fit the caches; in one where they are few.
inline Index distance_block(Index count) { return count <= 72 ? whole(count, 3) : 48; }

/// out(a, b) += distance of x_{i+a} and y_{j+b} over the coordinates first … first + depth. Of the diagonal block
/// (i = j of the same points) the lower half is enough. out is block×block, and block is a multiple of 3.
template <class Metric, class Scalar>
void add_distances(const Points<Scalar>& x, Index i, Index rows, const Points<Scalar>& y, Index j, Index columns,
                   Index first, Index depth, bool diagonal, Index block, Scalar* out) {
  constexpr Index slice =
      2048 / static_cast<Index>(sizeof(Scalar));  // three points of this length stay in the nearest cache
  const Index stride = x.columns.rows(), end = std::min(first + depth, stride);
  for (Index k = first; k < end; k += slice)
    for (Index b = 0; b < columns; b += 3)
      for (Index a = diagonal ? b : 0; a < rows; a += 3)
        add_distances_3x3<Metric>(&x.columns(k, i + a), &y.columns(k, j + b), stride, std::min(slice, end - k),
                                  out + a + b * block, block);
}

/// out(i, j) = distance(x_i, y_j). Where x and y are the same object only the lower triangle and a zero diagonal are
/// promised.
template <class Metric, class Scalar>
void distances(const Points<Scalar>& x, const Points<Scalar>& y, Matrix<Scalar>& parts, Matrix<Scalar>& out) {
  const bool self = &x == &y;
  out.resize(x.count, y.count);
  if (x.few()) {
    parallel_tiles(y.count, kTile, static_cast<double>(x.count * x.dim), [&](Index first, Index width) {
      for (Index j = first; j < first + width; ++j) {
        const Index top = self ? j : 0, rows = x.count - top;
        auto column = out.col(j).tail(rows).array();
        column = Metric::term(x.coordinates.col(0).segment(top, rows).array() - y.coordinates(j, 0));
        for (Index k = 1; k < x.dim; ++k)
          column += Metric::term(x.coordinates.col(k).segment(top, rows).array() - y.coordinates(j, k));
      }
    });
    return;
  }
  // Few but long points are also cut along their length, and the parts added up in order.
  const Index B = distance_block(std::max(x.count, y.count));
  const Index high = (x.count + B - 1) / B, wide = (y.count + B - 1) / B, blocks = high * wide;
  const Index length = x.columns.rows(), cuts = std::clamp<Index>(std::min(16 / blocks, length / 256), 1, 8);
  const Index depth = whole((length + cuts - 1) / cuts, kChunk<Scalar>);
  parts.resize(B * B, cuts * (cuts > 1 ? blocks : thread_slots()));
  const auto finish = [&](Index block, const Scalar* sums) {
    const Index i = block % high * B, j = block / high * B, rows = std::min(B, x.count - i);
    for (Index b = 0; b < std::min(B, y.count - j); ++b) {
      const Index top = self && i == j ? b : 0;
      std::copy(sums + b * B + top, sums + b * B + rows, &out(i + top, j + b));
    }
  };
  parallel_for(blocks * cuts, static_cast<double>(B * B * depth), [&](Index piece, Index slot) {
    const Index block = piece / cuts, cut = piece % cuts, i = block % high * B, j = block / high * B;
    if (self && i < j) return;
    Scalar* const sums = parts.col(cuts > 1 ? piece : slot).data();
    std::fill(sums, sums + B * B, Scalar(0));
    add_distances<Metric>(x, i, std::min(B, x.count - i), y, j, std::min(B, y.count - j), cut * depth, depth,
                          self && i == j, B, sums);
    if (cuts == 1) finish(block, sums);
  });
  if (cuts > 1)
    for (Index block = 0; block < blocks; ++block) {
      auto sums = parts.col(block * cuts);
      for (Index cut = 1; cut < cuts; ++cut) sums += parts.col(block * cuts + cut);
      finish(block, sums.data());
    }
}

/// acc + a sign(y − x)
template <class Packet>
Packet add_signed(const Packet& acc, const Packet& a, const Packet& x, const Packet& y) {
  namespace simd = Eigen::internal;
  return simd::psub(simd::padd(acc, simd::pand(simd::pcmp_lt(x, y), a)), simd::pand(simd::pcmp_lt(y, x), a));
}

/// The rest of pull() for points in many dimensions.
template <class Scalar, class Factor, class Out>
void pull_many(SquaredEuclidean, const Points<Scalar>& x, const Points<Scalar>& y, const Matrix<Scalar>& a,
               const Factor& c, Matrix<Scalar>& room, Out& out) {
  room.resize(y.count, 1);
  parallel_tiles(y.count, 16, static_cast<double>(x.count), [&](Index first, Index width) {
    for (Index j = first; j < first + width; ++j) room(j, 0) = a.col(j).sum();
  });
  parallel_blocks(x.dim, y.count, static_cast<double>(x.count), [&](Index r, Index rows, Index first, Index columns) {
    auto block = out.block(r, first, rows, columns);
    block.noalias() = x.columns.block(r, 0, rows, x.count) * a.middleCols(first, columns);
    for (Index j = 0; j < columns; ++j)
      block.col(j) =
          (2 * c(first + j)) * (room(first + j, 0) * y.columns.col(first + j).segment(r, rows) - block.col(j));
  });
}

/// The gradient of the L1 distance is a sign, which no matrix product gives.
template <class Scalar, class Factor, class Out>
void pull_many(Manhattan, const Points<Scalar>& x, const Points<Scalar>& y, const Matrix<Scalar>& a, const Factor& c,
               Matrix<Scalar>& room, Out& out) {
  namespace simd = Eigen::internal;
  using Packet = typename simd::packet_traits<Scalar>::type;
  constexpr Index P = kChunk<Scalar>, panel = 4 * P;
  const Index stride = x.columns.rows(), panels = (stride + panel - 1) / panel;
  room.resize(panel * x.count, thread_slots());
  parallel_for(panels, static_cast<double>(panel * y.count * x.count), [&](Index piece, Index slot) {
    // Four registers of coordinates of all x, side by side: in place they would be far apart.
    const Index k = piece * panel, rows = std::min(panel, stride - k);
    Scalar* const packed = room.col(slot).data();
    std::fill(packed, packed + panel * x.count, Scalar(0));
    for (Index i = 0; i < x.count; ++i) std::copy_n(&x.columns(k, i), rows, packed + i * panel);
    for (Index j = 0; j < y.count; ++j) {
      alignas(64) Scalar at[panel] = {}, sums[panel] = {};
      std::copy_n(&y.columns(k, j), rows, at);
      const Packet y0 = simd::pload<Packet>(at), y1 = simd::pload<Packet>(at + P), y2 = simd::pload<Packet>(at + 2 * P),
                   y3 = simd::pload<Packet>(at + 3 * P);
      Packet s0 = simd::pset1<Packet>(Scalar(0)), s1 = s0, s2 = s0, s3 = s0;
      const Scalar* source = packed;
      for (Index i = 0; i < x.count; ++i, source += panel) {
        const Packet weight = simd::pset1<Packet>(a(i, j));
        s0 = add_signed(s0, weight, simd::ploadu<Packet>(source), y0);
        s1 = add_signed(s1, weight, simd::ploadu<Packet>(source + P), y1);
        s2 = add_signed(s2, weight, simd::ploadu<Packet>(source + 2 * P), y2);
        s3 = add_signed(s3, weight, simd::ploadu<Packet>(source + 3 * P), y3);
      }
      simd::pstore(sums, s0), simd::pstore(sums + P, s1), simd::pstore(sums + 2 * P, s2),
          simd::pstore(sums + 3 * P, s3);
      for (Index r = 0; r < std::min(panel, x.dim - k); ++r) out(k + r, j) = c(j) * sums[r];
    }
  });
}

/// Column j of out = c(j) Σ_i a(i, j) ∇_{y_j} distance(x_i, y_j). `room` is scratch.
template <class Metric, class Scalar, class Factor, class Out>
void pull(const Points<Scalar>& x, const Points<Scalar>& y, const Matrix<Scalar>& a, const Factor& c,
          Matrix<Scalar>& room, Out& out) {
  if (!x.few()) return pull_many(Metric{}, x, y, a, c, room, out);
  parallel_tiles(y.count, kTile, static_cast<double>(x.count * x.dim), [&](Index first, Index width) {
    for (Index j = first; j < first + width; ++j)
      for (Index k = 0; k < x.dim; ++k) {
        const auto difference = y.coordinates(j, k) - x.coordinates.col(k).head(x.count).array();
        out(k, j) =
            c(j) * static_cast<Scalar>(Metric::slope_factor) * (a.col(j).array() * Metric::direction(difference)).sum();
      }
  });
}

}  // namespace detail

}  // namespace repel
