import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FakeDraPlugin, type FakeDraPluginOptions } from '@node-agent/dra/testing';
import { foundPlugin } from '@node-agent/plugin-watcher/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { containerId, script } from '../e2e/test-node.ts';
import { withCluster } from './clusters.ts';
import type { TestCluster } from './test-cluster.ts';
import { FOREVER } from './workloads.ts';

const DRIVER = 'gpu.example.com';
const API = '/apis/resource.k8s.io/v1';
const CLAIMS = `${API}/namespaces/default/resourceclaims`;
const SLICES = `${API}/resourceslices`;
const DEVICES = ['gpu-0', 'gpu-1', 'gpu-2'];
/** Extended resource of the device class. */
const EXTENDED = 'example.com/gpu';

interface Result {
  readonly device: string;
  readonly request: string;
}

interface Claim {
  readonly metadata: { readonly name: string; readonly uid: string };
  readonly status?: {
    readonly allocation?: { readonly devices?: { readonly results?: readonly Result[] } };
  };
}

/** Creates the DeviceClass, the ResourceClaimTemplate and the ResourceClaim that the pods of the tests refer to. */
async function addDriverObjects(it: TestCluster): Promise<void> {
  const selectors = [{ cel: { expression: `device.driver == "${DRIVER}"` } }];
  const kind = (name: string) => ({ apiVersion: 'resource.k8s.io/v1', kind: name });
  await it.create(`${API}/deviceclasses`, {
    ...kind('DeviceClass'),
    metadata: { name: 'gpu' },
    spec: { selectors, extendedResourceName: EXTENDED },
  });
  const devices = { requests: [{ name: 'card', exactly: { deviceClassName: 'gpu' } }] };
  await it.create(`${API}/namespaces/default/resourceclaimtemplates`, {
    ...kind('ResourceClaimTemplate'),
    metadata: { name: 'one-gpu' },
    spec: { spec: { devices } },
  });
  await it.create(CLAIMS, { ...kind('ResourceClaim'), metadata: { name: 'shared' }, spec: { devices } });
}

async function publish(it: TestCluster): Promise<void> {
  await it.create(SLICES, {
    ...{ apiVersion: 'resource.k8s.io/v1', kind: 'ResourceSlice' },
    metadata: { name: 'e2e-gpus' },
    spec: {
      ...{ driver: DRIVER, nodeName: 'e2e', pool: { name: 'e2e', generation: 1, resourceSliceCount: 1 } },
      devices: DEVICES.map((name) => ({ name })),
    },
  });
}

const slices = async (it: TestCluster): Promise<number> =>
  (await it.get<{ items: readonly unknown[] }>(SLICES))?.items.length ?? 0;

const resultOf = (claim: Claim | undefined): Result =>
  claim?.status?.allocation?.devices?.results?.[0] ?? { device: 'none', request: 'none' };

/** Returns the spec of a pod that prints the variable that its CDI device sets. */
const podSpec = (resources: object, resourceClaims: readonly object[] = []): object => ({
  containers: [script('c', `echo "card=$CARD"; ${FOREVER}`, { resources })],
  ...(resourceClaims.length > 0 && { resourceClaims }),
});
const fromTemplate = podSpec({ claims: [{ name: 'gpu' }] }, [{ name: 'gpu', resourceClaimTemplateName: 'one-gpu' }]);
const ofShared = podSpec({ claims: [{ name: 'gpu', request: 'card' }] }, [
  { name: 'gpu', resourceClaimName: 'shared' },
]);

/** Returns what the container of a pod printed. */
async function said(it: TestCluster, name: string): Promise<string> {
  return it.until(`the output of ${name}`, async () => {
    const folder = (await readdir(it.node.podLogs)).find((entry) => entry.startsWith(`default_${name}_`));
    return /card=.*/.exec(await readFile(join(it.node.podLogs, folder ?? '', 'c/0.log'), 'utf8'))?.[0];
  });
}

await withCluster('resource claims of pods', { subnet: '10.199.87.0/24' }, (cluster) => {
  let plugin: FakeDraPlugin;
  /** Functions that replace the driver's default handling of the next claims. */
  let behaviour: Pick<FakeDraPluginOptions, 'prepare' | 'unprepare'> = {};

  /**
   * Starts a new plugin of the driver and waits until the kubelet has registered the plugin. Removes the socket of a
   * previous plugin.
   */
  async function plug(): Promise<void> {
    const it = cluster();
    const socketPath = join(it.node.rootDir, 'plugins_registry/gpu.sock');
    await rm(socketPath, { force: true });
    const registered = Promise.withResolvers<void>();
    plugin = new FakeDraPlugin({
      socketPath,
      services: [
        foundPlugin({
          ...{ type: 'DRAPlugin', name: DRIVER, versions: ['v1.DRAPlugin', 'v1beta1.DRAPlugin'] },
          onStatus: (error) => (error === undefined ? registered.resolve() : registered.reject(new Error(error))),
        }),
      ],
      health: DEVICES.map((deviceName) => ({ device: { poolName: 'e2e', deviceName }, health: 1 })),
      async prepare(claim, signal) {
        if (behaviour.prepare) return await behaviour.prepare(claim, signal);
        const { device, request } = resultOf(await it.get<Claim>(`${CLAIMS}/${claim.name}`));
        const cdiDeviceIds = [`example.com/gpu=${device}`];
        return { devices: [{ requestNames: [request], poolName: 'e2e', deviceName: device, cdiDeviceIds }] };
      },
      unprepare: async (claim, signal) => (await behaviour.unprepare?.(claim, signal)) ?? {},
    });
    await plugin.start();
    await registered.promise;
  }

  beforeAll(async () => {
    const it = cluster();
    const devices = DEVICES.map((name) => ({ name, containerEdits: { env: [`CARD=${name}`] } }));
    const file = join(it.containerd.cdiDir, 'gpu.json');
    await writeFile(file, JSON.stringify({ cdiVersion: '0.6.0', kind: 'example.com/gpu', devices }));
    await addDriverObjects(it);
    await plug();
    await publish(it);
  });
  afterAll(() => plugin?.stop());

  test('a pod with a claim from a template gets its device and shows its health, and the claim is unprepared when the pod ends', async () => {
    const it = cluster();
    await it.createPod('own', fromTemplate);
    const { status } = await it.readyPod('own');
    const claimName = status?.resourceClaimStatuses?.[0]?.resourceClaimName ?? '';
    const { device } = resultOf(await it.get<Claim>(`${CLAIMS}/${claimName}`));
    expect(DEVICES).toContain(device);
    expect(await said(it, 'own')).toBe(`card=${device}`);
    const resources = [{ resourceID: `example.com/gpu=${device}`, health: 'Healthy' }];
    expect(status?.containerStatuses?.[0]?.allocatedResourcesStatus).toEqual([{ name: 'claim:gpu', resources }]);
    expect(await it.node.page('/metrics')).toContain(`dra_resource_claims_in_use{driver_name="${DRIVER}"} 1`);

    plugin.setHealth([{ device: { poolName: 'e2e', deviceName: device }, health: 2, message: 'too hot' }]);
    await it.podUntil('own', (pod) =>
      JSON.stringify(pod.status?.containerStatuses?.[0]?.allocatedResourcesStatus ?? []).includes('"too hot"'),
    );
    await it.deletePod('own');
    expect(plugin.calls.map(({ rpc, claims }) => [rpc, claims])).toEqual([
      ['NodePrepareResources', [claimName]],
      ['NodeUnprepareResources', [claimName]],
    ]);
    await it.until(
      'the claim to be gone',
      async () => (await it.get(`${CLAIMS}/${claimName}`)) === undefined || undefined,
    );
  });

  test('K1: two pods share a claim, also over a kill -9 of the kubelet, until the last one is deleted', async () => {
    const it = cluster();
    plugin.calls.length = 0;
    await it.createPod('one', ofShared);
    const one = await it.readyPod('one');
    await it.node.kill('SIGKILL');
    await it.node.start();
    await it.createPod('two', ofShared);
    const two = await it.readyPod('two');
    expect(await said(it, 'two')).toBe(await said(it, 'one'));
    expect(containerId(await it.readyPod('one'))).toBe(containerId(one));
    await it.deletePod('one');
    const { uid } = (await it.get<Claim>(`${CLAIMS}/shared`))?.metadata ?? { uid: '' };
    expect([...plugin.prepared]).toEqual([uid]);
    expect(containerId(await it.readyPod('two'))).toBe(containerId(two));
    await it.deletePod('two');
    await it.until('the claim to be given back', async () => plugin.prepared.size === 0 || undefined);
    // The restarted kubelet calls NodePrepareResources again for its first new pod; drivers must treat the call as
    // idempotent.
    const rpcs = plugin.calls.map(({ rpc }) => rpc);
    expect(rpcs).toEqual(['NodePrepareResources', 'NodePrepareResources', 'NodeUnprepareResources']);
    // At its start, the kubelet removed stale ResourceSlices, including the test's slice. A real driver would publish
    // its slice again.
    expect(await slices(it)).toBe(0);
    await publish(it);
  });

  test('a pod gets an extended resource from a claim that the scheduler creates', async () => {
    const it = cluster();
    await it.createPod('extended', podSpec({ limits: { [EXTENDED]: '1' }, requests: { [EXTENDED]: '1' } }));
    const { status } = await it.readyPod('extended');
    const name = status?.extendedResourceClaimStatus?.resourceClaimName ?? '';
    expect(await said(it, 'extended')).toBe(`card=${resultOf(await it.get<Claim>(`${CLAIMS}/${name}`)).device}`);
    await it.deletePod('extended');
  });

  test('a pod waits while its driver fails, with an event, and terminates only after its driver has unprepared the claim', async () => {
    const it = cluster();
    const unprepare = async () => ({ error: 'busy' });
    behaviour = { prepare: async () => ({ error: 'no power' }), unprepare };
    await it.createPod('slow', fromTemplate);
    const why =
      /^Failed to prepare dynamic resources: prepare dynamic resources: NodePrepareResources failed for ResourceClaim slow-gpu-\w+: no power$/;
    await it.eventUntil('slow', 'FailedPrepareDynamicResources', why);
    behaviour = { unprepare };
    const { metadata } = await it.readyPod('slow');
    await it.plane.request('DELETE', '/api/v1/namespaces/default/pods/slow');
    await it.gone(metadata.uid);
    await it.until('a failed call', async () => plugin.calls.at(-1)?.rpc === 'NodeUnprepareResources' || undefined);
    expect((await it.pod('slow'))?.status?.phase).toBe('Running');
    behaviour = {};
    await it.deletePod('slow');
  });

  test('K1: the claim of a pod that was force-deleted while the kubelet was down is unprepared', async () => {
    const it = cluster();
    await it.createPod('gone', fromTemplate);
    const { metadata } = await it.readyPod('gone');
    await it.node.kill('SIGKILL');
    await it.plane.request('DELETE', '/api/v1/namespaces/default/pods/gone?gracePeriodSeconds=0');
    await it.node.start();
    await it.gone(metadata.uid);
    await it.until('the claim to be given back', async () => plugin.prepared.size === 0 || undefined, 90_000);
    await publish(it);
  });

  test("the ResourceSlices of a driver are removed 30 s after the driver's socket disappeared", async () => {
    const it = cluster();
    expect(await slices(it)).toBe(1);
    plugin.stop();
    await rm(plugin.socketPath, { force: true });
    const waitedMs = await it.timed(() =>
      it.until('the slices to be removed', async () => (await slices(it)) === 0 || undefined),
    );
    expect(waitedMs).toBeGreaterThan(25_000);
    await it.createPod('late', podSpec({ claims: [{ name: 'gpu' }] }, [{ name: 'gpu', resourceClaimName: 'shared' }]));
    await it.eventUntil('late', 'FailedScheduling', /cannot allocate all claims/);
    await plug();
    await publish(it);
    await it.readyPod('late');
    await it.deletePod('late');
  });
});
