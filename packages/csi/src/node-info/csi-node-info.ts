import { type Clock, checkComponents, checkOptions, type Random, StartOnce } from '@node-agent/async';
import { errorText, type Logger, withDefaults } from '@node-agent/telemetry';
import type { CsiDriverNodeInfo } from '../client/responses.ts';
import { CsiError } from '../errors.ts';
import type { CsiNodeApi } from './csi-node-api.ts';
import { CsiNodeWriter, TopologyCollision } from './csi-node-writer.ts';
import { withUpdateBackoff } from './update-backoff.ts';
import { WriteSchedule } from './write-schedule.ts';

/** Dependencies of a {@link CsiNodeInfo}. */
export interface CsiNodeInfoComponents {
  readonly clock?: Clock;
  readonly random?: Random;
  readonly logger?: Logger;
  readonly api: CsiNodeApi;
  /** Called when {@link CsiNodeInfo.problem} changes. */
  readonly onProblemChanged?: () => void;
}

/** Options of a {@link CsiNodeInfo}. */
export interface CsiNodeInfoOptions {
  readonly nodeName: string;
}

/** Period of waiting for the API server (`waitForAPIServerForever`). */
const API_POLL_MS = 1_000;
/** Back-off of writes that failed in the background, as of plugin registrations (`goroutinemap/exponentialbackoff`). */
const BACK_OFF = { initialMs: 500, maxMs: 122_000 };
const INITIAL = 'CSINode is not yet initialized';
/** Key of the back-off of the initialisation. The names of drivers are never empty. */
const INITIALISATION = '';

/**
 * Reports the registered drivers in the CSINode and the Node object (`pkg/volume/csi/nodeinfomanager`). Failed
 * writes are retried in the background, so that a driver can be used while the API server is unreachable.
 */
export class CsiNodeInfo {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #logger: Logger;
  readonly #api: CsiNodeApi;
  readonly #onProblemChanged: () => void;
  readonly #writer: CsiNodeWriter;
  /** Writes in the background: the initialisation, and reports and removals of drivers. */
  readonly #schedule: WriteSchedule;
  /** Registered drivers that CSINode and Node must show, by name. */
  readonly #wanted = new Map<string, CsiDriverNodeInfo>();
  readonly #startOnce = new StartOnce('CsiNodeInfo');
  #problem: string | undefined = INITIAL;

  /** @throws OptionsError naming the invalid component or option */
  constructor(components: CsiNodeInfoComponents, options: CsiNodeInfoOptions) {
    checkOptions('CsiNodeInfo', options, { nodeName: 'string' });
    checkComponents('CsiNodeInfo', components, { api: ['getNode', 'patchNode', 'getCsiNode', 'updateCsiNode'] });
    const { clock, random, logger } = withDefaults({
      ...{ clock: undefined, random: undefined, logger: undefined },
      ...components,
    });
    this.#clock = clock;
    this.#random = random;
    this.#logger = logger;
    this.#api = components.api;
    this.#onProblemChanged = components.onProblemChanged ?? (() => {});
    this.#writer = new CsiNodeWriter(components.api, options.nodeName);
    this.#schedule = new WriteSchedule(clock, BACK_OFF);
    this.#schedule.now(INITIALISATION);
  }

  /**
   * Returns why the node must not be reported as ready, in upstream's words: the scheduler must not place pods before
   * CSINode lists the in-tree types that drivers have taken over. Returns `undefined` once CSINode is complete.
   */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Initialises CSINode, then retries failed writes until the signal is aborted. */
  async start(signal: AbortSignal): Promise<void> {
    this.#startOnce.begin();
    try {
      await this.#untilServerAnswers(signal);
      while (!signal.aborted) await this.#round(signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  /**
   * Reports a driver, with upstream's four attempts for each object. If the attempts fail because of the API server,
   * the report is written in the background.
   * @throws CsiError `Rejected` if the driver's topology contradicts the node's labels
   */
  async install(name: string, info: CsiDriverNodeInfo, signal: AbortSignal): Promise<void> {
    this.#wanted.set(name, info);
    const isLasting = (error: unknown): boolean => error instanceof TopologyCollision;
    try {
      await this.#retried((ending) => this.#writer.addToNode(name, info, ending), signal, isLasting);
      await this.#retried((ending) => this.#writer.addToCsiNode(name, info, ending), signal);
      this.#schedule.done(name);
    } catch (cause) {
      signal.throwIfAborted();
      if (isLasting(cause)) {
        const text = `error updating Node object with CSI driver node info: ${errorText(cause)}`;
        throw new CsiError(text, { code: 'Rejected', isFinal: true, driver: name, call: 'NodeGetInfo', cause });
      }
      this.#failed(name, cause);
    }
  }

  /**
   * Sets the information about a driver that CSINode and Node show; written in the background. The information
   * `undefined` means that the driver was deregistered.
   */
  set(name: string, info: CsiDriverNodeInfo | undefined): void {
    if (info === undefined) this.#wanted.delete(name);
    else this.#wanted.set(name, info);
    this.#schedule.now(name);
  }

  /** Updates CSINode with new facts about a registered driver. @throws the error of the last of four attempts */
  async update(name: string, info: CsiDriverNodeInfo, signal: AbortSignal): Promise<void> {
    if (!this.#wanted.has(name)) return;
    this.#wanted.set(name, info);
    await this.#retried((ending) => this.#writer.addToCsiNode(name, info, ending), signal);
  }

  /**
   * Writes the CSINode, and the data of all drivers in the Node, again, because the Node or the API server's data may
   * have been deleted.
   */
  writeAnew(): void {
    for (const key of [INITIALISATION, ...this.#wanted.keys()]) this.#schedule.now(key);
  }

  /** Waits until the API server answers and has the Node, so that a slow start is not shown as a failure. */
  async #untilServerAnswers(signal: AbortSignal): Promise<void> {
    for (;;) {
      this.#schedule.take();
      try {
        await this.#api.getCsiNode(signal);
        await this.#api.getNode(signal);
        return;
      } catch (err) {
        signal.throwIfAborted();
        this.#logger.debug({ err }, 'Failed to contact API server when waiting for CSINode publishing');
        await this.#schedule.wait(signal, API_POLL_MS);
        signal.throwIfAborted();
      }
    }
  }

  async #round(signal: AbortSignal): Promise<void> {
    for (const key of this.#schedule.take()) {
      if (key === INITIALISATION) await this.#initialise(signal);
      else await this.#write(key, signal);
    }
    await this.#schedule.wait(signal);
  }

  async #initialise(signal: AbortSignal): Promise<void> {
    try {
      await this.#retried((ending) => this.#writer.initialise(ending), signal);
      this.#schedule.done(INITIALISATION);
      this.#setProblem(undefined);
    } catch (err) {
      signal.throwIfAborted();
      const retryMs = this.#schedule.later(INITIALISATION);
      this.#logger.error({ err, retryMs }, 'Failed to initialize CSINode');
      // A node that was ready stays ready: its CSINode was complete, and the API server may only be unreachable.
      if (this.#problem !== undefined) this.#setProblem(`failed to initialize CSINode: ${errorText(err)}`);
    }
  }

  async #write(name: string, signal: AbortSignal): Promise<void> {
    const info = this.#wanted.get(name);
    try {
      if (info === undefined) {
        await this.#writer.removeFromCsiNode(name, signal);
        await this.#writer.removeFromNode(name, signal);
      } else {
        await this.#writer.addToNode(name, info, signal);
        await this.#writer.addToCsiNode(name, info, signal);
      }
      // If the driver's information changed during the write, the driver is due again.
      if (this.#wanted.get(name) === info) this.#schedule.done(name);
    } catch (err) {
      signal.throwIfAborted();
      this.#failed(name, err);
    }
  }

  #failed(name: string, err: unknown): void {
    const retryMs = this.#schedule.later(name);
    this.#logger.error({ err, driver: name, retryMs }, 'Failed to report a CSI driver in CSINode and Node');
  }

  async #retried(
    attempt: (signal: AbortSignal) => Promise<void>,
    signal: AbortSignal,
    isLasting?: (error: unknown) => boolean,
  ): Promise<void> {
    await withUpdateBackoff({ clock: this.#clock, random: this.#random }, attempt, signal, isLasting);
  }

  #setProblem(problem: string | undefined): void {
    if (problem === this.#problem) return;
    this.#problem = problem;
    this.#onProblemChanged();
  }
}
