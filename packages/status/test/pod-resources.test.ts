import type { PodSpec } from '@node-agent/pod-spec';
import { expect, test } from 'vitest';
import { generateApiPodStatus } from '../src/generate.ts';
import { makeContext, makePod, runtimeStatus } from './builders.ts';

const container = (name: string, requests = {}, limits = {}) => ({
  name,
  image: 'busybox',
  resources: { requests, limits },
});

test.each<[what: string, spec: Partial<PodSpec>, allocated: object | undefined, resources: object]>([
  ['absent without requests', {}, undefined, {}],
  [
    'the sums over the containers',
    { containers: [container('a', { cpu: '10m' }), container('b', { cpu: '500m' }, { cpu: '500m' })] },
    { cpu: '510m' },
    { requests: { cpu: '510m' }, limits: { cpu: '500m' } },
  ],
  [
    'the pod-level resources of the spec',
    {
      containers: [container('a', { cpu: '10m' })],
      resources: { requests: { cpu: '100m', memory: '32Mi' }, limits: { memory: '64Mi' } },
    },
    { cpu: '100m', memory: '32Mi' },
    { requests: { cpu: '100m', memory: '32Mi' }, limits: { memory: '64Mi' } },
  ],
  [
    'the sums including the overhead',
    { containers: [container('a', { cpu: '0.01' }, { cpu: '1' })], overhead: { cpu: '100m' } },
    { cpu: '110m' },
    { requests: { cpu: '110m' }, limits: { cpu: '1100m' } },
  ],
])('the allocated resources of a pod in its status are %s: $2', (_what, spec, allocated, resources) => {
  const status = generateApiPodStatus(makePod(spec), runtimeStatus(), makeContext());
  expect(status.allocatedResources).toEqual(allocated);
  expect(status.resources).toEqual(resources);
});

// Upstream reports the first memory request as long as the pod runs, because the cgroup does not contain the request.
test('a changed memory request of a running pod is shown immediately, whatever was reported before', () => {
  const groupLimits = { cpuShares: 51, cpuQuotaUs: -1, cpuPeriodUs: 100_000, memoryBytes: -1 };
  const before = { phase: 'Running', resources: { requests: { cpu: '50m', memory: '16Mi' } } };
  const pod = { ...makePod({ containers: [container('a', { cpu: '50m', memory: '24Mi' })] }), status: before };
  const { resources } = generateApiPodStatus(pod, runtimeStatus(), makeContext({ oldStatus: before, groupLimits }));
  expect(resources).toEqual({ requests: { cpu: '50m', memory: '24Mi' } });
});

test.each(['Running', 'Succeeded'] as const)(
  'a terminated pod without a cgroup keeps its last reported resources if its API phase is %s',
  (phase) => {
    const resources = { requests: { cpu: '51m', memory: '16Mi' } };
    const pod = { ...makePod({ containers: [container('a', { cpu: '50m', memory: '16Mi' })] }), status: { phase } };
    const told = (podIsTerminal: boolean) =>
      generateApiPodStatus(pod, runtimeStatus(), makeContext({ oldStatus: { phase, resources }, podIsTerminal }))
        .resources;
    expect(told(true)).toEqual(resources);
    // The resources of a pod that is not terminal may still change, so the reported ones are not kept.
    expect(told(false)).toEqual({ requests: { cpu: '50m', memory: '16Mi' } });
  },
);
