import type { Container, Pod } from '@node-agent/pod-spec';
import { describe, expect, test } from 'vitest';
import { decodeMemoryState, encodeMemoryState } from '../src/state/memory-checkpoint.ts';
import { containerOf, podOf, sidecarOf } from './builders.ts';
import { settle, TestNode } from './helpers.ts';

const shared: Container = { name: 'shared', image: 'x' };

function podLevelPod(uid: string, cpu: string, containers: Container[], inits: Container[] = [], memory = '1Gi'): Pod {
  const amounts = { cpu, memory };
  const pod = podOf(uid, containers, inits);
  return { ...pod, spec: { ...pod.spec, resources: { limits: amounts, requests: amounts } } };
}

const options = {
  podLevelResourceManagers: true,
  topologyManagerPolicy: 'restricted',
  topologyManagerScope: 'pod',
  memoryManagerPolicy: 'Static',
  nodeReservation: { cpu: '1', memory: '1Gi' },
  reservedMemory: [
    { numaNode: 0, limits: { memory: '512Mi' } },
    { numaNode: 1, limits: { memory: '512Mi' } },
  ],
} as const;

// The same rules are compared with upstream's code by `npm run compare-resources`.
describe('pod-level resources with topology manager scope pod', () => {
  test('a pod with pod-level resources gets CPUs and memory of one NUMA node, which its containers divide', async () => {
    const node = new TestNode(options);
    const pod = podLevelPod('a', '4', [containerOf('own', '1', '256Mi'), shared], [sidecarOf('sidecar', '1', '64Mi')]);
    expect(await node.admit(pod)).toEqual({ admit: true });
    expect(['sidecar', 'own', 'shared'].map((name) => node.cpus('a', name))).toEqual(['2', '6', '3,7']);
    expect(node.resources.memoryOf('a', 'own')).toEqual([{ nodes: [1], resource: 'memory', bytes: 2 ** 28 }]);
    const rest = 2 ** 30 - 2 ** 28 - 2 ** 26;
    expect(node.resources.memoryOf('a', 'shared')).toEqual([{ nodes: [1], resource: 'memory', bytes: rest }]);
    expect(node.resources.placementOf('a', 'shared')).toMatchObject({ cpus: '3,7', mems: '1' });
  });

  test('a container with CPUs of its own waits for a terminating pod, also in a pod with a fractional number of CPUs', async () => {
    const node = new TestNode({ podLevelResourceManagers: true });
    expect(await node.admit(podOf('a', [containerOf('main', '6')]))).toEqual({ admit: true });
    node.remove('a');
    node.ending.add('a');
    const verdict = node.admit(podLevelPod('b', '6500m', [containerOf('main', '6', '1Gi'), shared], [], '2Gi'));
    await settle();
    expect(node.waits).toEqual(['b: termination of pod a, which holds CPUs or memory until then']);
    node.ending.delete('a');
    await node.clock.advance(1000);
    expect(await verdict).toEqual({ admit: true });
    expect(node.cpus('b')).toBe('1,2,3,5,6,7');
  });

  test('only containers with exclusive CPUs run without a CFS quota; the pod has no quota if all its containers have exclusive CPUs', async () => {
    const node = new TestNode(options);
    const own = containerOf('own', '1', '256Mi');
    const [mixed, all] = [podLevelPod('a', '2', [own, shared]), podLevelPod('b', '1', [own])];
    await node.admit(mixed);
    await node.admit(all);
    const has = (pod: Pod, container?: Container) => node.resources.hasExclusiveCpus(pod, container);
    expect([has(mixed, own), has(mixed, shared), has(mixed), has(all)]).toEqual([true, false, false, true]);
  });

  test('an init container may use all CPUs and memory of its pod except those of the sidecars before it', async () => {
    const node = new TestNode(options);
    const inits = [sidecarOf('sidecar', '1', '64Mi'), { name: 'init', image: 'x' }];
    await node.admit(podLevelPod('a', '3', [shared], inits));
    expect(['sidecar', 'init', 'shared'].map((name) => node.cpus('a', name))).toEqual(['4', '1,5', '1,5']);
  });

  test.each([
    [
      'CPUs',
      podLevelPod('a', '2', [containerOf('own', '2', '64Mi'), shared]),
      'sum of exclusive container cpu requests equals pod budget, leaving no cpus for shared containers',
    ],
    [
      'CPUs for an init container',
      podLevelPod('a', '1', [containerOf('own', '1', '64Mi')], [sidecarOf('sidecar', '1'), shared]),
      'pod has shared init containers but no cpus available for them',
    ],
    [
      'memory',
      podLevelPod('a', '2', [containerOf('own', '1', '1Gi'), shared]),
      'sum of exclusive container memory requests equals pod budget, leaving no memory for shared containers',
    ],
  ])(
    'a pod with pod-level resources is rejected if its containers with exclusive resources leave no %s',
    async (_what, pod, problem) => {
      const verdict = await new TestNode({ ...options, topologyManagerPolicy: 'best-effort' }).admit(pod);
      expect(verdict).toEqual({ admit: false, reason: 'EmptyPodSharedPoolError', message: `pod rejected, ${problem}` });
      expect(await new TestNode(options).admit(pod)).toEqual({
        ...{ admit: false, reason: 'TopologyAffinityError' },
        message: 'Pod Scope pod with pod-level resources failed admission under pod-scope topology manager',
      });
    },
  );

  test('N12: a pod with pod-level resources keeps its CPUs and memory until it is gone, over restarts of the kubelet', async () => {
    const node = new TestNode(options);
    const pod = podLevelPod('a', '4', [containerOf('own', '1', '256Mi'), shared]);
    await node.admit(pod);
    const files = [await node.file('cpu_manager_state'), await node.file('memory_manager_state')];
    expect(files[0]).toContain('"podEntries":{"a":{"cpuSet":"2-3,6-7"}}');
    await node.restarted().load();
    expect(await node.admit(pod)).toEqual({ admit: true });
    expect([await node.file('cpu_manager_state'), await node.file('memory_manager_state')]).toEqual(files);
    expect(encodeMemoryState(decodeMemoryState(files[1] as string, true))).toBe(files[1]);
    node.remove('a');
    expect(await node.admit(podLevelPod('b', '4', [shared]))).toEqual({ admit: true });
    expect(node.cpus('b', 'shared')).toBe('2,3,6,7');
  });

  test.each(['restricted', 'best-effort'] as const)(
    'N12: a pod that was admitted with the scope container keeps its CPUs and memory after a restart with the scope pod and the policy %s',
    async (topologyManagerPolicy) => {
      const node = new TestNode({ ...options, topologyManagerPolicy });
      node.restarted({ topologyManagerPolicy, topologyManagerScope: 'container' });
      const pod = podLevelPod('a', '4', [containerOf('own', '2', '256Mi'), shared]);
      await node.admit(pod);
      const files = [await node.file('cpu_manager_state'), await node.file('memory_manager_state')];
      node.restarted();
      expect(await node.admit(pod)).toEqual({ admit: true });
      expect([await node.file('cpu_manager_state'), await node.file('memory_manager_state')]).toEqual(files);
      await node.restarted().load();
    },
  );

  test('a pod that is rejected after pod-level CPUs were allocated frees these CPUs', async () => {
    const node = new TestNode({ ...options, topologyManagerPolicy: 'best-effort' });
    const verdict = await node.admit(podLevelPod('a', '4', [shared], [], '99Gi'));
    expect(verdict).toMatchObject({ admit: false, reason: 'UnexpectedAdmissionError' });
    await settle();
    expect(await node.file('cpu_manager_state')).toContain('"defaultCpuSet":"0-7","checksum"');
  });
});

test('metrics count the containers of pods with pod-level resources, and these metrics exist only with the feature gate', async () => {
  const node = new TestNode(options);
  await node.admit(podLevelPod('a', '4', [containerOf('own', '1', '256Mi'), shared, { ...shared, name: 'second' }]));
  await node.admit(podOf('b', [containerOf('main', '1')]));
  const text = await node.metrics.text();
  for (const line of [
    'resource_manager_allocations_total{resource_name="cpu",source="pod"} 3',
    'resource_manager_allocations_total{resource_name="memory",source="node"} 1',
    'resource_manager_container_assignments{resource_name="cpu",assignment_type="pod_exclusive"} 1',
    'resource_manager_container_assignments{resource_name="memory",assignment_type="pod_shared"} 2',
    'resource_manager_container_assignments{resource_name="cpu",assignment_type="node_exclusive"} 1',
  ]) {
    expect(text).toContain(line);
  }
  expect(await new TestNode().metrics.text()).not.toContain('resource_manager_');
});

test('scope container allocates CPUs and memory only to containers whose requests equal their limits', async () => {
  const node = new TestNode({ ...options, topologyManagerScope: 'container' });
  const less = { ...containerOf('less', '1', '256Mi'), resources: { limits: { cpu: '1', memory: '256Mi' } } };
  const burst = { ...less, resources: { ...less.resources, requests: { cpu: '1', memory: '64Mi' } } };
  await node.admit(podLevelPod('a', '4', [containerOf('own', '2', '256Mi'), burst]));
  expect([node.cpus('a', 'own'), node.cpus('a', 'less')]).toEqual(['1,5', '']);
  expect(node.resources.memoryOf('a', 'less')).toEqual([]);
});

test('a pod with pod-level resources gets no exclusive CPUs and no memory allocation if the feature gate PodLevelResourceManagers is off', async () => {
  const node = new TestNode({ ...options, podLevelResourceManagers: false });
  expect(await node.admit(podLevelPod('a', '4', [containerOf('own', '2', '256Mi')]))).toEqual({ admit: true });
  expect(node.cpus('a', 'own')).toBe('');
});
