import { readFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Mean error of a time in `/proc/uptime`, in ms: half of a hundredth of a second, to which the times are truncated. */
const HALF_A_HUNDREDTH_MS = 5;

/**
 * Returns the machine's uptime in ms at which a container started to serve, from its log. Undefined if the log does not
 * contain that line.
 */
export function servesAtUptimeMs(log: string): number | undefined {
  const seconds = / serves (\d+\.\d\d)$/m.exec(log)?.[1];
  return seconds === undefined ? undefined : Number(seconds) * 1_000 + HALF_A_HUNDREDTH_MS;
}

/**
 * Returns the difference between `performance.now()` and the machine's uptime, in ms. The difference is measured at the
 * moment when `/proc/uptime` changes, so that its truncation does not matter.
 */
export function uptimeOffsetMs(): number {
  const read = (): string => readFileSync('/proc/uptime', 'utf8').split(' ')[0] ?? '';
  const before = read();
  let now = read();
  while (now === before) now = read();
  return performance.now() - Number(now) * 1_000;
}

/**
 * Returns the log of a pod's container.
 * @param podLogs the kubelet's `podLogsDir`
 */
export async function podLog(podLogs: string, namespace: string, name: string): Promise<string> {
  const directory = (await readdir(podLogs)).find((entry) => entry.startsWith(`${namespace}_${name}_`));
  if (directory === undefined) throw new Error(`${podLogs} contains no log directory of ${namespace}/${name}`);
  return readFile(join(podLogs, directory, 'main', '0.log'), 'utf8');
}
