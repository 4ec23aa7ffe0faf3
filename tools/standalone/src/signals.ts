/** A terminal, npm and a service manager may all pass the same signal on: signals within this time count as one. */
const SAME_MS = 500;
/** How often this process looks whether its parent is still there. */
const PARENT_PERIOD_MS = 500;

/** The ends that a process is asked for. */
export interface EndingSignals {
  /** Aborted by the first signal, when a reader of the output has gone, when the parent has gone, and after an uncaught error. */
  readonly ending: AbortSignal;
  /** Aborted by the second signal. */
  readonly hurry: AbortSignal;
  /** Whether an uncaught error ends the process. */
  hasFailed(): boolean;
}

/**
 * Listens to every way in which a process is ended but SIGKILL, so that none of them leaves a node running: SIGINT, SIGTERM, SIGHUP (the
 * terminal closes), SIGQUIT (Ctrl-\\), a standard output or error that nobody reads any longer (`| head`, or a `tee` that Ctrl-C has ended),
 * a parent that has gone, and an uncaught error.
 */
export function endingSignals(): EndingSignals {
  const ending = new AbortController();
  const hurry = new AbortController();
  let firstAt: number | undefined;
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const) {
    process.on(name, () => {
      const now = performance.now();
      firstAt ??= now;
      if (now - firstAt < SAME_MS) ending.abort();
      else hurry.abort();
    });
  }
  // Without a listener the first line after that would end the process: EPIPE of a pipe, EIO of a terminal.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => ending.abort());
  let failed = false;
  process.on('uncaughtException', (error) => {
    failed = true;
    process.stderr.write(`npm start: ${error.stack ?? error.message}\n`);
    ending.abort();
  });
  const parent = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(watch);
    ending.abort();
  }, PARENT_PERIOD_MS);
  watch.unref();
  return { ending: ending.signal, hurry: hurry.signal, hasFailed: () => failed };
}
