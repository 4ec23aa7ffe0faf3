import { GrpcError, type GrpcTransport } from '@node-agent/grpc';
import type { FileSystem } from '@node-agent/host';
import { expect, test } from 'vitest';
import { type Decorations, type PodPlan, type Scenario, simulate } from '../src/index.ts';
import { changed, changedFiles, healthy, quietNode, seenBroken } from './mutants.ts';

const GPU = 'example.com/gpu';

function scenario(count: number, actions: Scenario['actions'], faultsEndMs: number = quietNode.faultsEndMs): Scenario {
  const devices = [{ resource: GPU, count, registersAfterMs: 300 }];
  return { ...quietNode, faultsEndMs, node: { ...quietNode.node, devices }, actions };
}

function asking(name: string, more: Partial<PodPlan> = {}): PodPlan {
  return { ...healthy, name, uid: `${name}-u`, devices: { main: { [GPU]: 1 } }, ...more };
}

const onePod = scenario(2, [{ atMs: 6000, do: 'writeManifest', file: 'p1.yaml', pod: asking('p1') }]);

/** The second pod requests the device of the first pod, which was allocated by an earlier kubelet. */
const twoPods = scenario(1, [
  { atMs: 2000, do: 'writeManifest', file: 'p1.yaml', pod: asking('p1') },
  { atMs: 9000, do: 'restartKubelet', downMs: 1000 },
  { atMs: 20_000, do: 'writeManifest', file: 'p2.yaml', pod: asking('p2') },
]);

const beginsAnew = scenario(2, [
  { atMs: 2000, do: 'writeManifest', file: 'p1.yaml', pod: asking('p1') },
  { atMs: 9000, do: 'restartKubelet', downMs: 1000 },
  { atMs: 12_000, do: 'deviceIll', resource: GPU, id: 'd0', forMs: 20_000 },
  { atMs: 15_000, do: 'killContainer', nth: 0, exitCode: 1, oomKilled: false },
]);

const hanging = scenario(
  2,
  [
    { atMs: 3000, do: 'pluginFault', resource: GPU, fault: 'hang', forMs: 60_000 },
    { atMs: 8000, do: 'writeManifest', file: 'p1.yaml', pod: asking('p1') },
    { atMs: 9000, do: 'writeManifest', file: 'p2.yaml', pod: { ...healthy, name: 'p2', uid: 'p2-u' } },
  ],
  70_000,
);

/** Hides the checkpoint of device allocations from the kubelet. */
function forgetful(): Decorations {
  const open: FileSystem['open'] = async (path) => {
    throw Object.assign(new Error(`ENOENT: no such file, open '${path}'`), { code: 'ENOENT' });
  };
  return {
    files: (fs) =>
      changedFiles(fs, {
        open: (path, ...rest) => (path.endsWith('_internal_checkpoint') ? open(path, ...rest) : fs.open(path, ...rest)),
      }),
  };
}

type Unary = ReturnType<GrpcTransport['client']>['unary'];

/** Changes the calls of Allocate. */
function allocating(change: (allocate: () => Promise<object>) => Promise<object>): Decorations {
  return {
    devices: (transport) => ({
      server: (options) => transport.server(options),
      client(components, options) {
        const client = transport.client(components, options);
        const unary: Unary = async (rpc, request, how) => {
          const ask = () => client.unary(rpc, request, how);
          return rpc.name === 'Allocate' ? ((await change(ask as () => Promise<object>)) as never) : await ask();
        };
        return {
          unary,
          connect: (timeoutMs, signal) => client.connect(timeoutMs, signal),
          stream: (rpc, request, signal) => client.stream(rpc, request, signal),
          close: () => client.close(),
        };
      },
    }),
  };
}

/** Delays the creation of sandboxes while a call of a plugin is in progress. */
function stalling(): Decorations {
  let asked: Promise<unknown> = Promise.resolve();
  return {
    ...allocating((allocate) => {
      const answer = allocate();
      asked = answer.catch(() => {});
      return answer;
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
  ['N8', 'the kubelet forgets its device allocations', forgetful, twoPods],
  ['N8', 'a restarted container gets another device', forgetful, beginsAnew],
  [
    'N8',
    'a container does not get the environment of its device plugin',
    () =>
      allocating(async () => ({
        containerResponses: [{ envs: {}, mounts: [], devices: [], annotations: {}, cdiDevices: [] }],
      })),
    onePod,
  ],
  [
    'N8',
    'the message of a rejected pod differs from upstream’s',
    () => allocating(() => Promise.reject(new Error('sorry'))),
    onePod,
  ],
  [
    'N8',
    'a pod is rejected although enough devices are free',
    () => allocating(() => Promise.reject(new GrpcError({ code: 'UNKNOWN', details: 'sorry' }))),
    onePod,
  ],
  ['W6', 'a hanging device plugin delays other pods', stalling, hanging],
]);

test('N8: a pod gets the device of a terminating pod after that pod has ended', async () => {
  const slow = asking('p1', {
    graceSeconds: 10,
    containers: [{ name: 'main', runs: [{}], version: 1, stopDelayMs: 4000 }],
  });
  const seen: string[] = [];
  const result = await simulate(
    scenario(1, [
      { atMs: 2000, do: 'writeManifest', file: 'p1.yaml', pod: slow },
      { atMs: 10_000, do: 'removeManifest', file: 'p1.yaml' },
      { atMs: 10_010, do: 'writeManifest', file: 'p2.yaml', pod: asking('p2') },
    ]),
    { onObservation: (text) => seen.push(text) },
  );
  expect(result.violation).toBeUndefined();
  expect(seen.flatMap((text) => /p\d-u\/main .*(started|ended)/.exec(text)?.[0].replace(/ .* /, ' ') ?? [])).toEqual([
    'p1-u/main started',
    'p1-u/main ended',
    'p2-u/main started',
  ]);
});
