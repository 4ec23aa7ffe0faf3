import { type NodeLogQueryOptions, timeMs } from './node-log-query.ts';

/** The journal of the machine. */
export interface NodeJournal {
  /**
   * Runs `journalctl` with these arguments and gives what it writes, no faster than that is taken; then how it has exited,
   * `null` where a signal has ended it. Aborting ends it, as does whoever reads no further.
   * @throws what keeps it from being run; the signal's reason
   */
  run(args: readonly string[], signal: AbortSignal): AsyncGenerator<Uint8Array, number | null, undefined>;
}

/** What tells which units have written to the journal. */
export const UNITS_ARGS: readonly string[] = ['--field', '_SYSTEMD_UNIT'];

/** The arguments of `journalctl` for a query (`getLoggingCmd`, `pkg/kubelet/kubelet_server_journal_linux.go`). */
export function journalArgs(services: readonly string[], options: NodeLogQueryOptions): readonly string[] {
  const { sinceTime, untilTime, tailLines, pattern, boot } = options;
  return [
    ...['--utc', '--no-pager', '--output=short-precise'],
    ...(sinceTime === undefined ? [] : [`--since=${journalTime(sinceTime)}`]),
    ...(untilTime === undefined ? [] : [`--until=${journalTime(untilTime)}`]),
    ...(tailLines === undefined ? [] : ['--pager-end', `--lines=${tailLines}`]),
    ...services.map((service) => `--unit=${service}`),
    ...(pattern === undefined ? [] : [`--grep=${pattern}`]),
    ...(boot === undefined ? [] : ['--boot', String(boot)]),
  ];
}

/**
 * Upstream gives the time as it came, without its zone: another one than what was asked for on every node that is not of that
 * zone. Here the zone is said.
 */
function journalTime(value: string): string {
  const at = new Date(timeMs(value));
  const date = `${at.getUTCFullYear()}-${at.getUTCMonth() + 1}-${at.getUTCDate()}`;
  const hour = String(at.getUTCHours()).padStart(2, '0');
  return `${date} ${hour}:${at.getUTCMinutes()}:${at.getUTCSeconds()} UTC`;
}
