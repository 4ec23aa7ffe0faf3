import type { GrpcTransport } from '@node-agent/grpc';
import { expect, test } from 'vitest';
import { type CsiCall, conflicting, type Decorations, type PodPlan, type Scenario, simulate } from '../src/index.ts';
import { changed, changedFiles, healthy, quietNode, seenBroken, steps } from './mutants.ts';

const DISK = 'disk.csi.example.com';
const shared = { name: 'v0', driver: DISK, accessMode: 'ReadWriteOnce' } as const;
const exclusive = { name: 'v1', driver: DISK, accessMode: 'ReadWriteOncePod' } as const;
const block = { name: 'v2', driver: DISK, accessMode: 'ReadWriteOnce', block: true } as const;

function pod(name: string, csi: NonNullable<PodPlan['csi']> = [shared]): PodPlan {
  return { ...healthy, name, uid: `${name}-u`, csi };
}

function scenario(actions: Scenario['actions']): Scenario {
  const csi = {
    drivers: [{ name: DISK, attach: true, stage: true }],
    volumes: [shared, exclusive, block],
    attachMs: 100,
  };
  return { ...quietNode, node: { ...quietNode.node, cluster: true, csi }, actions };
}

const gone = (name: string, atMs: number) => ({ atMs, do: 'apiDelete', name, uid: `${name}-u`, force: false }) as const;
const kill = { do: 'killKubelet', afterCalls: 0, effect: 'before', inFlight: 'cancelled', downMs: 500 } as const;

const comeAndGo = scenario([
  { atMs: 100, do: 'apiCreate', pod: pod('a1', [shared, block]) },
  { atMs: 8000, do: 'apiCreate', pod: pod('a2') },
  gone('a1', 15_000),
  gone('a2', 25_000),
]);
const handedOver = scenario([
  { atMs: 100, do: 'apiCreate', pod: pod('a1', [exclusive]) },
  { atMs: 8000, do: 'apiCreate', pod: pod('a2', [exclusive]) },
  gone('a1', 15_000),
]);
const killed = scenario([{ atMs: 100, do: 'apiCreate', pod: pod('a1') }, { atMs: 8000, ...kill }, gone('a1', 15_000)]);
const publishUnsure = scenario([
  { atMs: 0, do: 'csiFault', driver: DISK, call: 'publish', fault: 'lost', forMs: 6000 },
  { atMs: 100, do: 'apiCreate', pod: pod('a1') },
]);

type Unary = ReturnType<GrpcTransport['client']>['unary'];
type Call = (request: object) => Promise<object>;

/** Returns an empty response, which the client of a driver decodes itself. */
const empty = (): object => ({});

/** Changes the calls of drivers. */
function calling(change: (name: string, request: Record<string, unknown>, call: Call) => Promise<object>): Decorations {
  return {
    devices: (transport) => ({
      server: (options) => transport.server(options),
      client(components, options) {
        const client = transport.client(components, options);
        const unary: Unary = async (rpc, request, how) => {
          const call: Call = (asked) => client.unary(rpc, asked as never, how) as Promise<object>;
          return (await change(rpc.name, request as Record<string, unknown>, call)) as never;
        };
        return {
          unary,
          connect: (timeoutMs, signal) => client.connect(timeoutMs, signal),
          stream: (rpc, request, how) => client.stream(rpc, request, how),
          close: () => client.close(),
        };
      },
    }),
  };
}

/** Clears `volumesInUse` in each status of the node that a later kubelet than the first sends. */
function forgetful(): Decorations {
  let kubelets = 0;
  return {
    files: (fs) => {
      kubelets++;
      return fs;
    },
    api: (request) => async (asked, signal) => {
      if (asked.body === undefined || kubelets < 2 || !asked.path.endsWith('/nodes/node/status')) {
        return await request(asked, signal);
      }
      const { status, ...body } = JSON.parse(String(asked.body)) as { readonly status?: object };
      return await request(
        { ...asked, body: JSON.stringify({ ...body, status: { ...status, volumesInUse: [] } }) },
        signal,
      );
    },
  };
}

/** Delays the creation of sandboxes while a call of a driver is in progress. */
function stalling(): Decorations {
  let asked: Promise<unknown> = Promise.resolve();
  return {
    ...calling(async (_name, request, call) => {
      const answer = call(request);
      asked = answer.catch(() => {});
      return await answer;
    }),
    cri: (cri) =>
      changed(cri, {
        runPodSandbox: async (request, signal) => {
          await asked;
          return await cri.runPodSandbox(request, signal);
        },
      }),
  };
}

seenBroken([
  [
    'V1',
    'a pod is taken for terminated while its containers run',
    () => steps(() => ({ syncTerminatingPod: async () => ({}) })),
    scenario([{ atMs: 100, do: 'apiCreate', pod: pod('a1') }, gone('a1', 10_000)]),
  ],
  [
    'V2',
    'the answer of the driver comes before it has finished',
    () =>
      calling(async (name, request, call) => {
        if (name !== 'NodePublishVolume') return await call(request);
        void call(request).catch(() => {});
        return empty;
      }),
    scenario([
      { atMs: 0, do: 'csiFault', driver: DISK, call: 'publish', fault: 'hang', forMs: 20_000 },
      { atMs: 100, do: 'apiCreate', pod: pod('a1') },
      gone('a1', 8000),
    ]),
  ],
  [
    'V2',
    'a volume is staged twice',
    () =>
      calling(async (name, request, call) => {
        const answer = await call(request);
        return name === 'NodeStageVolume' ? await call(request) : answer;
      }),
    comeAndGo,
  ],
  [
    'V3',
    'the kubelet takes a failure for success',
    () =>
      calling(async (name, request, call) => {
        const answer = call(request);
        return name === 'NodePublishVolume' ? await answer.catch(() => empty) : await answer;
      }),
    publishUnsure,
  ],
  ['V4', 'the next kubelet does not report the volumes of the former one', forgetful, killed],
  [
    'V5',
    'a container starts without its volume',
    () => calling(async (name, request, call) => (name === 'NodePublishVolume' ? empty : await call(request))),
    comeAndGo,
  ],
  [
    'S5',
    'a pod is finished before its volumes are unpublished',
    () => calling(async (name, request, call) => (name === 'NodeUnpublishVolume' ? empty : await call(request))),
    scenario([{ atMs: 100, do: 'apiCreate', pod: pod('a1', [block]) }, gone('a1', 10_000)]),
  ],
  [
    'W6',
    'a CSI driver that hangs delays other pods',
    stalling,
    {
      ...scenario([
        { atMs: 3000, do: 'csiFault', driver: DISK, call: 'stage', fault: 'hang', forMs: 60_000 },
        { atMs: 8000, do: 'apiCreate', pod: pod('a1') },
        { atMs: 9500, do: 'apiCreate', pod: { ...healthy, name: 'a2', uid: 'a2-u' } },
      ]),
      faultsEndMs: 70_000,
    },
  ],
  [
    'V6',
    'a volume stays staged although its pods are gone',
    () => calling(async (name, request, call) => (name === 'NodeUnstageVolume' ? empty : await call(request))),
    comeAndGo,
  ],
  [
    'V6',
    'the directories of a volume are left',
    () => ({
      files: (fs) =>
        changedFiles(fs, {
          removeAll: async (path) => (path.includes('/volumeDevices/') ? undefined : await fs.removeAll(path)),
        }),
    }),
    comeAndGo,
  ],
]);

test('V7: a ReadWriteOncePod volume is published to the next pod when the first pod is gone', async () => {
  const seen: string[] = [];
  const result = await simulate(handedOver, { onObservation: (text) => seen.push(text) });
  expect(result.violation).toBeUndefined();
  const calls = seen.flatMap(
    (text) => /: ((?:un)?publish v1) at \S*\/pods\/(a\d-u)\/.*: acted/.exec(text)?.slice(1, 3).join(' ') ?? [],
  );
  expect(calls).toEqual(['publish v1 a1-u', 'unpublish v1 a1-u', 'publish v1 a2-u']);
});

const call = (what: CsiCall['call'], path: string, volume = 'v0'): CsiCall => ({
  driver: DISK,
  call: what,
  volume,
  path,
});

test.each([
  [call('stage', '/s'), call('stage', '/s'), true],
  [call('unstage', '/s'), call('stage', '/s'), true],
  [call('unstage', '/s'), call('publish', '/p1'), true],
  [call('publish', '/p1'), call('unstage', '/s'), true],
  [call('unpublish', '/p1'), call('publish', '/p1'), true],
  [call('expand', '/p1'), call('unpublish', '/p1'), true],
  [call('publish', '/p1'), call('publish', '/p2'), false],
  [call('stage', '/s', 'v1'), call('stage', '/s'), false],
  [{ ...call('stage', '/s'), driver: 'other' }, call('stage', '/s'), false],
])(
  'V2: a conflict between the new CSI call %o and the call %o in progress is detected: %s',
  (next, running, expected) => {
    expect(conflicting(next, [running]) !== undefined).toBe(expected);
  },
);
