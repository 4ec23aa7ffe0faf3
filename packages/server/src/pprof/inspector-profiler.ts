import type { HeapProfiler, Profiler as InspectorProfilerDomain, Session } from 'node:inspector';
import { type Clock, checkComponents, StartOnce, sleep, untilAborted } from '@node-agent/async';
import { type Logger, type WithDefaults, withDefaults } from '@node-agent/telemetry';
import { ServerError } from '../errors.ts';
import type { Profile } from './profile.ts';
import type { Profiler } from './profiler.ts';
import { TraceEvents } from './trace-events.ts';
import { cpuProfileOf, heapProfileOf } from './v8-profiles.ts';

/** The components of {@link InspectorProfiler}. */
export interface InspectorProfilerComponents {
  readonly clock?: Clock;
  readonly logger?: Logger;
}

/** Go's rates: 100 CPU samples per second, and one heap sample per 512 KiB allocated. */
const CPU_INTERVAL_MS = 10;
const HEAP_INTERVAL_BYTES = 512 * 1024;
const TRACE_CATEGORIES = ['v8', 'node', 'node.perf', 'node.async_hooks'];
const MAX_TRACE_BYTES = 64 * 2 ** 20;

/**
 * Profiles the main thread of this process with V8's sampling profilers, through `node:inspector`. No debugging port is
 * opened.
 */
export class InspectorProfiler implements Profiler {
  readonly #components: WithDefaults<InspectorProfilerComponents>;
  readonly #busy = new Set<string>();
  /** The session that samples the heap while it is open. */
  #heap: Session | undefined;
  /**
   * Whether the heap should be sampled. The field is read again after a session has connected, so that no session stays
   * open after `start` has ended.
   */
  #samples = false;
  readonly #startOnce = new StartOnce('InspectorProfiler');

  constructor(components: InspectorProfilerComponents = {}) {
    checkComponents('InspectorProfiler', components, {});
    this.#components = withDefaults(components);
  }

  /**
   * Samples the heap until `signal` is aborted; heap profiles contain allocations since then. If sampling fails, the
   * reason is logged.
   */
  async start(signal: AbortSignal): Promise<void> {
    this.#startOnce.begin();
    if (signal.aborted) return;
    this.#samples = true;
    try {
      await this.#sampleHeap();
    } catch (err) {
      this.#components.logger.warn({ err }, 'Failed to sample the heap; heap profiles are unavailable');
    }
    await untilAborted(signal);
    this.#samples = false;
    this.#heap?.disconnect();
    this.#heap = undefined;
  }

  async cpu(durationMs: number, signal: AbortSignal): Promise<Profile> {
    return await this.#alone('cpu profiling already in use', async (session) => {
      await post(session, 'Profiler.enable');
      await post(session, 'Profiler.setSamplingInterval', { interval: CPU_INTERVAL_MS * 1000 });
      const timeMs = this.#components.clock.now();
      await post(session, 'Profiler.start');
      // The profiler is stopped even if the result is not used. If the session were only closed, V8 would take hardly
      // any samples for the next profile.
      const stop = () => post<{ profile: InspectorProfilerDomain.Profile }>(session, 'Profiler.stop');
      try {
        await sleep(this.#components.clock, durationMs, signal);
      } catch (error) {
        await stop();
        throw error;
      }
      return cpuProfileOf((await stop()).profile, timeMs, CPU_INTERVAL_MS);
    });
  }

  async heap(): Promise<Profile> {
    const session = this.#heap;
    if (session === undefined) throw new ServerError('Busy', 'the heap is not sampled');
    const { profile } = await post<HeapProfiler.GetSamplingProfileReturnType>(
      session,
      'HeapProfiler.getSamplingProfile',
    );
    return heapProfileOf(profile, 'inuse_space', this.#components.clock.now(), HEAP_INTERVAL_BYTES);
  }

  async allocations(durationMs: number, signal: AbortSignal): Promise<Profile> {
    const { clock } = this.#components;
    const wasSampling = this.#heap !== undefined;
    return await this.#alone('allocation profiling already in use', async (session) => {
      // V8 samples the heap for one session at a time.
      this.#heap?.disconnect();
      this.#heap = undefined;
      try {
        await post(session, 'HeapProfiler.startSampling', {
          samplingInterval: HEAP_INTERVAL_BYTES / 16,
          includeObjectsCollectedByMajorGC: true,
          includeObjectsCollectedByMinorGC: true,
        });
        const timeMs = clock.now();
        await sleep(clock, durationMs, signal);
        const { profile } = await post<HeapProfiler.StopSamplingReturnType>(session, 'HeapProfiler.stopSampling');
        return { ...heapProfileOf(profile, 'alloc_space', timeMs, HEAP_INTERVAL_BYTES / 16), durationMs };
      } finally {
        session.disconnect();
        if (wasSampling) await this.#sampleHeap();
      }
    });
  }

  async trace(durationMs: number, signal: AbortSignal): Promise<Uint8Array> {
    return await this.#alone('tracing is already enabled', async (session) => {
      const events = new TraceEvents(MAX_TRACE_BYTES);
      const complete = new Promise<void>((resolve) => session.once('NodeTracing.tracingComplete', () => resolve()));
      session.on('NodeTracing.dataCollected', ({ params }) => events.add(params.value));
      await post(session, 'NodeTracing.start', { traceConfig: { includedCategories: TRACE_CATEGORIES } });
      try {
        await sleep(this.#components.clock, durationMs, signal);
      } finally {
        await post(session, 'NodeTracing.stop');
        await complete;
      }
      return events.json();
    });
  }

  /**
   * Runs an operation, unless an operation of the same kind is in progress.
   * @param busy the message of the error if one is in progress
   */
  async #alone<T>(busy: string, use: (session: Session) => Promise<T>): Promise<T> {
    if (this.#busy.has(busy)) throw new ServerError('Busy', busy);
    this.#busy.add(busy);
    try {
      const session = await connected();
      try {
        return await use(session);
      } finally {
        // Disconnecting stops everything that the session started.
        session.disconnect();
      }
    } finally {
      this.#busy.delete(busy);
    }
  }

  async #sampleHeap(): Promise<void> {
    const session = await connected();
    await post(session, 'HeapProfiler.startSampling', { samplingInterval: HEAP_INTERVAL_BYTES });
    if (this.#samples) this.#heap = session;
    else session.disconnect();
  }
}

/** Opens an inspector session. The module is loaded on demand, because most nodes are never profiled. */
async function connected(): Promise<Session> {
  const inspector = await import('node:inspector');
  const session = new inspector.Session();
  session.connect();
  return session;
}

function post<T = unknown>(session: Session, method: string, params: object = {}): Promise<T> {
  return new Promise((resolve, reject) => {
    session.post(method, params, (err: Error | null, result?: object) => {
      if (err) reject(err);
      else resolve(result as T);
    });
  });
}
