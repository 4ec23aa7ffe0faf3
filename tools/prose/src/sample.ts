/**
 * Draws `count` different elements of a list, in an order that depends on the seed alone.
 * @param seed any integer; the same seed and list give the same sample
 */
export function sampleOf<T>(list: readonly T[], count: number, seed: number): readonly T[] {
  const random = mulberry32(seed);
  const rest = [...list];
  const drawn: T[] = [];
  while (drawn.length < count && rest.length > 0) {
    const [one] = rest.splice(Math.floor(random() * rest.length), 1);
    if (one !== undefined) drawn.push(one);
  }
  return drawn;
}

/** Mulberry32: a small generator of numbers in [0, 1), good enough to draw a sample. */
function mulberry32(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
