/**
 * Signals within this time count as one, because a terminal, npm and a service manager may all pass on the same signal.
 */
const SAME_MS = 500;
/** Interval at which the process checks whether its parent still runs. */
const PARENT_PERIOD_MS = 500;

/** Requests to end the process. */
export interface EndingSignals {
  /**
   * Aborted when the process must end: by the first signal, when the reader of the output has closed it, when the
   * parent process has exited, and after an uncaught error.
   */
  readonly ending: AbortSignal;
  /** Aborted by the second signal, when the process must end without waiting for grace periods. */
  readonly hurry: AbortSignal;
  /** Whether an uncaught error ended the process. */
  hasFailed(): boolean;
}

/** Options of {@link endingSignals}. */
export interface EndingOptions {
  /** Command that the user typed, for the message of an uncaught error. Default: `npm start`. */
  readonly name?: string;
  /** Whether the exit of the parent process ends this process, too. Default: true. */
  readonly watchesParent?: boolean;
}

/**
 * Listens for every way in which the process can end except SIGKILL, so that none leaves a node running: SIGINT,
 * SIGTERM, SIGHUP (the terminal closes), SIGQUIT (Ctrl-\\), a closed standard output or standard error (`| head`, or a
 * `tee` that Ctrl-C has stopped), the exit of the parent process, and an uncaught error.
 */
export function endingSignals({ name = 'npm start', watchesParent = true }: EndingOptions = {}): EndingSignals {
  const ending = new AbortController();
  const hurry = new AbortController();
  let firstAt: number | undefined;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const) {
    process.on(signal, () => {
      const now = performance.now();
      firstAt ??= now;
      if (now - firstAt < SAME_MS) ending.abort();
      else hurry.abort();
    });
  }
  // Without a listener, the next line written after the stream was closed would end the process: EPIPE on a pipe, EIO
  // on a terminal.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => ending.abort());
  let failed = false;
  process.on('uncaughtException', (error) => {
    failed = true;
    process.stderr.write(`${name}: ${error.stack ?? error.message}\n`);
    ending.abort();
  });
  if (watchesParent) watchParent(ending);
  return { ending: ending.signal, hurry: hurry.signal, hasFailed: () => failed };
}

function watchParent(ending: AbortController): void {
  const parent = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(watch);
    ending.abort();
  }, PARENT_PERIOD_MS);
  watch.unref();
}
