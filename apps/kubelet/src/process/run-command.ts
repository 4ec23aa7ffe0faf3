import { execFile } from 'node:child_process';

/** Result of a command. */
export interface CommandResult {
  /** Exit code; `undefined` if the program is not installed, was killed, or did not end in time. */
  readonly code: number | undefined;
  readonly stderr: string;
  /** Whether the program is not installed. */
  readonly isMissing: boolean;
}

/** Runs a program and waits until the program has exited. Never throws. */
export type RunCommand = (program: string, args: readonly string[], signal: AbortSignal) => Promise<CommandResult>;

const TIMEOUT_MS = 30_000;
const MAX_OUTPUT_BYTES = 64 * 1024;

/** Runs a program of the host, for 30 s at most. */
export const runCommand: RunCommand = (program, args, signal) =>
  new Promise((resolve) => {
    const options = { timeout: TIMEOUT_MS, killSignal: 'SIGKILL', maxBuffer: MAX_OUTPUT_BYTES, signal } as const;
    execFile(program, args, options, (error, _stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : undefined;
      const isMissing = error !== null && (error as NodeJS.ErrnoException).code === 'ENOENT';
      resolve({ code, stderr: stderr.trim() || (error?.message ?? ''), isMissing });
    });
  });
