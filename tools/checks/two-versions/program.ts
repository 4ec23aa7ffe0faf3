// Combines managers of one version with clients, test kits and values of another; ../two-versions.mjs installs both
// versions.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as one from './one/all.ts';
import * as other from './other/all.ts';

assert.notEqual(one.kubeClient.KubeError, other.kubeClient.KubeError, 'two copies must be installed');
const directory = await mkdtemp(join(tmpdir(), 'two-versions-'));

/** Checks that `is` of every error class recognises errors of the other version, and no errors of other classes. */
function errorsAreKnown(): number {
  const classes = (side: object): Map<string, unknown> =>
    new Map(
      Object.entries(side).flatMap(([entry, exported]) =>
        Object.entries(exported as object)
          .filter(([, value]) => typeof value === 'function' && value.prototype instanceof Error)
          .map(([name, value]) => [`${entry}.${name}`, value] as const),
      ),
    );
  const [ours, theirs] = [classes(one), classes(other)] as [Map<string, Known>, Map<string, Known>];
  for (const [name, known] of ours) {
    const of = (side: Known): object => Object.create(side.prototype);
    assert.equal(typeof known.is, 'function', `${name} has no is()`);
    for (const [foreign, made] of theirs)
      assert.equal(known.is(of(made)), foreign === name, `${name}.is of ${foreign}`);
    assert.equal(known.is({}) || known.is(undefined) || known.is(new Error(name)), false, name);
  }
  return ours.size;
}

interface Known {
  readonly prototype: object;
  is(value: unknown): boolean;
}

/** Checks that `from` of each class returns an error of the other version unchanged, including its code. */
function codesAreKept(): void {
  const kept = <E extends { readonly code: string }>(error: E, from: (error: unknown) => E, code: string): void => {
    assert.equal(from(error), error);
    assert.equal(from(error).code, code);
  };
  const criError = new one.criClient.CriError({ rpc: 'PullImage', code: 'NOT_FOUND', details: 'no such image' });
  kept(criError, other.criClient.CriError.from, 'NOT_FOUND');
  kept(new one.kubeClient.KubeError({ code: 'Gone', message: 'gone' }), other.kubeClient.KubeError.from, 'Gone');
  kept(new one.volumes.VolumeError('TimedOut', 'late'), other.volumes.VolumeError.from, 'TimedOut');
  kept(new one.objectCache.ObjectCacheError('NotSynced', 'wait'), other.objectCache.ObjectCacheError.from, 'NotSynced');
  kept(new one.network.NetworkError('InvalidHostname', 'no name'), other.network.NetworkError.from, 'InvalidHostname');
  kept(new one.events.EventSinkError('Rejected', 'no'), other.events.EventSinkError.from, 'Rejected');
  kept(new one.status.StatusApiError('Conflict', 'changed'), other.status.StatusApiError.from, 'Conflict');
  kept(new one.nodeStatus.NodeStatusError('NoAddress', 'none'), other.nodeStatus.NodeStatusError.from, 'NoAddress');
}

const pod = {
  metadata: { name: 'web', namespace: 'default', uid: 'uid-1' },
  spec: { containers: [{ name: 'main', image: 'busybox', command: ['sleep', '600'] }] },
};
/** Runs a pod with a client of one version, a pod runtime of the other version and a PLEG of the first version. */
async function podRuns(): Promise<void> {
  const stop = new AbortController();
  const { signal } = stop;
  const endpoint = `unix://${join(directory, 'cri.sock')}`;
  const fs = new other.hostTesting.MemoryFileSystem();
  const images = [one.fakeCri.busyboxImage()];
  const fake = new one.fakeCri.FakeRuntime({ fs }, { images });
  const server = new other.fakeCri.FakeCriServer({ runtime: fake }, { endpoint });
  await server.start();
  const cri = new one.criClient.CriClient({}, { endpoint });
  await cri.connect(signal);
  const events: string[] = [];
  const recorder = {
    event: (_: object, __: string, reason: string, text: string) => void events.push(`${reason}: ${text}`),
  };
  const manager = new other.images.ImageManager({ images: cri, recorder });
  const runtime = new other.runtime.PodRuntime(
    {
      fs,
      cri,
      recorder,
      images: manager,
      network: {
        podDns: async () => ({ servers: [], searches: [], options: [] }),
        hostname: () => ({ hostname: 'web', domain: '' }),
      },
      mounts: { containerMounts: async () => [] },
      probes: { liveness: () => undefined, startup: () => undefined },
      hooks: one.runtime.noHooks,
    },
    { rootDirectory: '/var/lib/kubelet', node: nodeSettings },
  );
  const cache = new other.pleg.PodCache();
  const pleg = new one.pleg.Pleg({ runtime: other.runtime.criPods(cri), cache }, { relistPeriodMs: 50 });
  const watching = pleg.start(signal);
  await runtime.syncPod(pod, await cache.getNewerThan('uid-1', 0, signal), signal);
  const running = (): boolean => cache.get('uid-1')?.status.containers[0]?.state === 'running';
  for await (const event of pleg.events) if (event.podUid === 'uid-1' && running()) break;

  const missing = { name: 'main', image: 'busybox:none', imagePullPolicy: 'Always' };
  fake.faults.add({
    rpc: 'pullImage',
    times: 1,
    fault: { kind: 'error', code: 'NOT_FOUND', message: 'no such image' },
  });
  const pull = manager.ensureImageExists(pod, missing, {}, '', signal);
  await assert.rejects(pull, (error) => one.images.ImageError.is(error) && error.code === 'ErrImagePull');
  fake.faults.add({ rpc: 'pullImage', times: 1, fault: { kind: 'error', code: 'UNKNOWN', message: 'plain words' } });
  const unknownCode = manager.ensureImageExists(pod, { ...missing, image: 'busybox:unknown' }, {}, '', signal);
  await assert.rejects(
    unknownCode,
    { message: 'plain words' },
    'a runtime error with code UNKNOWN is reported without the code',
  );
  for (const known of await runtime.getPods()) await runtime.killPod(pod, known, 1, signal);
  stop.abort();
  await watching;
  await cri.close();
  await server.close();
}

const nodeSettings = {
  podLogsDirectory: '/var/log/pods',
  seccompProfileRoot: '/var/lib/kubelet/seccomp',
  seccompDefault: false,
  extraMaskedPaths: [],
  containerStopSignals: false,
  resources: {
    cgroupVersion: 2,
    cpuCfsQuota: true,
    cpuCfsQuotaPeriodUs: 100_000,
    memoryCapacityBytes: 2 ** 33,
    swapCapacityBytes: 0,
    swapControllerAvailable: false,
    swapBehavior: 'NoSwap',
    hugePageSizes: [],
    singleProcessOomKill: false,
  },
} as const;

/** Uses clients of one version with a reflector, an object cache and a status writer of the other version. */
async function apiServerIsServed(): Promise<void> {
  const stop = new AbortController();
  const { signal } = stop;
  const api = new one.fakeApiserver.FakeApiServer();
  const http = new other.fakeApiserver.FakeApiServerHttp({ api });
  await http.start();
  const connection = { cluster: { server: http.url }, user: {} };
  const clients = new one.kubeClient.KubeClients({ environment: {} }, { connection });
  const client = clients.requests;
  const { pods, secrets } = other.kubeClient.resources;
  const made = await client.create(pods, { ...pod, metadata: { name: 'web', namespace: 'default' } });
  await client.create(secrets, { metadata: { name: 'db', namespace: 'default' }, data: { key: 'dmFsdWU=' } });

  const cache = new one.objectCache.ObjectCache({ client }, { strategy: 'Get' });
  cache.registerPod({ ...made, spec: { ...made.spec, imagePullSecrets: [{ name: 'db' }, { name: 'gone' }] } });
  const objects = other.objectCache.podObjects(cache);
  assert.equal((await objects.getSecret('default', 'db', signal))?.data?.key, 'dmFsdWU=');
  assert.equal(
    await objects.getSecret('default', 'gone', signal),
    undefined,
    'NotFound of the other version must be recognised',
  );

  // A reflector of one version must see the writes of a status writer of the other version. The errors in between have
  // one version and must be recognised by the other.
  api.faults.add({ verb: 'patch', resource: 'pods/status', times: 1, fault: { kind: 'status', code: 409 } });
  const codes: string[] = [];
  const rest = one.status.restStatusApi(client);
  const watched: typeof rest = {
    ...rest,
    patchPodStatus: (...request) =>
      rest.patchPodStatus(...request).catch((error: unknown) => {
        codes.push(other.kubeClient.KubeError.from(error).code, other.status.StatusApiError.from(error).code);
        throw error;
      }),
  };
  const statuses = new one.status.StatusManager({ onChange: (change) => writer.statusChanged(change) });
  const writer = new other.status.StatusWriter({
    statuses,
    api: watched,
    pods: { getPodByUid: () => made, getMirrorPodByPod: () => undefined },
    safety: { couldHaveRunningContainers: () => true, podResourcesAreReclaimed: () => false },
  });
  const reflector = new other.kubeClient.Reflector({ client }, { resource: pods, namespace: 'default' });
  const running = [reflector.start(signal), writer.start(signal)];
  statuses.setPodStatus(made, { phase: 'Running' });
  for await (const change of reflector.changes()) {
    if (change.type === 'changed' && change.object.status?.phase === 'Running') break;
  }
  assert.deepEqual(codes, ['Conflict', 'Conflict']);
  stop.abort();
  await Promise.all(running);
  await clients[Symbol.asyncDispose]();
  await http.close();
}

const count = errorsAreKnown();
codesAreKept();
console.log(`the other version recognises ${count} error classes`);
try {
  await podRuns();
  await apiServerIsServed();
} finally {
  await rm(directory, { recursive: true });
}
console.log('all checks passed');
