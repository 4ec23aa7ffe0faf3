import { expect, test } from 'vitest';
import type { ApiRequester, Decorations, InvariantId, PodPlan, Scenario } from '../src/index.ts';
import { simulate } from '../src/index.ts';
import { changed } from './mutants.ts';

const pod: PodPlan = {
  name: 'a1',
  uid: 'a1-u',
  restartPolicy: 'Always',
  graceSeconds: 5,
  emptyDir: true,
  init: [],
  containers: [{ name: 'main', runs: [{}], version: 1, stopDelayMs: 3000 }],
};
const staticPod: PodPlan = { ...pod, name: 'p1', uid: 'p1-u' };

const cluster: Omit<Scenario, 'actions'> = {
  seed: 1,
  node: {
    ...{ backOff: { initialMs: 1000, maxMs: 10_000 }, events: true, latencies: true },
    ...{ http: false, httpDelayMs: 0, cluster: true },
  },
  faultsEndMs: 40_000,
  quietMs: 200_000,
};

const comeAndGo: Scenario = {
  ...cluster,
  actions: [
    { atMs: 100, do: 'apiCreate', pod },
    { atMs: 20_000, do: 'apiDelete', name: 'a1', uid: 'a1-u', force: false },
  ],
};

/**
 * The manifest of a static pod gets another UID while no kubelet is running, and the API server is unreachable from
 * then on.
 */
const uidChangedUnseen: Scenario = {
  ...cluster,
  actions: [
    { atMs: 100, do: 'writeManifest', file: 'p1.yaml', pod: staticPod },
    { atMs: 20_000, do: 'apiAway', forMs: 600_000 },
    { atMs: 20_000, do: 'killKubelet', afterCalls: 0, effect: 'before', inFlight: 'cancelled', downMs: 2000 },
    { atMs: 21_000, do: 'writeManifest', file: 'p1.yaml', pod: { ...staticPod, uid: 'p1-u2' } },
  ],
  faultsEndMs: 621_000,
};

function sandboxesNeedTheApi(): Decorations {
  let answers = true;
  return {
    api: (request) => async (asked, signal) => {
      try {
        const answer = await request(asked, signal);
        answers = true;
        return answer;
      } catch (error) {
        answers = false;
        throw error;
      }
    },
    cri: (cri) =>
      changed(cri, {
        runPodSandbox: async (asked, signal) => {
          if (!answers) throw new Error('not without the API server');
          return cri.runPodSandbox(asked, signal);
        },
      }),
  };
}

/** Changes the kubelet's API requests. */
function requests(change: (inner: ApiRequester) => ApiRequester): Decorations {
  return { api: change };
}

const isStatus = (path: string): boolean => path.endsWith('/status') && path.includes('/pods/');

/** Yields a streamed list without pods, and ends when the client leaves. */
async function* noPods(signal: AbortSignal | undefined): AsyncGenerator<Uint8Array> {
  const metadata = { resourceVersion: '1', annotations: { 'k8s.io/initial-events-end': 'true' } };
  const event = { type: 'BOOKMARK', object: { kind: 'Pod', apiVersion: 'v1', metadata } };
  yield new TextEncoder().encode(`${JSON.stringify(event)}\n`);
  await new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve(), { once: true }));
}

interface Condition {
  readonly type: string;
  readonly status?: string;
  readonly $patch?: string;
}

/** Changes the conditions in the kubelet's status patches. */
function conditions(change: (conditions: readonly Condition[]) => readonly Condition[]): Decorations {
  return requests((inner) => (request, signal) => {
    const body = request.body as string | undefined;
    if (!isStatus(request.path) || body === undefined) return inner(request, signal);
    const patch = JSON.parse(body) as { status: { conditions?: readonly Condition[] } };
    const changed = change(patch.status.conditions ?? []);
    return inner(
      { ...request, body: JSON.stringify({ ...patch, status: { ...patch.status, conditions: changed } }) },
      signal,
    );
  });
}

/** Reports the pod as not ready once, while the kubelet process with this number is at work. */
function unready(number: number): Decorations {
  let kubelets = 0;
  return requests((inner) => {
    let left = ++kubelets === number ? 5 : Number.POSITIVE_INFINITY;
    return async (request, signal) => {
      const body = JSON.stringify({ status: { conditions: [{ type: 'Ready', status: 'False' }] } });
      const headers = { 'content-type': 'application/strategic-merge-patch+json' };
      const path = '/api/v1/namespaces/default/pods/a1/status';
      if (--left === 0) await inner({ ...request, method: 'PATCH', path, headers, body }, signal);
      return inner(request, signal);
    };
  });
}

/** Each change that breaks an invariant, with the invariant that must detect the violation. */
const BROKEN: readonly (readonly [InvariantId, string, Scenario, Decorations])[] = [
  [
    'S2',
    'a terminating pod is reported as terminated',
    comeAndGo,
    requests((inner) => (request, signal) => {
      const body = request.body as string | undefined;
      if (!isStatus(request.path) || body === undefined) return inner(request, signal);
      const patch = JSON.parse(body) as { status: { phase?: string } };
      if (patch.status.phase !== 'Running') return inner(request, signal);
      return inner(
        { ...request, body: JSON.stringify({ ...patch, status: { ...patch.status, phase: 'Failed' } }) },
        signal,
      );
    }),
  ],
  [
    'S5',
    'the API object of a pod is deleted before the pod is cleaned up',
    comeAndGo,
    requests((inner) => async (request, signal) => {
      const answer = await inner(request, signal);
      if (isStatus(request.path)) {
        const path = request.path.replace(/\/status$/, '');
        const body = JSON.stringify({ apiVersion: 'v1', kind: 'DeleteOptions', gracePeriodSeconds: 0 });
        await inner(
          { ...request, method: 'DELETE', path, body, headers: { 'content-type': 'application/json' } },
          signal,
        );
      }
      return answer;
    }),
  ],
  [
    'S8',
    'the final status update is lost and not retried',
    { ...cluster, actions: [{ atMs: 100, do: 'apiCreate', pod }] },
    requests((inner) => (request, signal) => {
      if (!isStatus(request.path)) return inner(request, signal);
      // The request becomes a read, so nothing is written but the response looks right.
      const { body: _body, ...read } = {
        ...request,
        method: 'GET' as const,
        path: request.path.replace(/\/status$/, ''),
      };
      return inner(read, signal);
    }),
  ],
  [
    'S4',
    'the kubelet deletes a condition that it does not own',
    comeAndGo,
    conditions((own) => [...own, { $patch: 'delete', type: 'example.com/foreign' }]),
  ],
  [
    'S6',
    'a restarted kubelet reports a ready pod as not ready',
    {
      ...cluster,
      actions: [
        { atMs: 100, do: 'apiCreate', pod },
        { atMs: 25_000, do: 'killKubelet', afterCalls: 0, effect: 'before', inFlight: 'cancelled', downMs: 500 },
      ],
    },
    unready(2),
  ],
  [
    'S7',
    'a pod is reported as ready although its readiness gate has no condition',
    {
      ...cluster,
      actions: [
        { atMs: 100, do: 'apiCreate', pod: { ...pod, gate: true } },
        { atMs: 20_000, do: 'apiGate', name: 'a1' },
      ],
    },
    conditions((own) => {
      const isTrue = own.some(({ type, status }) => type === 'ContainersReady' && status === 'True');
      return own.map((one) => (one.type === 'Ready' && isTrue ? { ...one, status: 'True' } : one));
    }),
  ],
  [
    'F3',
    'the kubelet does not create mirror pods',
    { ...cluster, actions: [{ atMs: 100, do: 'writeManifest', file: 'p1.yaml', pod: staticPod }] },
    requests((inner) => (request, signal) => {
      const creates = request.method === 'POST' && request.path.endsWith('/pods');
      return inner(creates ? { ...request, path: `${request.path}?dryRun=All` } : request, signal);
    }),
  ],
  [
    'K3',
    'a kubelet that starts without the API server assumes that there are no pods',
    {
      ...cluster,
      actions: [
        { atMs: 100, do: 'apiCreate', pod },
        { atMs: 20_000, do: 'apiAway', forMs: 15_000 },
        { atMs: 25_000, do: 'killKubelet', afterCalls: 0, effect: 'before', inFlight: 'cancelled', downMs: 500 },
      ],
    },
    requests((inner) => async (request, signal) => {
      try {
        return await inner(request, signal);
      } catch (error) {
        if (!request.path.includes('/api/v1/pods?')) throw error;
        return { status: 200, headers: {}, body: noPods(signal) };
      }
    }),
  ],
  ['F4', 'the kubelet creates no sandbox while the API server is unreachable', uidChangedUnseen, sandboxesNeedTheApi()],
  [
    'N6',
    'the kubelet reads the lease but does not renew it',
    { ...cluster, actions: [] },
    requests((inner) => (request, signal) => {
      if (request.method !== 'PUT' || !request.path.includes('/leases/')) return inner(request, signal);
      const { body: _body, ...read } = { ...request, method: 'GET' as const };
      return inner(read, signal);
    }),
  ],
];

for (const [id, what, scenario, decorations] of BROKEN) {
  test(`${id}: the violation is detected if ${what}`, async () => {
    expect((await simulate(scenario)).violation).toBeUndefined();
    const { violation } = await simulate(scenario, { decorations });
    expect(violation?.invariant).toBe(id);
  }, 120_000);
}
