import { runProgram } from '@node-agent/host';

/** The command line, environment and input of a plugin. */
export interface PluginRun {
  readonly command: string;
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly stdin: string;
}

/** The output and exit code of a plugin. */
export interface PluginResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Runs a plugin to its end, or kills it when the signal is aborted. @throws if the plugin cannot be started; the
 * signal's reason
 */
export type PluginRunner = (run: PluginRun, signal: AbortSignal) => Promise<PluginResult>;

/** A plugin that writes more to stdout is killed. */
const MAX_STDOUT_LENGTH = 10 * 2 ** 20;

/** Runs plugins as child processes. */
export const nodePluginRunner: PluginRunner = (run, signal) =>
  runProgram({ ...run, maxStdoutLength: MAX_STDOUT_LENGTH }, signal);
