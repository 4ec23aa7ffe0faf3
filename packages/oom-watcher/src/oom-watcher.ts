import { checkComponents, checkOptions, StartOnce, sleep, sleepUntilNext } from '@node-agent/async';
import {
  type CommonPorts,
  eventReasons,
  type ObjectReference,
  type WithDefaults,
  withDefaults,
} from '@node-agent/telemetry';
import type { KmsgFile, OpenKmsg } from './kmsg.ts';
import { parseKmsgRecord } from './kmsg-record.ts';
import { nextOom, type OomKill, type OomReport, systemOomMessage } from './oom-parser.ts';

/** Dependencies of an {@link OomWatcher}. */
export interface OomWatcherComponents extends Partial<Pick<CommonPorts, 'clock' | 'logger' | 'recorder'>> {
  /** Opens the kernel log, for example `openKmsg` of this package. */
  readonly open: OpenKmsg;
  /** Returns the time since boot in ms, by the clock of the kernel log. */
  readonly uptimeMs: () => number;
  /** Called for each kill, in any cgroup. */
  readonly onKill?: (kill: OomKill) => void;
}

/** Options of an {@link OomWatcher}. */
export interface OomWatcherOptions {
  /** Object of the events about the machine. */
  readonly nodeRef: ObjectReference;
  /** Period of reading the log, in ms. Default: 1,000. */
  readonly periodMs?: number;
  /** Maximum age of kills before the start that are still reported, in ms. Default: 600,000 (10 min). */
  readonly lookBackMs?: number;
}

/**
 * Read buffer size: the kernel limits a record to 1 KiB of text, escaped, plus metadata; a read into a smaller buffer
 * fails.
 */
const RECORD_BYTES = 8192;
/**
 * Maximum number of records that are read before other work gets a turn, so that a flood of records does not block the
 * kubelet.
 */
const RECORDS_AT_ONCE = 500;
/**
 * Pause between reads during a flood, in milliseconds: an OOM report lists each process of the machine, and the log
 * keeps about a thousand records.
 */
const FLOOD_PAUSE_MS = 10;
/** Delay before a log that failed is opened again, in milliseconds. */
const REOPEN_MS = 60_000;

/**
 * Watches the kernel log for kills by the OOM killer (`pkg/kubelet/oom`, cadvisor's `oomparser`). If the machine itself
 * was out of memory, an event `SystemOOM` names the killed process. A log that cannot be read is reported once and
 * opened again later.
 */
export class OomWatcher {
  readonly #components: WithDefaults<OomWatcherComponents & Pick<CommonPorts, 'clock' | 'logger' | 'recorder'>>;
  readonly #options: Required<OomWatcherOptions>;
  readonly #buffer = new Uint8Array(RECORD_BYTES);
  #report: OomReport;
  #problem: string | undefined;
  /** Sequence number of the last processed record: a reopened log starts with the oldest record. */
  #lastSequence = -1;
  readonly #startOnce = new StartOnce('OomWatcher');

  /** @throws RangeError if `periodMs` is not positive */
  constructor(components: OomWatcherComponents, options: OomWatcherOptions) {
    const asked = checkOptions('OomWatcher', options, {
      nodeRef: 'object',
      periodMs: 'positive?',
      lookBackMs: 'notNegative?',
    });
    checkComponents('OomWatcher', components, { open: 'function', uptimeMs: 'function' });
    this.#components = withDefaults(components);
    this.#options = { periodMs: 1000, lookBackMs: 600_000, ...asked };
  }

  /** Watches until `signal` is aborted. Does not reject if the log fails. */
  async start(signal: AbortSignal): Promise<void> {
    this.#startOnce.begin();
    const { clock, open } = this.#components;
    while (!signal.aborted) {
      let file: KmsgFile | undefined;
      try {
        file = await open();
        while (!signal.aborted) {
          const isAtEnd = await this.#read(file, signal);
          if (isAtEnd) await sleepUntilNext(clock, this.#options.periodMs, signal);
          else await sleep(clock, FLOOD_PAUSE_MS, signal);
        }
      } catch (err) {
        if (!signal.aborted) this.#failed(err);
      } finally {
        await file?.close().catch(() => undefined);
      }
      await sleep(clock, REOPEN_MS, signal).catch(() => undefined);
    }
  }

  /** Reads the available records, up to a limit. @returns whether all were read @throws the log's error */
  async #read(file: KmsgFile, signal: AbortSignal): Promise<boolean> {
    for (let count = 0; count < RECORDS_AT_ONCE && !signal.aborted; count++) {
      try {
        const length = await file.read(this.#buffer);
        if (length === 0) return true;
        this.#take(new TextDecoder().decode(this.#buffer.subarray(0, length)));
      } catch (err) {
        const code = codeOf(err);
        if (code === 'EAGAIN') {
          this.#problem = undefined;
          return true;
        }
        if (code !== 'EPIPE') throw err;
        // `EPIPE`: records were overwritten before they were read. The current report is discarded; only its summary
        // can still complete it.
        this.#report = undefined;
      }
    }
    return false;
  }

  #take(text: string): void {
    const record = parseKmsgRecord(text);
    if (record === undefined || record.sequence <= this.#lastSequence) return;
    this.#lastSequence = record.sequence;
    const { report, kill } = nextOom(this.#report, record);
    this.#report = report;
    if (kill !== undefined) this.#killed(kill);
  }

  #killed(kill: OomKill): void {
    const { recorder, logger, onKill, uptimeMs } = this.#components;
    if (uptimeMs() - kill.uptimeMs > this.#options.lookBackMs) return;
    const message = systemOomMessage(kill);
    logger.info({ ...kill }, message === undefined ? 'Got OOM event of a group' : 'Got sys oom event');
    if (message !== undefined) recorder.event(this.#options.nodeRef, 'Warning', eventReasons.systemOom, message);
    onKill?.(kill);
  }

  /** Logs each reason once. */
  #failed(err: unknown): void {
    const problem = codeOf(err) ?? String(err);
    if (problem === this.#problem) return;
    this.#problem = problem;
    this.#components.logger.error({ err }, 'Failed to read the kernel log, not reporting kills of the OOM killer');
  }
}

function codeOf(err: unknown): string | undefined {
  return err instanceof Error && 'code' in err && typeof err.code === 'string' ? err.code : undefined;
}
