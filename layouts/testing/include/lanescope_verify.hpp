// lanescope_verify.hpp: does a matrix descriptor of wgmma or tcgen05 read the tile as it is stored? C++17 answers while
// it compiles: g++, clang++, nvcc (host side). No includes. Lanescope, Apache-2.0.
//
//   #include "lanescope_verify.hpp"
//   constexpr lanescope::Tile A{lanescope::Swizzle::B128, lanescope::Major::K, 16, 128, 64, 0x400};
//   LANESCOPE_VERIFY(lanescope::verify(word, A, {64}));                         // one slice: 64 rows at (mn 0, k 0)
//   LANESCOPE_VERIFY(lanescope::verify_steps(A, 64, [](int k) { return make_descriptor(0x400 + 2 * k); }));
//
// A failed assertion says which field is wrong; Report<cause, K step, given, needed> beside it has the numbers: bytes,
// or the code of the swizzle mode. The base address is what the program gives the tile; any with its alignment will do.
#ifndef LANESCOPE_VERIFY_HPP
#define LANESCOPE_VERIFY_HPP

#ifdef __CUDACC__
#define LANESCOPE_FN __host__ __device__ constexpr
#else
#define LANESCOPE_FN constexpr
#endif

namespace lanescope {

using Word = unsigned long long;
using Bytes = long long;

enum class Format { wgmma, tcgen05 };
enum class Swizzle { none, B32, B64, B128, B128_base32 };  // the last: 128 bytes, 32-byte chunks (tcgen05)
enum class Major { K, MN };
enum class Order { usual, mn, k };           // which way the atoms are laid first; usual: mn if K-major, k if MN-major
enum class SwizzledBy { address, tile };     // the XOR is on the address, as TMA does it, or on the offset in the tile

struct Tile {
  Swizzle swizzle;
  Major major;
  int element_bits;
  int mn, k;  // elements
  Bytes base = 0;
  Order order = Order::usual;
  SwizzledBy swizzled_by = SwizzledBy::address;
  Format format = Format::wgmma;
};

// What one instruction reads: rows of M or N, from (mn, k) on; depth: its elements of K, 0 for 32 bytes.
struct Slice {
  int rows;
  int mn = 0, k = 0, depth = 0;
};

enum class Cause {
  none,
  tile,         // no such tile: sizes, alignment, or elements that no instruction reads so
  slice,        // it does not lie in the tile
  steps,        // the tile's K is not a multiple of the instruction's
  reserved,     // the code of the swizzle mode is reserved
  version,      // tcgen05's bits [48:46] are not 1
  lbo_mode,     // LBO is an absolute address
  unreadable,   // no descriptor reads this slice
  swizzle,
  base_offset,
  start,
  lbo,
  sbo
};

struct Result {
  Cause cause;
  int step;             // of K; 0 for a single slice
  Bytes given, needed;  // of the field that is wrong
  Word word, right;     // the descriptor, and one that reads the slice
  LANESCOPE_FN explicit operator bool() const { return cause == Cause::none; }
};

namespace detail {

struct Mode {
  int chunks, bits, low, shift, deep;  // width in 16 bytes; the XOR's bits, lowest bit and shift; K of an MN-major atom
};

LANESCOPE_FN Mode mode_of(Swizzle s) {
  return s == Swizzle::B128        ? Mode{8, 3, 4, 3, 8}
         : s == Swizzle::B64       ? Mode{4, 2, 4, 3, 8}
         : s == Swizzle::B32       ? Mode{2, 1, 4, 3, 8}
         : s == Swizzle::B128_base32 ? Mode{8, 2, 5, 2, 4}
                                   : Mode{1, 0, 4, 3, 8};
}

LANESCOPE_FN int code_of(Swizzle s, Format f) {
  if (f == Format::wgmma)
    return s == Swizzle::none ? 0 : s == Swizzle::B128 ? 1 : s == Swizzle::B64 ? 2 : s == Swizzle::B32 ? 3 : -1;
  return s == Swizzle::none ? 0 : s == Swizzle::B128_base32 ? 1 : s == Swizzle::B128 ? 2 : s == Swizzle::B64 ? 4 : 6;
}

LANESCOPE_FN bool has_code(int code, Format f) { return f == Format::wgmma || code < 3 || code == 4 || code == 6; }

LANESCOPE_FN Swizzle swizzle_of(int code, Format f) {
  const Swizzle all[] = {Swizzle::B32, Swizzle::B64, Swizzle::B128, Swizzle::B128_base32};
  for (Swizzle s : all)
    if (code_of(s, f) == code) return s;
  return Swizzle::none;
}

LANESCOPE_FN Bytes field(Word word, int low, int high) { return Bytes(word >> low & ((Word(1) << (high - low + 1)) - 1)); }

LANESCOPE_FN int mode_low(Format f) { return f == Format::wgmma ? 62 : 61; }

LANESCOPE_FN Bytes swizzled(Bytes at, const Mode& m, Bytes back = 0) {
  return at ^ ((((at >> (m.low + m.shift)) - back) & ((1 << m.bits) - 1)) << m.low);
}

struct Stored {  // a tile with what follows from it
  Tile tile;
  Mode mode;
  int per, atom_mn, atom_k;
  Bytes along_mn, along_k;

  LANESCOPE_FN Bytes before(int mn, int k) const {
    const bool by_k = tile.major == Major::K;
    const int in_mn = mn % atom_mn, in_k = k % atom_k;
    return mn / atom_mn * along_mn + k / atom_k * along_k + (by_k ? in_mn : in_k) * Bytes(16 * mode.chunks) +
           Bytes(by_k ? in_k : in_mn) * tile.element_bits / 8;
  }
  LANESCOPE_FN Bytes address(int mn, int k) const {
    return tile.swizzled_by == SwizzledBy::address ? swizzled(tile.base + before(mn, k), mode)
                                                   : tile.base + swizzled(before(mn, k), mode);
  }
};

LANESCOPE_FN Stored store(const Tile& t) {
  const Mode m = mode_of(t.swizzle);
  const int wide = 128 * m.chunks / t.element_bits, lines = t.major == Major::K ? 8 : m.deep;
  const int atom_mn = t.major == Major::K ? 8 : wide, atom_k = t.major == Major::K ? wide : m.deep;
  const Bytes size = Bytes(16) * m.chunks * lines;
  const bool mn_first = t.order == Order::mn || (t.order == Order::usual && t.major == Major::K);
  return Stored{t,
                m,
                128 / t.element_bits,
                atom_mn,
                atom_k,
                mn_first ? size : size * (t.k / atom_k),
                mn_first ? size * (t.mn / atom_mn) : size};
}

LANESCOPE_FN bool is_tile(const Tile& t) {
  const bool wgmma = t.format == Format::wgmma;
  const int b = t.element_bits;
  if (b != 8 && b != 16 && b != 32 && b != (wgmma ? 1 : 4)) return false;
  if (code_of(t.swizzle, t.format) < 0 || t.mn < 1 || t.k < 1) return false;
  if (t.major == Major::MN) {
    const bool base32 = t.swizzle == Swizzle::B128_base32;
    if (wgmma ? b != 16 : b == 32 ? !base32 : (b == 4 || base32)) return false;
  }
  const Stored s = store(t);
  if (t.mn % s.atom_mn || t.k % s.atom_k || t.base < 0 || t.base % 16) return false;
  const Bytes size = Bytes(t.mn) * t.k * b / 8;
  return size <= 227 * 1024 && t.base + size <= 1 << 18;
}

// The byte that a descriptor makes the hardware read for element (r, k): PTX ISA 9.1, 9.7.15.5.1.2 and 9.7.16.4.1.
LANESCOPE_FN Bytes read_address(Word word, const Stored& s, const Mode& m, int r, int k) {
  const Bytes start = 16 * field(word, 0, 13), lbo = 16 * field(word, 16, 29), sbo = 16 * field(word, 32, 45);
  Bytes at = start;
  if (s.tile.major == Major::K) {
    const int chunk = k / s.per;
    at += r / 8 * sbo + r % 8 * 16 * m.chunks + chunk / m.chunks * lbo + chunk % m.chunks * 16 +
          k % s.per * s.tile.element_bits / 8;
  } else {
    const int core = r / s.per;
    at += r % s.per * s.tile.element_bits / 8;
    at += m.chunks == 1 ? core * sbo + k / 8 * lbo + k % 8 * 16
                        : core / m.chunks * lbo + core % m.chunks * 16 + k / m.deep * sbo + k % m.deep * 16 * m.chunks;
  }
  return swizzled(at, m, field(word, 49, 51));
}

// Both maps keep 16 bytes together where the slice begins with them: the first element of each says it all.
LANESCOPE_FN bool reads(Word word, const Stored& s, const Slice& at) {
  const Mode m = mode_of(swizzle_of(int(field(word, mode_low(s.tile.format), 63)), s.tile.format));
  const bool by_k = s.tile.major == Major::K;
  const int down = by_k || at.mn % s.per ? 1 : s.per, across = by_k && at.k % s.per == 0 ? s.per : 1;
  for (int r = 0; r < at.rows; r += down)
    for (int k = 0; k < at.depth; k += across)
      if (read_address(word, s, m, r, k) != s.address(at.mn + r, at.k + k)) return false;
  return true;
}

LANESCOPE_FN Word pack(Format f, Bytes start, Bytes lbo, Bytes sbo, Bytes base_offset, int code) {
  return Word(start >> 4 & 0x3FFF) | Word(lbo >> 4 & 0x3FFF) << 16 | Word(sbo >> 4 & 0x3FFF) << 32 |
         Word(base_offset & 7) << 49 | Word(code) << mode_low(f) | (f == Format::tcgen05 ? Word(1) << 46 : 0);
}

LANESCOPE_FN Word right_word(const Stored& s, const Slice& at) {
  const bool plain = s.mode.chunks == 1, by_k = s.tile.major == Major::K;
  const Bytes lbo = plain ? s.along_k : !by_k ? s.along_mn : at.depth > s.atom_k ? s.along_k : 16;
  const Bytes sbo = plain || by_k ? s.along_mn : s.along_k;
  const Bytes past = s.tile.swizzled_by == SwizzledBy::tile && !plain ? s.tile.base % (128 * s.mode.chunks) : 0;
  return pack(s.tile.format, s.tile.base + s.before(at.mn, at.k), lbo, sbo, past / 128,
              code_of(s.tile.swizzle, s.tile.format));
}

LANESCOPE_FN Cause cause_of(Word word, Word right, const Stored& s, const Slice& at) {
  const int low = mode_low(s.tile.format);
  const bool plain = s.mode.chunks == 1, by_k = s.tile.major == Major::K;
  const bool reads_lbo = plain ? (by_k ? at.depth > s.per : at.depth > 8)
                               : (by_k ? at.depth > s.atom_k : at.rows > s.atom_mn);
  if (!reads(right, s, at)) return Cause::unreadable;
  if (field(word, low, 63) != field(right, low, 63)) return Cause::swizzle;
  if ((field(word, 49, 51) ^ field(right, 49, 51)) & ((1 << s.mode.bits) - 1)) return Cause::base_offset;
  if (field(word, 0, 13) != field(right, 0, 13)) return Cause::start;
  if (reads_lbo && field(word, 16, 29) != field(right, 16, 29)) return Cause::lbo;
  return Cause::sbo;
}

LANESCOPE_FN Bytes amount(Word word, Cause cause, Format f) {
  return cause == Cause::start         ? 16 * field(word, 0, 13)
         : cause == Cause::lbo         ? 16 * field(word, 16, 29)
         : cause == Cause::sbo         ? 16 * field(word, 32, 45)
         : cause == Cause::base_offset ? field(word, 49, 51)
         : cause == Cause::version     ? field(word, 46, 48)
                                       : field(word, mode_low(f), 63);
}

}  // namespace detail

// A word from its fields, in bytes. A mode that the format lacks is no constant expression: it divides by 0.
LANESCOPE_FN Word encode(Bytes start, Bytes lbo, Bytes sbo, Swizzle swizzle, Bytes base_offset = 0,
                      Format format = Format::wgmma) {
  const int code = detail::code_of(swizzle, format);
  return detail::pack(format, start, lbo, sbo, base_offset, code < 0 ? 1 / (code + 1) : code);
}

// Does a descriptor read a slice of a tile?
LANESCOPE_FN Result verify(Word word, const Tile& tile, Slice slice) {
  if (!detail::is_tile(tile)) return Result{Cause::tile, 0, 0, 0, word, 0};
  if (!slice.depth) slice.depth = 256 / tile.element_bits;
  const bool inside = slice.rows >= 1 && slice.rows % 8 == 0 && slice.depth >= 1 && slice.mn >= 0 && slice.k >= 0 &&
                      slice.mn + slice.rows <= tile.mn && slice.k + slice.depth <= tile.k;
  if (!inside) return Result{Cause::slice, 0, 0, 0, word, 0};
  const detail::Stored stored = detail::store(tile);
  const Word right = detail::right_word(stored, slice);
  Cause cause = Cause::none;
  if (!detail::has_code(int(detail::field(word, detail::mode_low(tile.format), 63)), tile.format))
    cause = Cause::reserved;
  else if (tile.format == Format::tcgen05 && word >> 52 & 1)
    cause = Cause::lbo_mode;
  else if (tile.format == Format::tcgen05 && detail::field(word, 46, 48) != 1)
    cause = Cause::version;
  else if (!detail::reads(word, stored, slice))
    cause = detail::cause_of(word, right, stored, slice);
  return Result{cause, 0, detail::amount(word, cause, tile.format), detail::amount(right, cause, tile.format), word, right};
}

// Do descriptors read every K step of a tile? words(k): the word of the step that begins at k.
#ifdef __CUDACC__
#pragma nv_exec_check_disable  // words may be a function of the host: it is called while the program is compiled
#endif
template <class Words>
LANESCOPE_FN Result verify_steps(const Tile& tile, int rows, Words words, int mn = 0, int depth = 0) {
  if (!detail::is_tile(tile)) return Result{Cause::tile, 0, 0, 0, 0, 0};
  const int step = depth ? depth : 256 / tile.element_bits;
  if (step < 1 || tile.k % step) return Result{Cause::steps, 0, tile.k, step, 0, 0};
  Result found{Cause::none, 0, 0, 0, 0, 0};
  for (int n = 0; n < tile.k / step && found; ++n) {
    found = verify(words(n * step), tile, Slice{rows, mn, n * step, step});
    found.step = n;
  }
  return found;
}

template <Cause cause, int step, Bytes given, Bytes needed>
struct Report {
  static_assert(cause != Cause::tile, "lanescope: no such tile: whole atoms, base on 16 bytes, a type that is read so");
  static_assert(cause != Cause::slice, "lanescope: the slice does not lie in the tile, or its rows are not eights");
  static_assert(cause != Cause::steps, "lanescope: the tile's K is not a multiple of the instruction's");
  static_assert(cause != Cause::reserved, "lanescope: the swizzle mode's code is reserved");
  static_assert(cause != Cause::version, "lanescope: bits [48:46] are not 1: this is no tcgen05 descriptor");
  static_assert(cause != Cause::lbo_mode, "lanescope: bit 52 makes LBO an absolute address");
  static_assert(cause != Cause::unreadable, "lanescope: no descriptor reads this slice as it is stored");
  static_assert(cause != Cause::swizzle, "lanescope: the swizzle mode is not the one the tile is stored with");
  static_assert(cause != Cause::base_offset, "lanescope: the base offset is not the tile's");
  static_assert(cause != Cause::start, "lanescope: the start address is not where this K step begins");
  static_assert(cause != Cause::lbo, "lanescope: LBO is not the tile's");
  static_assert(cause != Cause::sbo, "lanescope: SBO is not the tile's");
};

}  // namespace lanescope

#define LANESCOPE_JOIN_(a, b) a##b
#define LANESCOPE_VERIFY_(name, ...)                     \
  static constexpr ::lanescope::Result name = __VA_ARGS__; \
  static_assert(sizeof(::lanescope::Report<name.cause, name.step, name.given, name.needed>) > 0, "lanescope")
#define LANESCOPE_NAMED_(n, ...) LANESCOPE_VERIFY_(LANESCOPE_JOIN_(lanescope_result_, n), __VA_ARGS__)
#define LANESCOPE_VERIFY(...) LANESCOPE_NAMED_(__COUNTER__, __VA_ARGS__)

#endif
