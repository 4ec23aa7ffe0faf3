import type { FakeClock } from '@node-agent/async/testing';
import { FakeApiServer } from '@node-agent/fake-apiserver';
import { RestClient } from '@node-agent/kube-client';
import type { Pod } from '@node-agent/pod-spec';
import type { Pod as ApiPod } from '@node-agent/pod-spec/api';
import { clusterPart } from '../src/cluster.ts';
import type { AssemblySettings } from '../src/ports.ts';
import { makeWorld, type StartedKubelet, startKubelet, type World } from './node.ts';

type StartedPorts = NonNullable<Parameters<typeof startKubelet>[4]>;

/** An in-memory machine that is a node of a cluster, and the API server of that cluster. */
export interface ClusterWorld extends World {
  readonly api: FakeApiServer;
  readonly client: RestClient;
  readonly start: (ports?: StartedPorts, changes?: Partial<AssemblySettings>) => StartedKubelet;
}

export async function makeCluster(): Promise<ClusterWorld> {
  const world = await makeWorld();
  const { clock, random } = world;
  const api = new FakeApiServer({ clock, random });
  const client = new RestClient({ transport: api, clock });
  const machine = {
    machineId: 'm',
    systemUuid: 's',
    bootId: 'b',
    kernelVersion: '6.1',
    osImage: 'Debian',
    cpuCount: 2,
    memoryBytes: 2 ** 30,
    swapBytes: 0,
    hugePages: [],
  };
  const start = (ports: StartedPorts = {}, changes: Partial<AssemblySettings> = {}): StartedKubelet => {
    const cluster = clusterPart(
      {
        requests: client,
        heartbeats: client,
        machine: {
          machine: async () => machine,
          network: async () => ({ hostAddresses: ['192.0.2.1'], namedAddresses: [], defaultAddress: '192.0.2.1' }),
          ephemeralStorageBytes: async () => 2 ** 33,
        },
      },
      {
        node: { hostname: 'n1', kubeletVersion: 'v1.36.3+node-agent.0.0.0', architecture: 'amd64' },
        leaseDurationSeconds: 40,
        changeDetection: 'Watch',
      },
    );
    const started = startKubelet(world, [], cluster, [], ports, changes);
    started.setPods([]);
    return started;
  };
  return { ...world, api, client, start };
}

/** A pod as a client creates it, bound to the node. */
export const boundPod = (name: string, spec: Partial<Pod['spec']> = {}): ApiPod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'default', uid: '' },
  spec: {
    nodeName: 'n1',
    terminationGracePeriodSeconds: 1,
    containers: [{ name: 'main', image: 'busybox', imagePullPolicy: 'Never', command: ['sleep', 'infinity'] }],
    ...spec,
  },
});

/** Advances the time in small steps. */
export const seconds = async (clock: FakeClock, count: number): Promise<void> => {
  for (let i = 0; i < count * 10; i++) await clock.advance(100);
};
