import type { NodeSummary } from '@node-agent/contracts';
import { defaultPod, type Pod } from '@node-agent/pod-spec';
import type { DashboardExplanation, DashboardNode, DashboardNodeObject } from '../src/ports.ts';

/** Parts of a pod that tests choose. */
export interface FakePod {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly image?: string;
  readonly state?: 'running' | 'waiting' | 'crashing' | 'done';
  readonly message?: string;
  readonly reason?: string;
  readonly restarts?: number;
  readonly startTime?: string;
}

const STARTED = '2026-11-29T12:00:00Z';

export function fakePod(given: FakePod): Pod {
  const {
    name,
    namespace = 'default',
    uid = `uid-${namespace}-${name}`,
    labels = {},
    image = 'registry.example/web:1',
  } = given;
  const { state = 'running', message = 'back-off 5m0s restarting failed container', restarts = 0 } = given;
  const { reason = 'CrashLoopBackOff', startTime = STARTED } = given;
  const containerID = `containerd://${uid}`;
  const ended = {
    exitCode: 1,
    reason: 'Error',
    finishedAt: STARTED,
    startedAt: STARTED,
    containerID: `${containerID}-0`,
  };
  const states = {
    running: { state: { running: { startedAt: STARTED } }, ready: true, started: true },
    waiting: { state: { waiting: { reason: 'ContainerCreating' } }, ready: false },
    crashing: { state: { waiting: { reason, message } }, lastState: { terminated: ended }, ready: false },
    done: { state: { terminated: { ...ended, exitCode: 0, reason: 'Completed', containerID } }, ready: false },
  };
  const phases = { running: 'Running', waiting: 'Pending', crashing: 'Running', done: 'Succeeded' } as const;
  const pod = defaultPod({
    metadata: { name, namespace, uid, labels: { ...labels } },
    spec: { containers: [{ name: 'main', image }] },
  });
  return {
    ...pod,
    status: {
      phase: phases[state],
      startTime,
      podIP: '10.88.0.7',
      containerStatuses: [
        { name: 'main', image, imageID: image, restartCount: restarts, containerID, ...states[state] },
      ],
    },
  } as Pod;
}

/** A node whose state a test changes. Counts the calls of its methods. */
export class FakeNode implements DashboardNode {
  readonly nodeName = 'edge-7';
  list: Pod[] = [];
  readonly explanations: Map<string, DashboardExplanation> = new Map();
  /** Log of a container by its id; a test may push to it while it is read. */
  readonly logs: Map<string, FakeLog> = new Map();
  statsError: Error | undefined;
  readonly calls: Record<'pods' | 'explain' | 'node' | 'stats', number> = { pods: 0, explain: 0, node: 0, stats: 0 };
  summary: NodeSummary | undefined;
  round = 0;

  pods(): readonly Pod[] {
    this.calls.pods += 1;
    return this.list;
  }

  explain(namespace: string, name: string): DashboardExplanation | undefined {
    this.calls.explain += 1;
    return this.explanations.get(`${namespace}/${name}`);
  }

  problems(): readonly string[] {
    return [];
  }

  eviction(): unknown {
    return {
      conditions: [],
      thresholds: [
        { threshold: 'memory.available<100Mi', available: '6442450944', capacity: '16777216Ki', met: false },
        { threshold: 'nodefs.available<10%', available: '9Gi', capacity: '80Gi', met: false },
        { threshold: 'nodefs.inodesFree<5%', available: '3100000', capacity: '4000000', met: false },
        { threshold: 'pid.available<100 for 90s', met: false },
      ],
      decisions: [],
    };
  }

  async node(): Promise<DashboardNodeObject> {
    this.calls.node += 1;
    const conditions = [
      { type: 'Ready', status: 'True', message: 'kubelet is posting ready status' },
      { type: 'MemoryPressure', status: 'False', message: '' },
    ];
    const nodeInfo = {
      kubeletVersion: 'v1.36.3',
      containerRuntimeVersion: 'containerd://2.4.1',
      kernelVersion: '6.12.48',
      osImage: 'Debian GNU/Linux 13',
      architecture: 'amd64',
    };
    const addresses = [{ type: 'InternalIP', address: '192.0.2.7' }];
    return { status: { capacity: { cpu: '4', pods: '250' }, conditions, nodeInfo, addresses } };
  }

  async stats(): Promise<NodeSummary> {
    this.calls.stats += 1;
    if (this.statsError !== undefined) throw this.statsError;
    return this.summary ?? this.#wave();
  }

  readLog(containerId: string): AsyncIterable<{ readonly data: Uint8Array }> {
    return this.logs.get(containerId) ?? new FakeLog();
  }

  /** Usage that changes with each reading. */
  #wave(): NodeSummary {
    this.round += 1;
    const time = null;
    const swing = (offset: number): number => 0.5 + 0.5 * Math.sin((this.round + offset) / 4);
    const psi = (avg10: number) => ({
      some: { avg10, avg60: 0, avg300: 0, total: 0 },
      full: { avg10: 0, avg60: 0, avg300: 0, total: 0 },
    });
    return {
      node: {
        nodeName: this.nodeName,
        startTime: time,
        cpu: { time, usageNanoCores: 1.1e9 + 0.9e9 * swing(0), psi: psi(4 * swing(2)) },
        memory: {
          time,
          workingSetBytes: 9e9 + 1e9 * swing(3),
          availableBytes: 8e9 - 1e9 * swing(3),
          psi: psi(swing(5)),
        },
        io: { time, psi: psi(9 * swing(1)) },
        fs: { time, capacityBytes: 80 * 2 ** 30, availableBytes: 9 * 2 ** 30, usedBytes: 71 * 2 ** 30 },
      },
      pods: this.list.map(({ metadata: { name, namespace = '', uid } }, index) => ({
        podRef: { name, namespace, uid },
        startTime: time,
        containers: [],
        cpu: { time, usageNanoCores: 4e7 * swing(index), psi: psi(2 * swing(index)) },
        memory: { time, workingSetBytes: 3e7 + 1e6 * index },
        'ephemeral-storage': { time, usedBytes: 81920 },
      })),
    };
  }
}

/** A log that a test writes while it is read. */
export class FakeLog implements AsyncIterable<{ readonly data: Uint8Array }> {
  readonly #chunks: Uint8Array[] = [];
  #hasEnded = false;
  #wake = (): void => {};
  /** Number of readers that have not left. */
  readers = 0;

  write(data: string | Uint8Array): void {
    this.#chunks.push(typeof data === 'string' ? Buffer.from(data) : data);
    this.#wake();
  }

  end(): void {
    this.#hasEnded = true;
    this.#wake();
  }

  [Symbol.asyncIterator](): AsyncIterator<{ readonly data: Uint8Array }> {
    let at = 0;
    let hasLeft = false;
    this.readers += 1;
    const leave = () => {
      if (!hasLeft) this.readers -= 1;
      hasLeft = true;
      this.#wake();
      return Promise.resolve({ done: true as const, value: undefined });
    };
    return {
      next: async () => {
        for (;;) {
          const data = this.#chunks[at];
          if (hasLeft) return { done: true, value: undefined };
          if (data !== undefined) {
            at += 1;
            return { done: false, value: { data } };
          }
          if (this.#hasEnded) return await leave();
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
        }
      },
      return: leave,
    };
  }
}

/** The explanation of a pod whose container keeps crashing. */
export function crashExplanation(now: number): DashboardExplanation {
  const step = (name: string, atMs: number, tookMs: number | undefined, more: object = {}) => ({
    step: name,
    startedAtMs: now - atMs,
    ...(tookMs !== undefined && { endedAtMs: now - atMs + tookMs, outcome: 'done' }),
    ...more,
  });
  return {
    causes: ['main: Error (exit 1), 4 restarts; next restart in 38 s'],
    waitingFor: [
      { what: 'container main: CrashLoopBackOff: back-off 40s', sinceMs: now - 2000, untilMs: now + 38_000 },
    ],
    next: [
      { step: 'CreateContainer', target: 'main' },
      { step: 'StartContainer', target: 'main' },
    ],
    steps: [
      step('Seen', 65_000, 0),
      step('Admission', 64_998, 3),
      step('Volumes', 64_990, 41),
      step('Sandbox', 64_930, 310),
      step('Image', 64_900, 1840, { target: 'registry.example/api:2' }),
      step('CreateContainer', 63_000, 60, { target: 'main', times: 5 }),
      step('StartContainer', 62_900, 85, { target: 'main', times: 5 }),
      step('ContainerEnded', 2000, 0, { target: 'main', outcome: 'failed', message: 'exit 1: no such database' }),
      step('Probe', 1500, undefined, { target: 'readiness of main' }),
    ] as DashboardExplanation['steps'],
    events: [
      {
        type: 'Normal',
        reason: 'Pulled',
        message: 'Container image already present on machine',
        count: 4,
        lastAtMs: now - 9000,
      },
      {
        type: 'Warning',
        reason: 'BackOff',
        message: 'Back-off restarting failed container main',
        count: 12,
        lastAtMs: now - 1000,
      },
    ],
  };
}
