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
 * Pod Lifecycle Event Generator (`pkg/kubelet/pleg`): keeps the pod cache in step with the runtime and emits an event
 * for each change.
 *
 * Runtime events, hints and callers that wait for the cache only cause a read of a single pod. Lists of all pods find
 * changes that no event reported. The status inside a runtime event is not used. An event is dated by the wall clock,
 * which may jump, so an event cannot be proved newer than a status that was read. Reading one pod is cheap.
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
  /** UIDs of pods whose last read failed. */
  readonly #failed = new Set<string>();
  /** Logical clock: incremented at each start and end of a read or list. */
  #count = 0;
  /**
   * Whether PLEG relies on the event stream, because the stream has been open long enough. If so, lists only repair
   * missed events.
   */
  #relying = false;
  #lastRelistOk = false;
  /**
   * Whether reading a pod's status has failed since the last list. After a failure, the absence of events does not
   * prove that nothing changed, because the runtime may be failing.
   */
  #suspicious = false;
  #lastRelistMs: number | undefined;
  #activeAtMs: number | undefined;
  /** Ends the wait between two lists. */
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

  /**
   * Lifecycle events, grouped by pod, for one reader. No event is dropped, however slow the reader is. The iteration
   * ends when the PLEG stops.
   */
  get events(): AsyncIterable<PodLifecycleEvent> {
    return this.#events;
  }

  /** Number of pods that the runtime is known to have. */
  get podCount(): number {
    return this.#records.size;
  }

  /** Requests a read of this pod in the next turn of the event loop. */
  hint(uid: string): void {
    this.#looks.requestSoon(uid);
  }

  /**
   * Returns why the runtime counts as unresponsive, in upstream's wording. Returns `undefined` if the runtime responds.
   */
  healthy(): string | undefined {
    const { relistThresholdMs } = this.#options;
    const thresholdMs = this.#relying ? this.#options.repairPeriodMs + relistThresholdMs : relistThresholdMs;
    return plegHealth({ activeAtMs: this.#activeAtMs, nowMs: this.#components.clock.monotonic(), thresholdMs });
  }

  /**
   * Watches the runtime until `signal` is aborted. Resolves when all reads have finished.
   * @throws PlegError `AlreadyStarted` if the PLEG was started before
   */
  async start(signal: AbortSignal): Promise<void> {
    if (this.#stop !== undefined) throw new PlegError('AlreadyStarted', 'the PLEG has already been started');
    const stop = new AbortController();
    this.#stop = stop;
    const onAbort = (): void => stop.abort(signal.reason);
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    this.#looks.start(stop.signal);
    this.#components.cache.onWait((uid) => this.#looks.request(uid));
    // The stream is opened before the first list, so that changes during the first list arrive as events.
    this.#ended = Promise.all([this.#stream.run(stop.signal), this.#relistUntil(stop.signal)]);
    await this.#ended;
    signal.removeEventListener('abort', onAbort);
    this.#components.cache.onWait(undefined);
    this.#settling.stop();
    await this.#looks.stopped();
    this.#events.close();
  }

  /** Stops the PLEG and waits until `start` has finished. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop?.abort(new DOMException('the PLEG is being stopped', 'AbortError'));
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

  /** Waits for `ms`, or until {@link #poke} is called because the next list is due earlier. */
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
    // The runtime has recovered, so failed reads are retried without waiting for their back-off.
    if (!wasOk) this.#looks.retryNow();
    const openSinceMs = this.#stream.openSinceMs;
    if (!this.#relying && openSinceMs !== undefined && startMs >= openSinceMs + this.#options.relistPeriodMs) {
      // The stream was open for at least one relist period before this list began, so no change can be missed between
      // stream and list.
      this.#relying = true;
      this.#metrics.connections.inc({});
      logger.info({}, 'Relying on the events of the container runtime');
    }
  }

  /** Compares a list with the known pods. Requests a read of each pod that differs. */
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

  /** Reads one pod. Returns whether the read succeeded. */
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
      // A list that ended during this read showed a different state, and this read may be older. Therefore the status
      // is only stored in the cache, and no events are derived from it.
      this.#looks.request(uid);
      if (!isGone(seen.snapshot)) this.#remember(status, startMs);
      return true;
    }
    this.#tell(uid, next, status, startMs);
    this.#running.update(uid, this.#records.get(uid)?.snapshot);
    return true;
  }

  /** Stores the observed status in the cache, then emits the events. */
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
    // ContainerChanged is not delivered, because no reader uses it. Upstream does not deliver it either.
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
    // While PLEG relied on the stream, the open stream proved that the runtime responds. From now on, lists must prove
    // that.
    this.#relying = false;
    this.#sawActive(nowMs);
    this.#relistDue = true;
    this.#poke();
    this.#components.onStreamLost?.();
  }

  /** Records that the runtime responded at a monotonic time. Earlier times than the recorded one are ignored. */
  #sawActive(atMs: number): void {
    if (this.#activeAtMs !== undefined && this.#activeAtMs >= atMs) return;
    this.#activeAtMs = atMs;
    const { clock } = this.#components;
    this.#metrics.lastSeen.set({}, Math.floor((clock.now() - (clock.monotonic() - atMs)) / 1000));
  }

  *#snapshots(): Generator<readonly [string, PodRecord['snapshot']]> {
    for (const [uid, { snapshot }] of this.#records) yield [uid, snapshot];
  }
}
