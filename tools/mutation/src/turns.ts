const TURN_MS = 20;
// The original functions are kept, because tests may replace these globals.
const { setInterval, clearInterval } = globalThis;

/**
 * Waits for `work` for a limited number of event loop turns, which are at least {@link TURN_MS} apart. A time limit
 * would fail tests on a busy machine.
 * @returns the number of turns
 * @throws Error after the last turn
 */
export async function withinTurns(work: () => unknown, most: number): Promise<number> {
  let turns = 0;
  let timer: ReturnType<typeof setInterval> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setInterval(() => {
      if (++turns > most) reject(new Error('the test exceeds the limit of event loop turns'));
    }, TURN_MS);
  });
  try {
    await Promise.race([work(), late]);
    return turns;
  } finally {
    clearInterval(timer);
  }
}
