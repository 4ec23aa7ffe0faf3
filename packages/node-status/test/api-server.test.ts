import { seededRandom } from '@node-agent/async';
import { FakeClock } from '@node-agent/async/testing';
import { FakeApiServer, type FaultRates, seededFaults } from '@node-agent/fake-apiserver';
import { RestClient, resources } from '@node-agent/kube-client';
import { noMetrics, silentLogger } from '@node-agent/telemetry';
import { afterEach, describe, expect, test } from 'vitest';
import { conditionOf, type Lease, type Node } from '../src/node.ts';
import { NodeLease } from '../src/node-lease.ts';
import { NodeStatusManager } from '../src/node-status-manager.ts';
import { restLeaseClient, restNodeClient } from '../src/rest-clients.ts';

const running: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of running.splice(0)) await stop();
});

/** A node with its status manager and its lease that use kube-client with an API server. */
async function setUp(seed = 1) {
  const clock = new FakeClock();
  const api = new FakeApiServer({ clock, random: seededRandom(seed) });
  const rest = new RestClient({ transport: api, clock });
  const host = { addresses: ['10.0.0.1'], memoryPressure: false, runtimeErrors: [] as readonly string[] };
  const common = { clock, random: seededRandom(seed + 1), logger: silentLogger, metrics: noMetrics };
  const nodes = restNodeClient(rest);
  const manager = new NodeStatusManager(
    {
      ...common,
      nodes,
      recorder: { event() {} },
      sources: {
        machine: async () => ({
          machineId: 'm',
          systemUuid: 's',
          bootId: 'b',
          kernelVersion: '6.1.0',
          osImage: 'Debian',
          cpuCount: 2,
          memoryBytes: 2 ** 30,
          swapBytes: 0,
          hugePages: [],
        }),
        network: async () => ({
          hostAddresses: host.addresses,
          namedAddresses: [],
          defaultAddress: host.addresses[0],
        }),
        runtimeVersion: async () => ({ name: 'containerd', version: '2.1.9' }),
        images: async () => [{ repoTags: ['a:1'], repoDigests: [], sizeBytes: 7 }],
        ephemeralStorageBytes: async () => 2 ** 30,
        readiness: () => ({ runtimeErrors: host.runtimeErrors, networkErrors: [] }),
        pressure: () => ({ memory: host.memoryPressure, disk: false, pid: false }),
      },
    },
    { nodeName: 'n1', hostname: 'n1', kubeletVersion: 'v1.36.3+node-agent.0.1.0', architecture: 'amd64' },
  );
  const lease = new NodeLease({ ...common, nodes, leases: restLeaseClient(rest) }, { nodeName: 'n1' });
  const abort = new AbortController();
  const ended = Promise.all([manager.start(abort.signal), lease.start(abort.signal)]);
  running.push(async () => {
    abort.abort();
    await ended;
  });
  await clock.advance(1_000);
  const only = <T>(objects: readonly unknown[]): T => {
    expect(objects).toHaveLength(1);
    // The cast is safe: objects that the server stores under the resource's plural have its type.
    return objects[0] as T;
  };
  const node = (): Node => only<Node>(api.objects('nodes'));
  const leaseAgeMs = (): number => clock.now() - Date.parse(only<Lease>(api.objects('leases')).spec?.renewTime ?? '');
  return { clock, api, rest, host, node, leaseAgeMs, only };
}

describe('node status with an API server', () => {
  test('the node is registered and ready, and owns its lease', async () => {
    const { api, node, only, leaseAgeMs } = await setUp();
    expect(conditionOf(node(), 'Ready')?.status).toBe('True');
    const lease = only<Lease>(api.objects('leases'));
    expect(lease.metadata).toMatchObject({ namespace: 'kube-node-lease', name: 'n1' });
    expect(lease.metadata.ownerReferences).toEqual([
      { apiVersion: 'v1', kind: 'Node', name: 'n1', uid: node().metadata.uid },
    ]);
    expect(leaseAgeMs()).toBeLessThan(1_001);
  });

  test('node addresses are replaced, and fields of other writers are kept', async () => {
    const { clock, rest, host, node } = await setUp();
    const theirs = { conditions: [{ type: 'GpuHealthy', status: 'True' }] };
    const patch = { metadata: { annotations: { theirs: 'x' } }, status: theirs };
    await rest.patch(resources.nodes, { type: 'strategic', body: patch }, { name: 'n1', subresource: 'status' });
    host.addresses = ['fd00::1'];
    host.memoryPressure = true;
    await clock.advance(30_000);
    expect(node().status?.addresses).toEqual([
      { type: 'InternalIP', address: 'fd00::1' },
      { type: 'Hostname', address: 'n1' },
    ]);
    expect(conditionOf(node(), 'MemoryPressure')?.status).toBe('True');
    expect(conditionOf(node(), 'GpuHealthy')?.status).toBe('True');
    expect(node().metadata.annotations?.theirs).toBe('x');
  });

  test('the node is registered again after it was deleted, and after the server lost its data', async () => {
    const { clock, api, rest, node, leaseAgeMs } = await setUp();
    const { uid } = node().metadata;
    await rest.delete(resources.nodes, { name: 'n1' });
    await clock.advance(12_000);
    expect(node().metadata.uid).not.toBe(uid);
    api.wipe();
    await clock.advance(12_000);
    expect(conditionOf(node(), 'Ready')?.status).toBe('True');
    expect(leaseAgeMs()).toBeLessThan(11_000);
  });

  test('N6: node and lease recover within seconds after the API server was down for an hour', async () => {
    const { clock, api, host, node, leaseAgeMs } = await setUp();
    api.refuseConnections();
    host.runtimeErrors = ['container runtime is down'];
    await clock.advance(3_600_000);
    api.acceptConnections();
    await clock.advance(11_000);
    expect(conditionOf(node(), 'Ready')).toMatchObject({ status: 'False', message: 'container runtime is down' });
    expect(leaseAgeMs()).toBeLessThan(11_000);
  });

  test.each([1, 2, 3, 4, 5, 6, 7, 8])(
    'N6: random API faults delay lease renewals by less than 40 s and the status only briefly (seed %i)',
    async (seed) => {
      const { clock, api, host, node, leaseAgeMs } = await setUp(seed * 100);
      const rates: FaultRates = { request: 0.3, kinds: ['delay', 'status', 'hang', 'reset', 'answerLost', 'truncate'] };
      api.faults.useSource(seededFaults(seededRandom(seed), rates));
      let faults = 0;
      api.onRequest(({ fault }) => {
        if (fault !== undefined) faults++;
      });
      const random = seededRandom(seed + 50);
      for (let step = 0; step < 60; step++) {
        await clock.advance(10_000);
        // The node counts as alive for 40 s after a renewal.
        expect(leaseAgeMs()).toBeLessThan(40_000);
        host.memoryPressure = random.next() < 0.5;
      }
      expect(faults).toBeGreaterThan(30);
      api.faults.useSource(seededFaults(seededRandom(seed), {}));
      await clock.advance(60_000);
      expect(conditionOf(node(), 'MemoryPressure')?.status).toBe(host.memoryPressure ? 'True' : 'False');
      expect(leaseAgeMs()).toBeLessThan(11_000);
    },
  );
});
