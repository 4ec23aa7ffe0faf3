/** Calls `stop` on SIGTERM or SIGINT, and exits. */
export function exitOnSignal(stop: () => void): void {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => {
      stop();
      process.exit(0);
    });
  }
}

/**
 * Runs a program with its arguments. If `main` returns an exit code, the process exits; otherwise it runs until a
 * signal ends it.
 */
export async function runProgramMain(main: (args: readonly string[]) => Promise<number | undefined>): Promise<void> {
  const exitCode = await main(process.argv.slice(2)).catch((error: unknown) => {
    console.error(error instanceof Error ? error.message : String(error));
    return 1;
  });
  if (exitCode !== undefined) process.exit(exitCode);
}
