/** A terminal, npm and a service manager may all pass the same signal on: what comes within this time is one. */
const SAME_MS = 500;

/** The first SIGINT, SIGTERM or SIGHUP aborts `ending`, the second `hurry`. */
export function endingSignals(): { readonly ending: AbortSignal; readonly hurry: AbortSignal } {
  const ending = new AbortController();
  const hurry = new AbortController();
  let firstAt: number | undefined;
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(name, () => {
      const now = performance.now();
      firstAt ??= now;
      if (now - firstAt < SAME_MS) ending.abort();
      else hurry.abort();
    });
  }
  return { ending: ending.signal, hurry: hurry.signal };
}
