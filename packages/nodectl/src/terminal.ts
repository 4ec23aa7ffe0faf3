import type { Readable, Writable } from 'node:stream';

/** The streams of the program, and the signal that ends it. */
export interface Terminal {
  readonly stdin: Readable & { readonly isTTY?: boolean; setRawMode?(raw: boolean): unknown };
  readonly stdout: Writable & { readonly isTTY?: boolean; readonly columns?: number; readonly rows?: number };
  readonly stderr: Writable;
  readonly version: string;
  readonly signal: AbortSignal;
  readonly nowMs: () => number;
}

/** Moves the cursor to the top left and clears the screen. */
export const CLEAR = '\x1b[H\x1b[2J';

/** Yields the size of a terminal now and after each change, until the signal is aborted. */
export async function* terminalSizes(
  output: Terminal['stdout'],
  signal: AbortSignal,
): AsyncGenerator<{ readonly Width: number; readonly Height: number }> {
  let wake = (): void => {};
  const onResize = (): void => wake();
  output.on('resize', onResize);
  signal.addEventListener('abort', onResize, { once: true });
  try {
    while (!signal.aborted) {
      const changed = new Promise<void>((resolve) => {
        wake = resolve;
      });
      yield { Width: output.columns ?? 80, Height: output.rows ?? 24 };
      await changed;
    }
  } finally {
    output.off('resize', onResize);
  }
}
