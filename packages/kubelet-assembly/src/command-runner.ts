import type { RuntimeService } from '@node-agent/cri-client';

/** Runs a command in a container. The runtime ends it after `timeoutMs`, in whole seconds; 0 means no timeout. */
export type CommandRunner = (
  containerId: string,
  command: readonly string[],
  timeoutMs: number,
  signal: AbortSignal,
) => Promise<{ readonly exitCode: number; readonly stdout: Uint8Array; readonly stderr: Uint8Array }>;

/**
 * Runs the commands of probes and hooks through the runtime, whose error has code `DEADLINE_EXCEEDED` after the
 * timeout.
 */
export function commandRunner(cri: Pick<RuntimeService, 'execSync'>): CommandRunner {
  return (containerId, command, timeoutMs, signal) =>
    cri.execSync({ containerId, cmd: [...command], timeout: Math.ceil(timeoutMs / 1000) }, signal);
}
