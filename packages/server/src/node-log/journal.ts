import { type NodeLogQueryOptions, timeMs } from './node-log-query.ts';

/** Runs `journalctl` on the machine. */
export interface NodeJournal {
  /**
   * Runs `journalctl` with these arguments. Yields its output as fast as the reader consumes it, then returns the exit
   * code, or `null` if `journalctl` was killed by a signal. Aborting `signal` or leaving the iteration kills
   * `journalctl`.
   * @throws any error that prevents the start; the signal's reason
   */
  run(args: readonly string[], signal: AbortSignal): AsyncGenerator<Uint8Array, number | null, undefined>;
}

/** The arguments that list the units with journal entries. */
export const UNITS_ARGS: readonly string[] = ['--field', '_SYSTEMD_UNIT'];

/**
 * Returns the arguments of `journalctl` for a query (`getLoggingCmd`, `pkg/kubelet/kubelet_server_journal_linux.go`).
 */
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
 * Formats a time for `journalctl`, in UTC. Upstream passes the time without its zone, so that nodes in other time zones
 * read the wrong period.
 */
function journalTime(value: string): string {
  const at = new Date(timeMs(value));
  const date = `${at.getUTCFullYear()}-${at.getUTCMonth() + 1}-${at.getUTCDate()}`;
  const hour = String(at.getUTCHours()).padStart(2, '0');
  return `${date} ${hour}:${at.getUTCMinutes()}:${at.getUTCSeconds()} UTC`;
}
