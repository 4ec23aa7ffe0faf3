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

/** What an {@link OomWatcher} works with. */
export interface OomWatcherComponents extends Partial<Pick<CommonPorts, 'clock' | 'logger' | 'recorder'>> {
  /** `openKmsg` of this package. */
  readonly open: OpenKmsg;
  /** How long ago the machine was booted, in ms, by the clock of the kernel log. */
  readonly uptimeMs: () => number;
  /** Told of every kill, of whatever group. */
  readonly onKill?: (kill: OomKill) => void;
}

/** How an {@link OomWatcher} is set. */
export interface OomWatcherOptions {
  /** What events about the machine refer to. */
  readonly nodeRef: ObjectReference;
  /** How often the log is looked at, in ms; 1 s by default. */
  readonly periodMs?: number;
  /** Kills from before the start are told where they were no longer ago than this, in ms; 10 min by default. */
  readonly lookBackMs?: number;
}

/** The kernel's own limit of a record is 1 KiB of text, escaped, with its facts; a longer read fails. */
const RECORD_BYTES = 8192;
/** How many records are read in one go, so that a flood of them does not keep other work waiting. */
const RECORDS_AT_ONCE = 500;
/** How long others have then: a report tells of each process of the machine, and the log keeps about a thousand records. */
const FLOOD_PAUSE_MS = 10;
/** A log that fails is opened again after this. */
const REOPEN_MS = 60_000;

/**
 * Watches the kernel log for kills of the OOM killer (`pkg/kubelet/oom`, cadvisor's `oomparser`). Where the machine itself had no memory
 * left, an event `SystemOOM` says which process had to go. A log that cannot be read is told once, and looked for again.
 */
export class OomWatcher {
  readonly #components: WithDefaults<OomWatcherComponents & Pick<CommonPorts, 'clock' | 'logger' | 'recorder'>>;
  readonly #options: Required<OomWatcherOptions>;
  readonly #buffer = new Uint8Array(RECORD_BYTES);
  #report: OomReport;
  #problem: string | undefined;
  /** The last record that was taken in: a log that is opened again begins with the oldest. */
  #lastSequence = -1;
  readonly #startOnce = new StartOnce('OomWatcher');

  /** @throws RangeError for a period that is not above 0 */
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

  /** Watches until `signal` is aborted. Never rejects for what the log does. */
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

  /** Reads what there is, in parts. @returns whether that is all of it @throws what the log throws */
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
        // Records were overwritten before they were read: what had begun is told by its summary, or not at all.
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

  /** Once for each reason. */
  #failed(err: unknown): void {
    const problem = codeOf(err) ?? String(err);
    if (problem === this.#problem) return;
    this.#problem = problem;
    this.#components.logger.error({ err }, 'The kernel log cannot be read: kills of the OOM killer are not told');
  }
}

function codeOf(err: unknown): string | undefined {
  return err instanceof Error && 'code' in err && typeof err.code === 'string' ? err.code : undefined;
}
