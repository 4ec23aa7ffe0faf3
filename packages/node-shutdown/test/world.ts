import { abortable, Channel, sleep } from '@node-agent/async';
import { FakeClock } from '@node-agent/async/testing';
import { MemoryFileSystem } from '@node-agent/host/testing';
import type { Pod } from '@node-agent/pod-spec';
import { MemoryEventRecorder, MetricsRegistry } from '@node-agent/telemetry';
import { captureLogger } from '@node-agent/telemetry/testing';
import {
  type Inhibitor,
  type InhibitorLock,
  type Logind,
  type LogindSession,
  NodeShutdownError,
  NodeShutdownManager,
  type PriorityGracePeriod,
} from '../src/index.ts';

export const NODE = { kind: 'Node', name: 'n1' } as const;

/** An in-memory logind with its locks, and the pods of a node. */
export class World {
  readonly clock: FakeClock = new FakeClock();
  readonly fs: MemoryFileSystem = new MemoryFileSystem();
  readonly metrics: MetricsRegistry = new MetricsRegistry();
  readonly recorder: MemoryEventRecorder = new MemoryEventRecorder(() => this.clock.now());
  readonly log: ReturnType<typeof captureLogger> = captureLogger();
  readonly ending: AbortController = new AbortController();
  /** Events in their order, with the seconds at which they happened. */
  readonly story: string[] = [];
  active: Pod[] = [];
  /** Seconds that a pod takes to terminate, by pod name. A pod without an entry uses its whole grace period. */
  readonly ends: Map<string, number> = new Map();
  /** Names of pods whose volumes are never unmounted. */
  readonly mounted: Set<string> = new Set();
  changes = 0;

  delayMs = 5_000;
  /** Whether logind reloads its configuration on request. */
  follows = true;
  preparing = false;
  logindProblem: string | undefined;
  lockProblem: string | undefined;
  /** Whether lock requests get no answer. */
  lockHangs = false;
  /** Called at each lock request. */
  beforeLock: () => void = () => undefined;
  /** Number of the next locks that are lost as soon as they are granted. */
  lostLocks = 0;
  sessions: Channel<boolean>[] = [];
  readonly locks: Set<() => void> = new Set();
  #started: Promise<void> | undefined;

  manager(gracePeriods: readonly PriorityGracePeriod[], withTimes = true): NodeShutdownManager {
    return new NodeShutdownManager(
      {
        ...{ clock: this.clock, fs: this.fs, metrics: this.metrics, recorder: this.recorder, logger: this.log.logger },
        ...{ logind: this.#logind(), inhibitor: this.#inhibitor() },
        pods: {
          active: () => this.active,
          kill: async (pod, { statusFn, gracePeriodSeconds }, signal) => {
            const { name } = pod.metadata;
            const { reason } = statusFn({ phase: 'Running' });
            this.#note(`${name} has ${gracePeriodSeconds} s (${reason})`);
            await sleep(this.clock, (this.ends.get(name) ?? gracePeriodSeconds) * 1000, signal);
            this.active = this.active.filter((one) => one !== pod);
            this.#note(`${name} ended`);
          },
        },
        volumes: { podVolumesExist: async (uid) => this.mounted.has(uid.slice('uid-'.length)) },
        onShutdownChanged: () => void this.changes++,
      },
      { nodeRef: NODE, gracePeriods, ...(withTimes && { stateDirectory: '/var/lib/kubelet' }) },
    );
  }

  async start(gracePeriods: readonly PriorityGracePeriod[]): Promise<NodeShutdownManager> {
    await this.fs.mkdir('/var/lib/kubelet');
    const manager = this.manager(gracePeriods);
    this.#started = manager.start(this.ending.signal);
    await this.clock.advance(0);
    return manager;
  }

  /** Stops the manager and waits until it has stopped. */
  async stop(): Promise<void> {
    this.ending.abort(new Error('stopped'));
    await this.#started;
  }

  async say(isShuttingDown: boolean): Promise<void> {
    this.sessions.at(-1)?.push(isShuttingDown);
    await this.clock.advance(0);
  }

  async text(path: string): Promise<string> {
    return new TextDecoder().decode(await this.fs.readFile(path));
  }

  errors(): readonly string[] {
    return this.log.lines
      .filter(({ level }) => level === 'error')
      .map(({ message, fields: { err } }) => (err instanceof Error ? `${message}: ${err.message}` : message));
  }

  #note(what: string): void {
    this.story.push(`${this.clock.monotonic() / 1000} s: ${what}`);
  }

  #logind(): Logind {
    return {
      connect: async () => {
        if (this.logindProblem !== undefined) throw new NodeShutdownError('Logind', this.logindProblem);
        const shutdowns = new Channel<boolean>();
        this.sessions.push(shutdowns);
        const session: LogindSession = {
          shutdowns,
          inhibitDelayMs: async () => this.delayMs,
          isPreparingForShutdown: async () => this.preparing,
          reloadConfiguration: async () => {
            if (!this.follows) return;
            const path = '/etc/systemd/logind.conf.d/99-kubelet.conf';
            const text = await this.text(path);
            // logind reloads its configuration some time after the request.
            void sleep(this.clock, 1_200).then(() => {
              this.delayMs = Number(/^InhibitDelayMaxSec=(\d+)$/m.exec(text)?.[1]) * 1000;
            });
          },
          close: () => shutdowns.close(),
        };
        return session;
      },
    };
  }

  #inhibitor(): Inhibitor {
    return {
      acquire: async (signal): Promise<InhibitorLock> => {
        this.beforeLock();
        if (this.lockHangs) await abortable(new Promise(() => {}), signal);
        if (this.lockProblem !== undefined) throw new NodeShutdownError('Inhibit', this.lockProblem);
        const { promise: ended, resolve } = Promise.withResolvers<void>();
        const end = (): void => {
          if (this.locks.delete(end)) this.#note('the lock is given back');
          resolve();
        };
        this.locks.add(end);
        if (this.lostLocks-- > 0) end();
        return { ended, release: async () => end() };
      },
    };
  }
}
