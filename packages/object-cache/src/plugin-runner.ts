import { runProgram } from '@node-agent/host';

/** What a plugin is started with. */
export interface PluginRun {
  readonly command: string;
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly stdin: string;
}

/** What a plugin has printed, and how it ended. */
export interface PluginResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a plugin to its end, or kills it. @throws where it cannot be started; the signal's reason */
export type PluginRunner = (run: PluginRun, signal: AbortSignal) => Promise<PluginResult>;

/** Above this much on stdout a plugin is killed. */
const MAX_STDOUT_LENGTH = 10 * 2 ** 20;

/** Runs plugins as child processes. */
export const nodePluginRunner: PluginRunner = (run, signal) =>
  runProgram({ ...run, maxStdoutLength: MAX_STDOUT_LENGTH }, signal);
