import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Container,
  formatResourceList,
  hasPodLevelResources,
  type PodSpec,
  parseResourceList,
  podLimits,
  podRequests,
} from '../src/index.ts';
import { makePod } from './make-pod.ts';

type Amounts = Readonly<Record<string, string>>;
const container = (requests: Amounts, limits: Amounts = {}): Container => ({
  name: 'c',
  resources: { requests, limits },
});
const sidecar = (requests: Amounts): Container => ({ ...container(requests, requests), restartPolicy: 'Always' });

describe('podRequests and podLimits', () => {
  it('with useStatusResources, requests are the maximum of spec and status, also for sidecars and at pod level', () => {
    const named = (name: string, cpu: string): Container => ({ ...container({ cpu }), name });
    const tells = (name: string, actuated: string, allocated: string) => ({
      name,
      resources: { requests: { cpu: actuated } },
      allocatedResources: { cpu: allocated },
    });
    const spec = {
      containers: [named('a', '1'), named('b', '1'), named('silent', '1')],
      initContainers: [{ ...sidecar({ cpu: '1' }), name: 's' }, named('init', '1')],
    };
    const status = {
      containerStatuses: [tells('a', '2', '1'), tells('b', '1', '3'), { name: 'silent' }],
      initContainerStatuses: [tells('s', '4', '1'), tells('init', '64', '64')],
    };
    const cpuOf = (pod: object): string | undefined =>
      formatResourceList(podRequests(pod as never, { useStatusResources: true })).cpu;
    expect(cpuOf({ spec, status })).toBe('10');
    expect(formatResourceList(podRequests({ spec, status } as never)).cpu).toBe('4');
    const inVain = [{ type: 'PodResizePending', reason: 'Infeasible' }];
    const asking = { ...spec, containers: [named('a', '64'), named('b', '64'), named('silent', '1')] };
    expect(cpuOf({ spec: asking, status: { ...status, conditions: inVain } })).toBe('10');
    const whole = { ...spec, resources: { requests: { cpu: '5' } } };
    expect(cpuOf({ spec: whole, status: { ...status, resources: { requests: { cpu: '7' } } } })).toBe('7');
    expect(cpuOf({ spec: whole, status })).toBe('5');
    expect(cpuOf({ spec: asking, status })).toBe('133');
    expect(cpuOf({ spec })).toBe('4');
    const told = { spec: whole, status: { ...status, resources: { requests: { cpu: '7' } } } };
    expect(formatResourceList(podRequests(told as never)).cpu).toBe('5');
  });

  it.each<[what: string, spec: Partial<PodSpec>, requests: Amounts, limits: Amounts]>([
    ['nothing for a pod without resources', {}, {}, {}],
    [
      'the sum of main containers',
      {
        containers: [
          container({ cpu: '100m', memory: '1Gi' }, { cpu: '1' }),
          container({ cpu: '0.2' }, { cpu: '2', memory: '1Gi' }),
        ],
      },
      { cpu: '300m', memory: '1Gi' },
      { cpu: '3', memory: '1Gi' },
    ],
    [
      'an init container if it needs more than all main containers',
      {
        containers: [container({ cpu: '1' }), container({ cpu: '1' })],
        initContainers: [container({ cpu: '3', memory: '5' })],
      },
      { cpu: '3', memory: '5' },
      {},
    ],
    [
      'the largest init container and not the sum of them',
      { containers: [container({ cpu: '1' })], initContainers: [container({ cpu: '2' }), container({ cpu: '2' })] },
      { cpu: '2' },
      {},
    ],
    [
      'sidecars beside main containers',
      { containers: [container({ cpu: '1' })], initContainers: [sidecar({ cpu: '2' })] },
      { cpu: '3' },
      { cpu: '2' },
    ],
    [
      'an init container beside the sidecars before it, but not those after it',
      {
        containers: [container({ cpu: '1' })],
        initContainers: [sidecar({ cpu: '1' }), container({ cpu: '5' }), sidecar({ cpu: '1' })],
      },
      { cpu: '6' },
      { cpu: '2' },
    ],
    [
      'the sum including the overhead, in limits only for resources with a limit',
      { containers: [container({ cpu: '1' }, { memory: '1' })], overhead: { cpu: '250m', memory: '120' } },
      { cpu: '1250m', memory: '120' },
      { memory: '121' },
    ],
    [
      'the pod-level resources instead of those of the containers',
      {
        containers: [container({ cpu: '1', memory: '1', 'example.com/gpu': '1' }, { cpu: '1' })],
        resources: { requests: { cpu: '4' }, limits: { cpu: '8', memory: '10', 'ephemeral-storage': '1' } },
        overhead: { cpu: '1' },
      },
      { cpu: '5', memory: '1', 'example.com/gpu': '1' },
      { cpu: '9', memory: '10' },
    ],
    [
      'nothing of ephemeral containers',
      { ephemeralContainers: [{ name: 'debug', resources: { requests: { cpu: '1' } } }] },
      {},
      {},
    ],
  ])('podRequests and podLimits return %s', (_, spec, requests, limits) => {
    const pod = makePod(spec);
    expect(formatResourceList(podRequests(pod))).toEqual(requests);
    expect(formatResourceList(podLimits(pod))).toEqual(limits);
  });

  it('podRequests omits the parts that the caller excludes', () => {
    const pod = makePod({
      containers: [container({ cpu: '1' }, { cpu: '1' })],
      overhead: { cpu: '1' },
      resources: { requests: { cpu: '4' }, limits: { cpu: '4' } },
    });
    const of = (options: Parameters<typeof podRequests>[1]): Amounts => formatResourceList(podRequests(pod, options));
    expect(of({ excludeOverhead: true })).toEqual({ cpu: '4' });
    expect(of({ skipPodLevelResources: true })).toEqual({ cpu: '2' });
    expect(formatResourceList(podLimits(pod, { excludeOverhead: true, skipPodLevelResources: true }))).toEqual({
      cpu: '1',
    });
    const override = (): ReturnType<typeof parseResourceList> => parseResourceList({ cpu: '7' });
    expect(of({ skipPodLevelResources: true, override })).toEqual({ cpu: '8' });
  });

  it('podRequests throws an error that names the invalid resource', () => {
    expect(() => podRequests(makePod({ containers: [container({ memory: '1gb' })] }))).toThrow(
      'resource memory: quantity "1gb" has an unknown suffix: "gb"',
    );
  });

  it('podRequests replaces container requests by pod-level requests per resource', () => {
    expect(hasPodLevelResources(makePod())).toBe(false);
    expect(hasPodLevelResources(makePod({ resources: { requests: { cpu: '1' } } }))).toBe(true);
    expect(hasPodLevelResources(makePod({ resources: {} }))).toBe(false);
    expect(hasPodLevelResources(makePod({ resources: { requests: { 'ephemeral-storage': '1' } } }))).toBe(false);
    expect(hasPodLevelResources(makePod({ resources: { limits: { 'hugepages-2Mi': '2Mi' } } }))).toBe(true);
  });

  const amount = fc.nat(20).map(String);
  const some = fc.record({ cpu: amount, memory: amount }, { requiredKeys: [] }).map((requests) => container(requests));
  const init = fc
    .tuple(some, fc.boolean())
    .map(([one, always]) => (always ? { ...one, restartPolicy: 'Always' } : one));

  it('podRequests is never less than what the pod needs at any time of its life', () => {
    fc.assert(
      fc.property(
        fc.array(some, { minLength: 1, maxLength: 4 }),
        fc.array(init, { maxLength: 5 }),
        (containers, initContainers) => {
          const total = podRequests(makePod({ containers, initContainers }));
          for (const resource of ['cpu', 'memory']) {
            const of = (one: Container): number => Number(one.resources?.requests?.[resource] ?? 0);
            const sum = (list: readonly Container[]): number => list.reduce((a, one) => a + of(one), 0);
            const sidecars = (upTo: number): Container[] =>
              initContainers.slice(0, upTo).filter((one) => one.restartPolicy === 'Always');
            const instants = initContainers.map((one, index) => of(one) + sum(sidecars(index)));
            const needed = Math.max(sum(containers) + sum(sidecars(initContainers.length)), ...instants);
            expect(Number(total.get(resource)?.value() ?? 0n)).toBe(needed);
          }
        },
      ),
    );
  });

  // Summing the requests of all earlier containers again for each container would exceed the test's timeout.
  it('K5: podRequests of a pod with very many sidecars with different resources takes linear time', () => {
    const names = Array.from({ length: 20_000 }, (_, index) => `example.com/r${index}`);
    const pod = makePod({ containers: [container({})], initContainers: names.map((name) => sidecar({ [name]: '1' })) });
    for (const total of [podRequests(pod), podLimits(pod)]) expect(total.size).toBe(names.length);
  });
});
