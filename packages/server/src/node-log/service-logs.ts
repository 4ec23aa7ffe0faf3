import { type Clock, linkAbort } from '@node-agent/async';
import { errorText } from '@node-agent/telemetry';
import { journalArgs, type NodeJournal, UNITS_ARGS } from './journal.ts';
import type { NodeLogQuery } from './node-log-query.ts';

/** The sources of service logs. */
export interface ServiceLogSources {
  readonly clock: Pick<Clock, 'setTimer'>;
  readonly journal: NodeJournal;
  /**
   * Reads a file below the log directory. @throws ENOENT if the file does not exist; EISDIR; other errors of the file
   * system
   */
  readFile(path: string, signal: AbortSignal): AsyncIterable<Uint8Array>;
}

/** The timeout of a whole query, in milliseconds, as in upstream. */
const DEADLINE_MS = 30_000;
const MAX_UNITS_BYTES = 4 * 2 ** 20;

/**
 * Yields the logs of services: from the journal if the journal knows the service, otherwise from a file of that name
 * (`nodeLogQuery.Copy`, `pkg/kubelet/kubelet_server_journal.go`). Errors are written into the text in upstream's words,
 * because the status has already been sent.
 */
export async function* serviceLogs(
  sources: ServiceLogSources,
  { services, options }: NodeLogQuery,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, undefined> {
  const link = linkAbort(signal);
  const timer = sources.clock.setTimer(DEADLINE_MS, () => link.abort(new Error('context deadline exceeded')));
  try {
    const units = await unitsOf(sources.journal, link.signal);
    const native = services.filter((service) => units.includes(`${service}.service`));
    const others = services.filter((service) => !native.includes(service));
    if (native.length > 0) yield* journalOf(sources.journal, journalArgs(native, options), options.boot, link.signal);
    if (others.length === 0) return;
    if (Object.keys(options).length > 0) {
      const names = others.join(' ');
      yield say(`options present and query resolved to log files for [${names}]\ntry without specifying options`);
      return;
    }
    for (const service of others) yield* fileOf(sources, service, link.signal);
  } finally {
    timer.cancel();
    link[Symbol.dispose]();
  }
}

/** Returns all unit names of the journal as one text, or an empty text if the journal is unavailable. */
async function unitsOf(journal: NodeJournal, signal: AbortSignal): Promise<string> {
  try {
    const output = journal.run(UNITS_ARGS, signal);
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    let next = await output.next();
    for (; !next.done && bytes < MAX_UNITS_BYTES; next = await output.next()) {
      chunks.push(next.value);
      bytes += next.value.length;
    }
    const isWhole = next.done === true && next.value === 0;
    if (!next.done) await output.return(null);
    return isWhole ? Buffer.concat(chunks).toString('latin1') : '';
  } catch {
    return '';
  }
}

async function* journalOf(
  journal: NodeJournal,
  args: readonly string[],
  boot: number | undefined,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    yield* journal.run(args, signal);
  } catch {
    if ((boot ?? 0) === 0) yield say('error: journal output not available');
  }
}

/**
 * Yields the content of the first log file that exists for a service: `SERVICE`, `SERVICE.log` or
 * `SERVICE/SERVICE.log`.
 */
async function* fileOf(
  { readFile }: ServiceLogSources,
  service: string,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, undefined> {
  for (const path of [service, `${service}.log`, `${service}/${service}.log`]) {
    try {
      yield* readFile(path, signal);
      return;
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : undefined;
      if (code === 'ENOENT' || code === 'EISDIR') continue;
      yield say(`error getting log for ${service}: ${errorText(error)}`);
      return;
    }
  }
  yield say(`log not found for ${service}`);
}

function say(words: string): Uint8Array {
  return Buffer.from(`\n${words}\n`);
}
