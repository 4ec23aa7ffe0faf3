import { abortable, type Clock, sleep, TimeSlice, withTimeout } from '@node-agent/async';
import type { Pod } from '@node-agent/pod-spec';
import { errorText, type Logger } from '@node-agent/telemetry';
import type { DashboardNode, DashboardNodeObject } from '../ports.ts';
import { nodeFacts } from '../views/node-facts.ts';
import { podRow } from '../views/pod-row.ts';
import { podStory } from '../views/pod-story.ts';
import { usageSample } from '../views/usage-sample.ts';
import type { NodeFacts, PodRow, PodStory, UsageSample } from '../wire.ts';
import { ChangeLog } from './change-log.ts';

/** Components of {@link NodeFeed}. */
interface FeedComponents {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly node: DashboardNode;
}

/** Options of {@link NodeFeed}. */
export interface FeedOptions {
  /** Interval at which pods are read, in ms. */
  readonly podPeriodMs: number;
  /** Interval at which the usage and the facts about the node are read, in ms. */
  readonly usagePeriodMs: number;
  /** Time after the last reader has left in which a new reader gets the kept state of the pods, in ms. */
  readonly lingerMs: number;
  /** Timeout of one reading of the usage or of the Node object, in ms. */
  readonly readTimeoutMs: number;
}

/**
 * Interval at which the Node object is read, in usage periods. Reading the object asks the runtime for its version and
 * images, so it is read less often than the usage.
 */
const NODE_EVERY = 6;
/** Interval at which the feed computes again why pods are not ready, in pod periods. */
const WHY_EVERY = 5;

/** State of the feed from the first reader until no reader has been left for the linger time. */
interface Watched {
  /** Identifies this state in the ids of events. */
  readonly epoch: string;
  readonly pods: ChangeLog<PodRow>;
  /** Whether the pods have been read at least once. */
  hasPods: boolean;
  readonly whys: Map<string, { readonly text: string; readonly why: string | undefined }>;
  usage: UsageSample | undefined;
  statsProblem: string | undefined;
  object: DashboardNodeObject | undefined;
  facts: NodeFacts | undefined;
}

/**
 * Reads pods, usage and facts of the node for all open pages together. Nothing is read, and no timer runs, while no
 * page is open.
 */
export class NodeFeed {
  readonly #components: FeedComponents;
  readonly #options: FeedOptions;
  readonly #waiting = new Set<() => void>();
  #watched: Watched | undefined;
  #readers = 0;
  /** Time at which the last reader left. */
  #leftAtMs = 0;
  #stop: AbortController | undefined;
  #epochs = 0;

  constructor(components: FeedComponents, options: FeedOptions) {
    this.#components = components;
    this.#options = options;
  }

  /** Number of open pages. */
  get readers(): number {
    return this.#readers;
  }

  /**
   * Adds a reader to the feed.
   * @returns the state of the feed for this reader, until the reader disposes it
   */
  join(): FeedReader {
    const { lingerMs } = this.#options;
    // A page that reconnects within the linger time gets only the changes that it has missed.
    const isKept = this.#readers > 0 || this.#components.clock.monotonic() - this.#leftAtMs < lingerMs;
    this.#readers += 1;
    const watched = (isKept && this.#watched) || this.#newState();
    this.#watched = watched;
    if (this.#readers === 1) {
      this.#stop = new AbortController();
      void this.#loop(watched, this.#stop.signal);
    }
    let hasLeft = false;
    return {
      epoch: watched.epoch,
      pods: () => (watched.hasPods ? watched.pods : undefined),
      usage: () => watched.usage,
      facts: () => watched.facts,
      story: (namespace, name) => podStory(namespace, name, this.#components.node.explain(namespace, name)),
      changed: () => new Promise((resolve) => this.#waiting.add(resolve)),
      [Symbol.dispose]: () => {
        if (hasLeft) return;
        hasLeft = true;
        this.#leave();
      },
    };
  }

  #leave(): void {
    this.#readers -= 1;
    if (this.#readers > 0) return;
    this.#stop?.abort();
    this.#leftAtMs = this.#components.clock.monotonic();
  }

  #newState(): Watched {
    this.#epochs += 1;
    // The time in the epoch distinguishes the states of two runs of the kubelet.
    const epoch = `${Math.floor(this.#components.clock.now()).toString(36)}-${this.#epochs}`;
    const unknown = { usage: undefined, statsProblem: undefined, object: undefined, facts: undefined };
    return { epoch, pods: new ChangeLog(), hasPods: false, whys: new Map(), ...unknown };
  }

  async #loop(watched: Watched, signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#components;
    const { podPeriodMs, usagePeriodMs } = this.#options;
    const usageEvery = Math.max(1, Math.round(usagePeriodMs / podPeriodMs));
    let reading: Promise<void> | undefined;
    for (let round = 0; !signal.aborted; round += 1) {
      try {
        await this.#readPods(watched, round, signal);
        if (round % usageEvery === 0 && reading === undefined) {
          reading = this.#readNode(watched, round / usageEvery, signal).finally(() => {
            reading = undefined;
          });
        }
      } catch (err) {
        if (signal.aborted) return;
        logger.error({ err }, 'Failed to read the node for the dashboard');
      }
      this.#tell();
      await sleep(clock, podPeriodMs, signal).catch(() => {});
    }
  }

  /** Reads the pods in portions, so that a long list does not block the event loop (K5). */
  async #readPods(watched: Watched, round: number, signal: AbortSignal): Promise<void> {
    const { clock, node } = this.#components;
    const { pods, whys } = watched;
    const slice = new TimeSlice({ clock });
    const rows: PodRow[] = [];
    for (const pod of node.pods()) {
      rows.push(withWhy(pod, round, node, whys));
      if (slice.isDue()) await slice.pause(signal);
    }
    const present = new Set(rows.map(({ uid }) => uid));
    for (const uid of whys.keys()) if (!present.has(uid)) whys.delete(uid);
    pods.update(rows);
    watched.hasPods = true;
  }

  /** Reads usage and facts. A failure is shown in the page, and does not end the feed. */
  async #readNode(watched: Watched, round: number, signal: AbortSignal): Promise<void> {
    const { clock, node, logger } = this.#components;
    const { readTimeoutMs } = this.#options;
    const limited = <T>(read: (ending: AbortSignal) => Promise<T>): Promise<T> =>
      withTimeout(clock, readTimeoutMs, (ending) => abortable(read(ending), ending), signal);
    const usage = async (): Promise<void> => {
      try {
        watched.usage = usageSample(await limited((ending) => node.stats(ending)), clock.now());
        watched.statsProblem = undefined;
      } catch (error) {
        watched.statsProblem = errorText(error);
      }
    };
    const object = async (): Promise<void> => {
      if (round % NODE_EVERY !== 0 && watched.object !== undefined) return;
      watched.object = await limited((ending) => node.node(ending)).catch(() => watched.object);
    };
    await Promise.all([usage(), object()]);
    if (signal.aborted) return;
    try {
      const { object: known, statsProblem } = watched;
      const problems = node.problems();
      const eviction = node.eviction();
      watched.facts = nodeFacts({ name: node.nodeName, node: known, problems, eviction, statsProblem });
    } catch (err) {
      logger.error({ err }, 'Failed to read the state of the node for the dashboard');
    }
    this.#tell();
  }

  #tell(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const resolve of waiting) resolve();
  }
}

/** The state of a {@link NodeFeed} for one open page. */
export interface FeedReader extends Disposable {
  readonly epoch: string;
  /** Returns the pods; `undefined` until the first reading. */
  pods(): Pick<ChangeLog<PodRow>, 'since' | 'version'> | undefined;
  /** Returns the newest usage; `undefined` until the first reading. */
  usage(): UsageSample | undefined;
  /** Returns the newest facts about the node; `undefined` until the first reading. */
  facts(): NodeFacts | undefined;
  story(namespace: string, name: string): PodStory;
  /** Resolves at the next reading. */
  changed(): Promise<void>;
}

/**
 * Returns the row of a pod, with the cause if the pod is not ready. A cause contains times, so it is not computed for
 * each row.
 */
function withWhy(pod: Pod, round: number, node: Pick<DashboardNode, 'explain'>, whys: Watched['whys']): PodRow {
  const row = podRow(pod);
  const { uid, namespace, name } = row;
  if (row.isReady) {
    whys.delete(uid);
    return row;
  }
  const text = JSON.stringify(row);
  const before = whys.get(uid);
  const isOld = before === undefined || before.text !== text || round % WHY_EVERY === 0;
  const why = isOld ? node.explain(namespace, name)?.causes?.[0] : before.why;
  whys.set(uid, { text, why });
  return why === undefined ? row : podRow(pod, why);
}
