import type { RuntimeService } from '@node-agent/cri-client';

/**
 * Runs a command in a container. The runtime ends the command after `timeoutMs`, rounded to whole seconds. 0 means no
 * timeout.
 */
export type CommandRunner = (
  containerId: string,
  command: readonly string[],
  timeoutMs: number,
  signal: AbortSignal,
) => Promise<{ readonly exitCode: number; readonly stdout: Uint8Array; readonly stderr: Uint8Array }>;

/**
 * Returns a runner for the commands of probes and hooks, which runs them through the runtime. After the timeout, the
 * runtime's error has the code `DEADLINE_EXCEEDED`.
 */
export function commandRunner(cri: Pick<RuntimeService, 'execSync'>): CommandRunner {
  return (containerId, command, timeoutMs, signal) =>
    cri.execSync({ containerId, cmd: [...command], timeout: Math.ceil(timeoutMs / 1000) }, signal);
}
