import { readFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** `/proc/uptime` counts hundredths, and cuts off what is below them: in the mean, that is half of one. */
const HALF_A_HUNDREDTH_MS = 5;

/** When a container said that it serves, in the machine's uptime in milliseconds, from its log as runtimes write them. */
export function servesAtUptimeMs(log: string): number | undefined {
  const seconds = / serves (\d+\.\d\d)$/m.exec(log)?.[1];
  return seconds === undefined ? undefined : Number(seconds) * 1_000 + HALF_A_HUNDREDTH_MS;
}

/** What is to be added to the machine's uptime for `performance.now()`, in milliseconds: seen at the moment at which the former changes. */
export function uptimeOffsetMs(): number {
  const read = (): string => readFileSync('/proc/uptime', 'utf8').split(' ')[0] ?? '';
  const before = read();
  let now = read();
  while (now === before) now = read();
  return performance.now() - Number(now) * 1_000;
}

/**
 * What the container of a pod has written.
 * @param podLogs the kubelet's `podLogsDir`
 */
export async function podLog(podLogs: string, namespace: string, name: string): Promise<string> {
  const directory = (await readdir(podLogs)).find((entry) => entry.startsWith(`${namespace}_${name}_`));
  if (directory === undefined) throw new Error(`${podLogs} has nothing of ${namespace}/${name}`);
  return readFile(join(podLogs, directory, 'main', '0.log'), 'utf8');
}
