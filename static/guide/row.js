// Addresses of the page "128 bytes", without a page: where eight rows of 128 bytes are stored, what the first K step of
// a wgmma reads, and the banks of a column of chunks. The formulas are those of the server's descriptor model; a test
// compares both over many states.

export const ROWS = 8;
export const CHUNKS = 8;
export const STEP_CHUNKS = 2;
const LBO = 128; // of mode none: core matrices side by side
const WIDTH = { none: 1, "32B": 2, "64B": 4, "128B": 8 }; // of an atom, in chunks of 16 bytes

/** The XOR of a swizzle mode on a byte address: bits from 7 up into bits from 4 up. */
export const swizzle = (address, mode) => address ^ (((address >> 7) & (WIDTH[mode] - 1)) << 4);

/** Where a chunk of a row is stored. */
export function stored(state, row, chunk) {
  const offset = row * state.pitch + 16 * chunk;
  return state.by === "address"
    ? swizzle(state.start + offset, state.swizzle)
    : state.start + swizzle(offset, state.swizzle);
}

/** Where the first K step of a wgmma reads a chunk: K-major, base offset 0, rows one atom's width apart. */
export function read(state, row, chunk) {
  const step = state.swizzle === "none" ? LBO : 16;
  return swizzle(state.start + row * 16 * WIDTH[state.swizzle] + chunk * step, state.swizzle);
}

/** How many rows of one column of chunks lie in each group of four banks. */
export function groups(state) {
  const counts = new Array(CHUNKS).fill(0);
  for (let row = 0; row < ROWS; ++row) ++counts[(stored(state, row, state.chunk) >> 4) & 7];
  return counts;
}

/** The chosen chunk's address before and after the XOR, in words. */
export function describeXor(state) {
  const hex = (address) => `0x${address.toString(16).padStart(3, "0")}`;
  const offset = state.row * state.pitch + 16 * state.chunk, before = state.start + offset;
  const head = `row ${state.row}, chunk ${state.chunk}: ${hex(before)}`;
  const mask = WIDTH[state.swizzle] - 1;
  if (!mask) return `${head}, no XOR`;
  const source = state.by === "address" ? before : offset;
  const count = Math.log2(mask + 1), digits = ((source >> 7) & mask).toString(2).padStart(count, "0");
  const bits = (low) => (count === 1 ? `bit ${low}` : `bits ${low}–${low + count - 1}`);
  const part = state.by === "address" ? "" : " of the offset in the tile";
  return `${head}, ${bits(4)} XOR ${digits} (${bits(7)}${part}): ${hex(stored(state, state.row, state.chunk))}`;
}

/** The verdict on the first K step, in words. */
export function describeRead(state) {
  let wrong = 0;
  for (let row = 0; row < ROWS; ++row)
    for (let chunk = 0; chunk < STEP_CHUNKS; ++chunk)
      wrong += stored(state, row, chunk) !== read(state, row, chunk);
  return wrong
    ? `The wgmma reads ${wrong} of the 16 chunks of its first K step from the wrong place.`
    : "The wgmma reads all 16 chunks of its first K step where they are stored.";
}

/** What loading one column of chunks costs, in words. */
export function describeBanks(state) {
  const many = Math.max(...groups(state));
  return `banks of chunk ${state.chunk} in 8 rows: ${many} wavefront${many > 1 ? "s" : ""}`;
}
