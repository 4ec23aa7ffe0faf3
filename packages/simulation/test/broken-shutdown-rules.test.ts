import { expect, test } from 'vitest';
import {
  type Action,
  type Decorations,
  type PodPlan,
  type Scenario,
  type ShutdownPorts,
  simulate,
} from '../src/index.ts';
import { healthy, quietNode, seenBroken, steps } from './mutants.ts';

const byPriority = [
  { priority: 0, graceSeconds: 10 },
  { priority: 1000, graceSeconds: 6 },
  { priority: 2_000_000_000, graceSeconds: 4 },
];

function scenario(actions: readonly Action[], more: Partial<Scenario> = {}): Scenario {
  const shutdown = { byPriority, inhibitDelaySeconds: 5 };
  return { ...quietNode, node: { ...quietNode.node, shutdown }, actions, ...more };
}

function pod(name: string, more: Partial<PodPlan> = {}): PodPlan {
  const main = { name: 'main', runs: [{}], version: 1, stopDelayMs: 1500 };
  return { ...healthy, name, uid: `${name}-u`, containers: [main], ...more };
}

function comes(atMs: number, plan: PodPlan): Action {
  return { atMs, do: 'writeManifest', file: `${plan.name}.yaml`, pod: plan };
}

const low = pod('low', { graceSeconds: 30 });
const stuck = pod('stuck', {
  graceSeconds: 30,
  containers: [{ name: 'main', runs: [{}], version: 1, ignoreTerm: true }],
});
const high = pod('high', { priority: 1000, graceSeconds: 5 });
const critical = pod('critical', { critical: true, graceSeconds: 2 });
const three = [comes(500, low), comes(500, high), comes(500, critical)];

const cancelled = scenario([...three, { atMs: 20_000, do: 'shutdown', forMs: 15_000 }, comes(21_000, pod('new'))]);
const withStuck = scenario([...three, comes(500, stuck), { atMs: 20_000, do: 'shutdown', forMs: 19_000 }]);
const missed = scenario([
  ...three,
  { atMs: 18_000, do: 'busAway', forMs: 3000 },
  { atMs: 20_000, do: 'shutdown', forMs: 15_000 },
]);
const long = scenario([...three, { atMs: 20_000, do: 'shutdown', forMs: 90_000 }], {
  faultsEndMs: 120_000,
  node: { ...quietNode.node, cluster: true, shutdown: { byPriority, inhibitDelaySeconds: 5 } },
});
const calm = scenario(three, { faultsEndMs: 120_000 });

/** Changes logind or its locks. */
function changedPorts(ports: (ports: ShutdownPorts) => ShutdownPorts): () => Decorations {
  return () => ({ shutdown: { ports } });
}

type Session = Awaited<ReturnType<ShutdownPorts['logind']['connect']>>;
type Lock = Awaited<ReturnType<ShutdownPorts['inhibitor']['acquire']>>;

function changedSession(
  change: (session: Session, number: number) => Partial<Session> | Promise<never>,
): () => Decorations {
  let number = 0;
  return changedPorts(({ logind, inhibitor }) => ({
    inhibitor,
    logind: {
      connect: async (signal) => {
        const session = await logind.connect(signal);
        return { ...session, ...(await change(session, ++number)) };
      },
    },
  }));
}

function changedLock(change: (lock: Lock) => Partial<Lock>): () => Decorations {
  return changedPorts(({ logind, inhibitor }) => ({
    logind,
    inhibitor: {
      acquire: async (signal) => {
        const lock = await inhibitor.acquire(signal);
        return { ...lock, ...change(lock) };
      },
    },
  }));
}

/** Releases the lock as soon as the kubelet receives the announcement of a shutdown. */
function hasty(): Decorations {
  const locks: Lock[] = [];
  return {
    shutdown: {
      ports: ({ logind, inhibitor }) => ({
        inhibitor: {
          acquire: async (signal) => {
            const lock = await inhibitor.acquire(signal);
            locks.push(lock);
            return lock;
          },
        },
        logind: {
          connect: async (signal) => {
            const session = await logind.connect(signal);
            async function* shutdowns(): AsyncGenerator<boolean> {
              for await (const isShuttingDown of session.shutdowns) {
                if (isShuttingDown) await locks.at(-1)?.release();
                yield isShuttingDown;
              }
            }
            return { ...session, shutdowns: shutdowns() };
          },
        },
      }),
    },
  };
}

async function* onlyCancellations({ shutdowns }: Session): AsyncGenerator<boolean> {
  for await (const isShuttingDown of shutdowns) if (!isShuttingDown) yield false;
}

/** Replaces the reason why the node is not ready in the node's status by a wrong reason. */
function silent(): Decorations {
  return {
    api: (request) => (what, signal) => {
      const { body } = what;
      const text = typeof body === 'string' ? body : new TextDecoder().decode(body);
      if (!text.includes('node is shutting down')) return request(what, signal);
      return request({ ...what, body: text.replaceAll('node is shutting down', 'tired') }, signal);
    },
  };
}

seenBroken([
  [
    'N9',
    'all pods are stopped at the same time regardless of priority',
    () => ({ shutdown: { gracePeriods: () => [{ priority: 0, shutdownGracePeriodSeconds: 20 }] } }),
    cancelled,
  ],
  [
    'N9',
    'a priority group is stopped before the time of the lower one is over',
    () => ({
      shutdown: {
        gracePeriods: (periods) =>
          periods.map(({ priority, shutdownGracePeriodSeconds: seconds }) => ({
            ...{ priority, shutdownGracePeriodSeconds: seconds / 2 },
          })),
      },
    }),
    withStuck,
  ],
  [
    'N9',
    'a pod gets a longer grace period than its group',
    () => ({
      shutdown: {
        gracePeriods: (periods) => periods.map((period) => ({ ...period, shutdownGracePeriodSeconds: 25 })),
      },
    }),
    withStuck,
  ],
  [
    'N9',
    'a pod gets a longer grace period than its spec',
    () =>
      steps((inner) => ({
        syncTerminatingPod: (ended, status, grace, ...rest) =>
          inner.syncTerminatingPod(ended, status, grace === undefined ? grace : grace + 1, ...rest),
      })),
    cancelled,
  ],
  ['N9', 'the inhibitor lock is released before the pods have ended', hasty, cancelled],
  ['N9', 'the inhibitor lock is never released', changedLock(() => ({ release: async () => {} })), long],
  [
    'N9',
    'no inhibitor lock is taken',
    changedPorts(({ logind }) => ({ logind, inhibitor: { acquire: () => Promise.reject(new Error('no')) } })),
    calm,
  ],
  [
    'N9',
    'a pod is started during a shutdown',
    changedSession((session) => ({ shutdowns: onlyCancellations(session) })),
    cancelled,
  ],
  [
    'N9',
    'pods are rejected although no shutdown is in progress',
    changedSession(() => ({ isPreparingForShutdown: async () => true })),
    scenario([comes(8000, low)]),
  ],
  [
    'N9',
    'the kubelet misses a shutdown that started while the system bus was down',
    changedSession((_session, number) => (number > 1 ? new Promise<never>(() => {}) : {})),
    missed,
  ],
  [
    'N9',
    'a status does not give the shutdown as the reason of the termination',
    () =>
      steps((inner) => ({
        syncTerminatingPod: (ended, status, grace, statusFn, signal) =>
          inner.syncTerminatingPod(
            ended,
            status,
            grace,
            statusFn && ((before) => ({ ...statusFn(before), message: 'Sorry.' })),
            signal,
          ),
      })),
    cancelled,
  ],
  ['N9', 'the node does not report its shutdown', silent, long],
]);

/** Returns the events of containers and locks from the shutdown on, with their times in seconds. */
async function story(of: Scenario): Promise<readonly string[]> {
  const seen: string[] = [];
  const result = await simulate(of, { onObservation: (text) => seen.push(text) });
  expect(result.violation).toBeUndefined();
  const told = /^ *(\d+)\.\d+ s {2}(?:(?:(\w+)-u\/main .*(started|received SIGTERM|ended))|(inhibitor lock .*))/;
  return seen.flatMap((text) => {
    const [, seconds, name, what, lock] = told.exec(text) ?? [];
    // The last lock is dropped when the run is over.
    const isOfRun = Number(seconds) >= 20 && lock !== 'inhibitor lock gone: 0 held';
    return isOfRun ? [`${seconds} s: ${lock ?? `${name} ${what}`}`] : [];
  });
}

test('N9: pods end by priority, a stuck pod is killed when the time of its group is over, and the machine powers off', async () => {
  const off: Action = { atMs: 20_000, do: 'shutdown', forMs: 60_000, downMs: 5000 };
  const lines = await story(scenario([comes(500, stuck), comes(500, low), comes(500, high), off]));
  expect(lines).toEqual([
    '20 s: low received SIGTERM',
    '20 s: stuck received SIGTERM',
    '21 s: low ended',
    '30 s: high received SIGTERM',
    '30 s: stuck ended',
    '31 s: high ended',
    '31 s: inhibitor lock released: 0 held',
    // The machine has restarted, and with it the static pods.
    '36 s: inhibitor lock taken: 1 held',
    '37 s: high started',
    '37 s: low started',
    '37 s: stuck started',
  ]);
});

test('N9: after a cancelled shutdown no further pod is terminated, and new pods start', async () => {
  const lines = await story(
    scenario([
      ...three,
      { atMs: 20_000, do: 'shutdown', forMs: 1000 },
      comes(20_500, pod('refused')),
      comes(22_000, pod('later')),
    ]),
  );
  expect(lines.map((line) => line.slice(6))).toEqual(['low received SIGTERM', 'low ended', 'later started']);
});
