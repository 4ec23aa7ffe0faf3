import { abortable, checkComponents, checkOptions, sleep } from '@node-agent/async';
import type { RuntimePod, RuntimePodStatus } from '@node-agent/pod-spec';
import { LastingProblem, type WithDefaults, withDefaults } from '@node-agent/telemetry';
import type { PlegComponents, PlegOptions } from './components.ts';
import { describeEvents } from './describe-events.ts';
import { PlegError } from './errors.ts';
import { EventQueue } from './event-queue.ts';
import { EventStream } from './event-stream.ts';
import { plegHealth } from './health.ts';
import { Looks } from './looks.ts';
import { createPlegMetrics, type PlegMetrics, RunningCounts } from './metrics.ts';
import { podIps } from './pod-ips.ts';
import { observe, type PodRecord } from './records.ts';
import { SettlingNews } from './settling-news.ts';
import { isGone, snapshotOf } from './snapshot.ts';
import type { PlegRuntimeEvent, PodLifecycleEvent } from './types.ts';

/**
 * The Pod Lifecycle Event Generator: keeps the pod cache as the runtime is, and tells what changed (`pkg/kubelet/pleg`).
 *
 * Lists of all pods are the truth. Events of the runtime, hints and those who wait for the cache only spur: they lead to a reading of that pod
 * alone. An event's own content is not used: when it was made is known by the wall clock only, which may jump, so that it can never
 * be proved to be newer than what was read, and a reading costs little.
 */
export class Pleg implements AsyncDisposable {
  readonly #components: WithDefaults<PlegComponents>;
  readonly #options: Required<PlegOptions>;
  readonly #metrics: PlegMetrics;
  readonly #listing: LastingProblem;
  readonly #running: RunningCounts;
  readonly #looks: Looks;
  readonly #stream: EventStream;
  readonly #settling: SettlingNews;
  readonly #events = new EventQueue();
  readonly #records = new Map<string, PodRecord>();
  /** Pods whose last reading failed. */
  readonly #failed = new Set<string>();
  /** Beginnings and ends of looks and lists are counted. */
  #count = 0;
  /** Events have come for long enough to be relied upon: lists only repair. */
  #relying = false;
  #lastRelistOk = false;
  /** A reading has failed since the last list: the runtime may be ill, its silence is not to be taken for rest. */
  #suspicious = false;
  #lastRelistMs: number | undefined;
  #activeAtMs: number | undefined;
  /** Ends the pause between two lists. */
  #poke: () => void = () => {};
  #relistDue = true;
  #stop: AbortController | undefined;
  #ended: Promise<unknown> = Promise.resolve();

  constructor(given: PlegComponents, options: PlegOptions = {}) {
    const asked = checkOptions('Pleg', options, {
      relistPeriodMs: 'positive?',
      repairPeriodMs: 'positive?',
      relistThresholdMs: 'positive?',
      settleMs: 'notNegative?',
      maxConcurrentReads: 'limit?',
    });
    checkComponents('Pleg', given, {
      runtime: ['getPods', 'getPodStatus'],
      cache: [
        'get',
        'list',
        'hasSeen',
        'getNewerThan',
        'runningPods',
        'newestAsked',
        'set',
        'setError',
        'delete',
        'updateTime',
        'settle',
        'onWait',
      ],
    });
    const components = withDefaults(given);
    const { clock, cache, metrics } = components;
    this.#components = components;
    this.#options = {
      relistPeriodMs: 1000,
      repairPeriodMs: 300_000,
      relistThresholdMs: 180_000,
      settleMs: 1000,
      maxConcurrentReads: 10,
      ...asked,
    };
    this.#metrics = createPlegMetrics(metrics);
    this.#listing = new LastingProblem(components.logger, {
      ...{ failed: 'Unable to list the pods of the container runtime', level: 'error' },
      over: 'The container runtime lists its pods again',
    });
    this.#running = new RunningCounts(this.#metrics);
    this.#looks = new Looks(
      {
        ...components,
        look: (uid, signal) => this.#look(uid, signal),
        notBefore: (uid) => cache.newestAsked(uid),
        settled: (uid) => cache.settle(uid),
      },
      this.#options.maxConcurrentReads,
    );
    this.#settling = new SettlingNews(
      {
        clock,
        snapshot: (uid) => this.#records.get(uid)?.snapshot,
        look: (uid) => this.#looks.requestSoon(uid),
      },
      this.#options.settleMs,
    );
    this.#stream = new EventStream(
      {
        ...components,
        metrics: this.#metrics,
        onEvent: (event) => this.#onEvent(event),
        onLost: () => this.#onStreamLost(clock.monotonic()),
      },
      this.#options.repairPeriodMs,
    );
  }

  /** What happened, pod by pod; for one reader. Nothing is dropped, however slow it is. Ends when the generator does. */
  get events(): AsyncIterable<PodLifecycleEvent> {
    return this.#events;
  }

  /** How many pods the runtime is known to have. */
  get podCount(): number {
    return this.#records.size;
  }

  /** Asks for a look at this pod now. */
  hint(uid: string): void {
    this.#looks.requestSoon(uid);
  }

  /** `undefined` where the runtime answers, else what is wrong, in upstream's words. */
  healthy(): string | undefined {
    const { relistThresholdMs } = this.#options;
    const thresholdMs = this.#relying ? this.#options.repairPeriodMs + relistThresholdMs : relistThresholdMs;
    return plegHealth({ activeAtMs: this.#activeAtMs, nowMs: this.#components.clock.monotonic(), thresholdMs });
  }

  /**
   * Watches the runtime until `signal` is aborted; resolves when all readings have ended.
   * @throws PlegError `AlreadyStarted`
   */
  async start(signal: AbortSignal): Promise<void> {
    if (this.#stop !== undefined) throw new PlegError('AlreadyStarted', 'the generator was started before');
    const stop = new AbortController();
    this.#stop = stop;
    const onAbort = (): void => stop.abort(signal.reason);
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    this.#looks.start(stop.signal);
    this.#components.cache.onWait((uid) => this.#looks.request(uid));
    // The stream is opened first: what happens during the first list is news then.
    this.#ended = Promise.all([this.#stream.run(stop.signal), this.#relistUntil(stop.signal)]);
    await this.#ended;
    signal.removeEventListener('abort', onAbort);
    this.#components.cache.onWait(undefined);
    this.#settling.stop();
    await this.#looks.stopped();
    this.#events.close();
  }

  /** Ends what `start` began, and waits for it. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop?.abort(new DOMException('the generator is being stopped', 'AbortError'));
    await this.#ended;
    await this.#looks.stopped();
  }

  #onEvent(event: PlegRuntimeEvent): void {
    const urgent = event.kind === undefined || event.kind === 'stopped';
    if (urgent) this.#looks.requestSoon(event.podUid);
    else this.#settling.add(event);
  }

  async #relistUntil(signal: AbortSignal): Promise<void> {
    const { clock } = this.#components;
    while (!signal.aborted) {
      this.#relistDue = false;
      await this.#relist(signal);
      const endMs = clock.monotonic();
      for (
        let pauseMs = this.#periodMs;
        pauseMs > 0 && !signal.aborted;
        pauseMs = endMs + this.#periodMs - clock.monotonic()
      ) {
        if (this.#relistDue) break;
        await this.#pause(pauseMs, signal);
      }
    }
  }

  get #periodMs(): number {
    const atRest = this.#relying && this.#lastRelistOk && !this.#suspicious;
    return atRest ? this.#options.repairPeriodMs : this.#options.relistPeriodMs;
  }

  /** Waits, but no longer than until something makes the period shorter. */
  async #pause(ms: number, signal: AbortSignal): Promise<void> {
    const poked = new AbortController();
    const end = (): void => poked.abort();
    this.#poke = end;
    signal.addEventListener('abort', end, { once: true });
    await sleep(this.#components.clock, ms, poked.signal).catch(() => {});
    signal.removeEventListener('abort', end);
  }

  async #relist(signal: AbortSignal): Promise<void> {
    const { clock, runtime, cache, logger } = this.#components;
    const startMs = clock.monotonic();
    const beganAt = ++this.#count;
    if (this.#lastRelistMs !== undefined) {
      this.#metrics.relistInterval.observe({}, (startMs - this.#lastRelistMs) / 1000);
    }
    this.#lastRelistMs = startMs;
    let pods: readonly RuntimePod[];
    try {
      pods = await abortable(runtime.getPods(signal), signal);
    } catch (err) {
      if (!signal.aborted) this.#listing.failed(err);
      this.#lastRelistOk = false;
      return;
    } finally {
      this.#metrics.relistDuration.observe({}, (clock.monotonic() - startMs) / 1000);
    }
    this.#listing.over();
    const wasOk = this.#lastRelistOk;
    this.#lastRelistOk = true;
    this.#suspicious = false;
    this.#sawActive(startMs);
    cache.list(pods);
    this.#compare(pods, beganAt, startMs);
    cache.updateTime(startMs, this.#looks.pending);
    this.#running.set(this.#snapshots());
    // The runtime is back: what failed while it was away need not wait.
    if (!wasOk) this.#looks.retryNow();
    const openSinceMs = this.#stream.openSinceMs;
    if (!this.#relying && openSinceMs !== undefined && startMs >= openSinceMs + this.#options.relistPeriodMs) {
      // The stream stood when this list began, and long enough before: nothing can have fallen in between.
      this.#relying = true;
      this.#metrics.connections.inc({});
      logger.info({}, 'Relying on the events of the container runtime');
    }
  }

  /** Compares a list with what is known, and has those pods looked at that are not as they were. */
  #compare(pods: readonly RuntimePod[], beganAt: number, startMs: number): void {
    const endedAt = ++this.#count;
    const listed = new Map(pods.map((pod) => [pod.uid, pod]));
    for (const uid of new Set([...this.#records.keys(), ...listed.keys()])) {
      const pod = listed.get(uid);
      const known = this.#records.get(uid);
      const names = { name: pod?.name ?? '', namespace: pod?.namespace ?? '' };
      const next = observe(known, { kind: 'list', uid, ...names, snapshot: snapshotOf(pod), beganAt, endedAt });
      const gone = next !== undefined && isGone(next.snapshot);
      if (next === undefined) {
        this.#looks.request(uid);
      } else if (next.snapshot === known?.snapshot) {
        if (gone && next.claim === undefined && next.events.length === 0) this.#records.delete(uid);
        else this.#records.set(uid, next);
      } else if (gone && !this.#looks.isRunning(uid)) {
        this.#tell(uid, next, undefined, startMs);
      } else {
        this.#records.set(uid, next);
        this.#looks.request(uid);
      }
    }
  }

  /** Reads one pod; whether it could. */
  async #look(uid: string, signal: AbortSignal): Promise<boolean> {
    const { clock, runtime, cache, logger } = this.#components;
    const startMs = clock.monotonic();
    const beganAt = ++this.#count;
    const { name = '', namespace = '' } = this.#records.get(uid) ?? {};
    this.#settling.drop(uid);
    let status: RuntimePodStatus;
    try {
      status = await abortable(runtime.getPodStatus(uid, name, namespace, signal), signal);
    } catch (error) {
      if (signal.aborted) throw error;
      logger.error({ err: error, podUid: uid, pod: `${namespace}/${name}` }, 'Unable to read the status of a pod');
      this.#failed.add(uid);
      cache.setError(uid, error instanceof Error ? error : new Error(String(error)), startMs);
      this.#suspicious = true;
      this.#poke();
      return false;
    } finally {
      this.#metrics.podRelistDuration.observe({}, (clock.monotonic() - startMs) / 1000);
    }
    if (this.#activeAtMs !== undefined) this.#sawActive(startMs);
    const names = { name: status.name, namespace: status.namespace };
    const seen = {
      kind: 'look' as const,
      uid,
      ...names,
      snapshot: snapshotOf(status),
      beganAt,
      endedAt: ++this.#count,
    };
    const next = observe(this.#records.get(uid), seen);
    if (next === undefined) {
      // A list has shown something else meanwhile. What this look saw may be older: it is news for the cache, but proves nothing.
      this.#looks.request(uid);
      if (!isGone(seen.snapshot)) this.#remember(status, startMs);
      return true;
    }
    this.#tell(uid, next, status, startMs);
    this.#running.set(this.#snapshots());
    return true;
  }

  /** Puts into the cache what was seen, then tells what happened. */
  #tell(uid: string, record: PodRecord, status: RuntimePodStatus | undefined, startMs: number): void {
    const before = this.#components.cache.get(uid)?.status;
    if (status === undefined || isGone(record.snapshot)) {
      this.#components.cache.delete(uid, startMs);
      if (status === undefined || record.claim === undefined) this.#records.delete(uid);
      else this.#records.set(uid, { ...record, events: [] });
    } else {
      this.#remember(status, startMs);
      this.#records.set(uid, { ...record, events: [] });
    }
    // Nobody uses ContainerChanged; upstream does not send it either.
    const events = record.events.filter((event) => event.type !== 'ContainerChanged');
    const recovered = this.#failed.delete(uid);
    if (recovered && record.events.length === 0) events.push({ podUid: uid, type: 'PodSync' });
    this.#events.push(uid, describeEvents(events, record, before, status));
    this.#logDeaths(events, record, status);
  }

  #remember(status: RuntimePodStatus, startMs: number): void {
    const { cache } = this.#components;
    const ips = podIps(status, cache.get(status.uid)?.status);
    cache.set(status.uid, ips === status.ips ? status : { ...status, ips }, startMs);
  }

  #logDeaths(
    events: readonly PodLifecycleEvent[],
    { name, namespace }: PodRecord,
    status: RuntimePodStatus | undefined,
  ): void {
    for (const { type, podUid, containerId } of events) {
      const container = status?.containers.find(({ id }) => id === containerId);
      if (type !== 'ContainerDied' || container === undefined) continue;
      const { exitCode } = container;
      this.#components.logger.debug(
        { podUid, pod: `${namespace}/${name}`, containerId, exitCode },
        'Container finished',
      );
    }
  }

  #onStreamLost(nowMs: number): void {
    if (!this.#relying) return;
    // Until now its standing told that the runtime was there. What it would have told from now on, lists must.
    this.#relying = false;
    this.#sawActive(nowMs);
    this.#relistDue = true;
    this.#poke();
  }

  /** The runtime was there at this time, by the monotonic clock; it may be known already that it was there later. */
  #sawActive(atMs: number): void {
    if (this.#activeAtMs !== undefined && this.#activeAtMs >= atMs) return;
    this.#activeAtMs = atMs;
    const { clock } = this.#components;
    this.#metrics.lastSeen.set({}, Math.floor((clock.now() - (clock.monotonic() - atMs)) / 1000));
  }

  *#snapshots(): Generator<PodRecord['snapshot']> {
    for (const { snapshot } of this.#records.values()) yield snapshot;
  }
}
