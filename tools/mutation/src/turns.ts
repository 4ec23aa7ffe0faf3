const TURN_MS = 20;
// A test may put others into their place.
const { setInterval, clearInterval } = globalThis;

/**
 * Waits for `work`, but no longer than for so many turns of the event loop, {@link TURN_MS} apart at the least. A clock would blame the
 * test where the machine is busy.
 * @returns how many there were
 * @throws Error after the last one
 */
export async function withinTurns(work: () => unknown, most: number): Promise<number> {
  let turns = 0;
  let timer: ReturnType<typeof setInterval> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setInterval(() => {
      if (++turns > most) reject(new Error('the test does not come to an end'));
    }, TURN_MS);
  });
  try {
    await Promise.race([work(), late]);
    return turns;
  } finally {
    clearInterval(timer);
  }
}
