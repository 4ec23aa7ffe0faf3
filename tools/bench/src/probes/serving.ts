import { readFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** `/proc/uptime` is truncated to hundredths of a second; the mean error is half of that. */
const HALF_A_HUNDREDTH_MS = 5;

/** Returns the machine's uptime in ms at which a container logged that it serves; undefined if it has not. */
export function servesAtUptimeMs(log: string): number | undefined {
  const seconds = / serves (\d+\.\d\d)$/m.exec(log)?.[1];
  return seconds === undefined ? undefined : Number(seconds) * 1_000 + HALF_A_HUNDREDTH_MS;
}

/**
 * Returns the difference between `performance.now()` and the machine's uptime, in ms. It is measured at a moment at
 * which the uptime changes.
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
