/** Widths of slots, in ms, the widest first; each is a multiple of the next, so that the instants of one are instants of the others. */
const WIDTHS_MS = [500, 100, 50, 10, 5];
/** So many probes may come together. */
const CROWD = 25;
/** A slot is at most this part of a period. */
const PARTS = 10;

/**
 * How wide the slots are at whose beginnings probes of a period come, in ms; 0 where each comes at an instant of its own. Probes that come together
 * share the waking of the process, which costs more than a probe does; too many of them would hold up everything else.
 * @param perSecond how many probes there are in all
 */
export function slotMs(periodMs: number, perSecond: number): number {
  const fits = (width: number): boolean => width * PARTS <= periodMs && (width / 1000) * perSecond <= CROWD;
  return WIDTHS_MS.find(fits) ?? 0;
}

/** The beginning of the slot that an instant is in; the instant itself where there are none. */
export function slotOf(atMs: number, widthMs: number): number {
  return widthMs === 0 ? atMs : Math.floor(atMs / widthMs) * widthMs;
}
