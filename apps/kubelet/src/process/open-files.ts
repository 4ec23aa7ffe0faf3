import type { FileSystem } from '@node-agent/host';
import type { Logger } from '@node-agent/telemetry';
import type { RunCommand } from './run-command.ts';

/** Limits of the number of open files. */
export interface OpenFileLimits {
  readonly soft: number;
  readonly hard: number;
}

/** Components of {@link adjustOpenFiles}. */
interface Components {
  readonly fs: Pick<FileSystem, 'readFile'>;
  readonly logger: Logger;
  readonly run: RunCommand;
}

/** Reads the limits from `/proc/<pid>/limits`. Returns `undefined` if the line is missing. */
export function parseOpenFileLimits(limits: string): OpenFileLimits | undefined {
  const [, soft, hard] = /^Max open files\s+(\d+|unlimited)\s+(\d+|unlimited)\s/m.exec(limits) ?? [];
  if (soft === undefined || hard === undefined) return undefined;
  const numberOf = (text: string): number => (text === 'unlimited' ? Number.POSITIVE_INFINITY : Number(text));
  return { soft: numberOf(soft), hard: numberOf(hard) };
}

/**
 * Sets both limits of the number of open files to `maxOpenFiles` (upstream: `rlimit.SetNumFiles` in
 * `cmd/kubelet/app/server.go`). Node.js cannot change limits, so prlimit of util-linux does. Without the right to raise
 * the hard limit, the soft limit is set as far as the hard limit allows; this is logged, and the kubelet continues.
 */
export async function adjustOpenFiles(
  { fs, logger, run }: Components,
  pid: number,
  maxOpenFiles: number,
  signal: AbortSignal,
): Promise<void> {
  const before = parseOpenFileLimits(Buffer.from(await fs.readFile('/proc/self/limits').catch(() => '')).toString());
  if (before?.soft === maxOpenFiles && before.hard === maxOpenFiles) return;
  const set = (soft: number, hard: number | '') => run('prlimit', [`--pid=${pid}`, `--nofile=${soft}:${hard}`], signal);
  const both = await set(maxOpenFiles, maxOpenFiles);
  if (both.code === 0) return;
  const soft = Math.min(maxOpenFiles, before?.hard ?? maxOpenFiles);
  if (before !== undefined && soft !== before.soft) await set(soft, '');
  const fields = { maxOpenFiles, ...(before && { hardLimit: before.hard }), because: both.stderr };
  logger.warn(fields, 'Could not set the limit of open files of the kubelet');
}
