import type { RuntimeService } from '@node-agent/cri-client';

/** Runs a command in a container, for as long as `timeoutMs`, which the runtime keeps in whole seconds; without an end where it is 0. */
export type CommandRunner = (
  containerId: string,
  command: readonly string[],
  timeoutMs: number,
  signal: AbortSignal,
) => Promise<{ readonly exitCode: number; readonly stdout: Uint8Array; readonly stderr: Uint8Array }>;

/** The commands of probes and hooks, run by the runtime: its error says `DEADLINE_EXCEEDED` where the time was up. */
export function commandRunner(cri: Pick<RuntimeService, 'execSync'>): CommandRunner {
  return (containerId, command, timeoutMs, signal) =>
    cri.execSync({ containerId, cmd: [...command], timeout: Math.ceil(timeoutMs / 1000) }, signal);
}
