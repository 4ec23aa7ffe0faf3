import { performance } from 'node:perf_hooks';
import { ContainerResources } from '@node-agent/cm-resources';
import { nodeFileSystem } from '@node-agent/host';
import type { Pod } from '@node-agent/pod-spec';
import type { Machine } from './compare-sequence.ts';
import type { NodeConfig } from './sequence.ts';
import { regularTopology, type TopologyShape } from './topologies.ts';
import type { Upstream } from './upstream.ts';

/** Two sockets with two NUMA nodes, 128 CPUs. */
export const LARGE: TopologyShape = regularTopology({
  ...{ name: '128 CPUs', sockets: 2, nodesPerSocket: 2, coresPerNode: 16, threads: 2 },
  ...{ memoryMi: 65_536, hugePages: { 2048: 512 }, distance: (from, to) => (from === to ? 10 : 21) },
});

const PODS = 100;

const CONFIG: NodeConfig = {
  ...{ cpuManagerPolicy: 'static', cpuManagerPolicyOptions: {}, reservedSystemCPUs: '0,64' },
  ...{ memoryManagerPolicy: 'Static', topologyManagerPolicy: 'restricted', topologyManagerScope: 'container' },
  ...{ topologyManagerPolicyOptions: {}, featureGates: {} },
  reservedMemory: LARGE.nodes.map(({ id }) => ({ numaNode: id, limits: { memory: '1Gi' } })),
  nodeReservation: { cpu: '2', memory: '4Gi' },
};

/** Duration of each admission in ms, in the order of the admissions, for both sides. */
export interface AdmissionTimes {
  readonly upstream: readonly number[];
  readonly ours: readonly number[];
}

/**
 * Measures the admission of 100 pods with one exclusive CPU and memory of one NUMA node each, on both sides, with state
 * files in the same directory.
 */
export async function admissionTimes(machine: Machine, upstream: Upstream, directory: string): Promise<AdmissionTimes> {
  const pods = Array.from({ length: PODS }, (_, index) => podOf(`pod-${index}`));
  const steps = pods.map((pod) => ({ op: 'admit' as const, pod, devices: {} }));
  const answers = await upstream.run(machine.upstream, { topology: LARGE.name, config: CONFIG, steps });
  if (answers.filter(({ admit }) => admit).length < PODS) throw new Error('upstream did not admit all pods');
  return {
    upstream: answers.flatMap(({ nanoseconds }) => (nanoseconds === undefined ? [] : [nanoseconds / 1e6])),
    ours: await ourTimes(machine, pods, directory),
  };
}

async function ourTimes({ ours }: Machine, pods: readonly Pod[], directory: string): Promise<readonly number[]> {
  const active: Pod[] = [];
  const { featureGates: _, ...config } = CONFIG;
  const resources = new ContainerResources(
    { fs: nodeFileSystem, pods: { active: () => active, sourcesReady: () => true } },
    { ...config, directory, machine: ours },
  );
  await resources.load();
  const times: number[] = [];
  for (const pod of pods) {
    const startedMs = performance.now();
    const verdict = await resources.admit(pod, active, AbortSignal.timeout(60_000));
    times.push(performance.now() - startedMs);
    if (!verdict.admit) throw new Error(`pod ${pod.metadata.uid} was not admitted: ${verdict.message}`);
    active.push(pod);
    resources.admitted(pod);
  }
  return times;
}

function podOf(uid: string): Pod {
  const amounts = { cpu: '1', memory: '512Mi' };
  const container = { name: 'main', image: 'image', resources: { limits: amounts, requests: amounts } };
  return { metadata: { name: uid, namespace: 'default', uid }, spec: { containers: [container] } };
}

/** Returns a table of the times. */
export function timesReport({ upstream, ours }: AdmissionTimes): string {
  const row = (name: string, times: readonly number[]): string => {
    const sorted = times.toSorted((a, b) => a - b);
    const at = (part: number): string => `${(sorted[Math.trunc((sorted.length - 1) * part)] ?? 0).toFixed(1)} ms`;
    const total = times.reduce((sum, time) => sum + time, 0);
    return `${name.padEnd(10)} total ${total.toFixed(0)} ms, median ${at(0.5)}, 99 % ${at(0.99)}, last ${times.at(-1)?.toFixed(1)} ms`;
  };
  return [
    `admission of ${PODS} pods with exclusive CPUs on ${LARGE.name}`,
    row('upstream', upstream),
    row('ours', ours),
    '',
  ].join('\n');
}
