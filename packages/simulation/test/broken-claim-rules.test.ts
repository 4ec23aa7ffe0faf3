import type { GrpcTransport } from '@node-agent/grpc';
import { expect, test } from 'vitest';
import { claimLeft, type Decorations, type PodPlan, type Scenario } from '../src/index.ts';
import { changed, healthy, quietNode, seenBroken, steps } from './mutants.ts';

function pod(name: string): PodPlan {
  return { ...healthy, name, uid: `${name}-u`, claim: 'own' };
}

function scenario(actions: Scenario['actions']): Scenario {
  return { ...quietNode, node: { ...quietNode.node, cluster: true, claims: { devices: 2 } }, actions };
}

const comeAndGo = scenario([
  { atMs: 3000, do: 'apiCreate', pod: pod('a1') },
  { atMs: 15_000, do: 'apiDelete', name: 'a1', uid: 'a1-u', force: false },
]);
const twoPods = scenario([
  { atMs: 3000, do: 'apiCreate', pod: pod('a1') },
  { atMs: 8000, do: 'apiCreate', pod: pod('a2') },
]);

type Unary = ReturnType<GrpcTransport['client']>['unary'];
type Request = { readonly claims: readonly { readonly uid: string }[] };

/** Changes the calls of the driver. */
function calling(
  change: (name: string, request: Request, call: () => Promise<object>) => Promise<object>,
): Decorations {
  return {
    devices: (transport) => ({
      server: (options) => transport.server(options),
      client(components, options) {
        const client = transport.client(components, options);
        const unary: Unary = async (rpc, request, how) => {
          const call = async () => (await client.unary(rpc, request, how)) as object;
          return (await change(rpc.name, request as unknown as Request, call)) as never;
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

/** Returns a response of the driver that has the same result for each claim. */
function answer({ claims }: Request, result: object): object {
  return { claims: Object.fromEntries(claims.map(({ uid }) => [uid, result])) };
}

const prepared = {
  error: '',
  devices: [{ requestNames: [], poolName: 'node', deviceName: 'r0', cdiDeviceIds: ['example.com/device=r0'] }],
};

/** Delays the creation of sandboxes while a call of the driver is in progress. */
function stalling(): Decorations {
  let asked: Promise<unknown> = Promise.resolve();
  return {
    ...calling(async (_name, _request, call) => {
      const answer = call();
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
    'W6',
    'a DRA driver that hangs delays other pods',
    stalling,
    {
      ...scenario([
        { atMs: 3000, do: 'draFault', call: 'prepare', fault: 'hang', forMs: 60_000 },
        { atMs: 8000, do: 'apiCreate', pod: pod('a1') },
        { atMs: 9500, do: 'apiCreate', pod: { ...healthy, name: 'a2', uid: 'a2-u' } },
      ]),
      faultsEndMs: 70_000,
    },
  ],
  [
    'N11',
    'a claim is taken for prepared without its driver',
    () =>
      calling(async (name, request, call) =>
        name === 'NodePrepareResources' ? answer(request, prepared) : await call(),
      ),
    comeAndGo,
  ],
  [
    'N11',
    'the driver gives two claims one device',
    () =>
      calling(async (name, request, call) => {
        const real = await call();
        return name === 'NodePrepareResources' ? answer(request, prepared) : real;
      }),
    twoPods,
  ],
  [
    'N11',
    'a claim is never unprepared',
    () =>
      calling(async (name, request, call) =>
        name === 'NodeUnprepareResources' ? answer(request, { error: '' }) : await call(),
      ),
    comeAndGo,
  ],
  [
    'N11',
    'a claim is unprepared while a container runs',
    () =>
      steps((inner) => ({
        syncTerminatingPod: async (pod, status, ...rest) =>
          await inner.syncTerminatingPod(pod, { ...status, containers: [], sandboxes: [] }, ...rest),
      })),
    comeAndGo,
  ],
]);

test('N11: claimLeft reports a prepared claim that no pod wants, and no claim of a wanted pod', () => {
  const plan = pod('a1');
  const of = (pods: readonly PodPlan[]) => ({ wanted: new Map(pods.map((one) => [one.uid, one])) });
  const claims = { prepared: ['a1-u-claim'] };
  expect(claimLeft({ claims, pods: of([plan]) } as never)).toBeUndefined();
  expect(claimLeft({ claims, pods: of([]) } as never)).toBe('a1-u-claim is prepared although no pod wants it');
});
