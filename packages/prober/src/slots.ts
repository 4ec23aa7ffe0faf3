/**
 * Slot widths in ms, widest first. Each width is a multiple of the next, so that slots of different widths start at
 * common instants.
 */
const WIDTHS_MS = [500, 100, 50, 10, 5];
/** Maximum number of probes per slot. */
const MAX_PROBES_PER_SLOT = 25;
/** Minimum number of slots per period. */
const MIN_SLOTS = 10;

/**
 * Returns the width of the slots at whose start probes of a period are due, in ms; 0 if each probe has its own instant.
 * Probes at the same instant share the cost of waking the process, which is higher than the cost of a probe. Too many
 * probes at the same instant would delay everything else.
 * @param perSecond total number of probe attempts per second
 */
export function slotMs(periodMs: number, perSecond: number): number {
  const fits = (width: number): boolean =>
    width * MIN_SLOTS <= periodMs && (width / 1000) * perSecond <= MAX_PROBES_PER_SLOT;
  return WIDTHS_MS.find(fits) ?? 0;
}

/** Returns the start of the slot that contains an instant; the instant itself if the width is 0. */
export function slotOf(atMs: number, widthMs: number): number {
  return widthMs === 0 ? atMs : Math.floor(atMs / widthMs) * widthMs;
}
