import { type Pod, type PodStatus, podRequests } from '@node-agent/pod-spec';
import { MetricsRegistry } from '@node-agent/telemetry';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type AdmissionNode, Preemption, planPreemption, predicateHandler } from '../src/index.ts';
import { formatRequirements } from '../src/preemption-rule.ts';
import { makePod } from './pods.ts';

const requestsOf = (pod: Pod) => podRequests(pod);
const CRITICAL = 2_000_000_000;

/** Creates a pod with a priority. The pod is Guaranteed if `guaranteed` is true. */
function podOf(name: string, requests: Record<string, string>, priority = 0, guaranteed = false): Pod {
  const pod = makePod(name, requests, { priority });
  if (!guaranteed) return pod;
  const containers = pod.spec.containers.map((one) => ({ ...one, resources: { requests, limits: requests } }));
  return { ...pod, spec: { ...pod.spec, containers } };
}
const critical = podOf('critical', { cpu: '1' }, CRITICAL);
const guaranteed = (name: string, requests: Record<string, string>): Pod => podOf(name, requests, 0, true);

test("formatRequirements prints missing resources in upstream's format", () => {
  expect(formatRequirements([])).toBe('[]');
  const short = [
    { resource: 'cpu', amount: 600n },
    { resource: 'memory', amount: 1n },
  ];
  expect(formatRequirements(short)).toBe('[(res: cpu, q: 600), (res: memory, q: 1), ]');
});

describe('planPreemption', () => {
  const best = podOf('best', {});
  const small = podOf('small', { cpu: '100m', memory: '100Mi' });
  const middle = podOf('middle', { cpu: '200m', memory: '200Mi' });
  const large = podOf('large', { cpu: '400m', memory: '300Mi' });
  const sure = guaranteed('sure', { cpu: '100m', memory: '100Mi' });
  const surer = guaranteed('surer', { cpu: '400m', memory: '400Mi' });
  const cpu = (amount: bigint) => ({ resource: 'cpu', amount });
  const place = (amount: bigint) => ({ resource: 'pods', amount });

  test.each([
    ['no pod if no resource is missing', [small, sure], [], []],
    ['the sufficient pod with the smallest requests', [small, middle, large], [cpu(150n)], ['middle']],
    ['one large pod rather than two', [small, middle, large], [cpu(300n)], ['large']],
    ['the largest pod, then a pod for the remaining shortage', [small, middle, large], [cpu(500n)], ['large', 'small']],
    ['a Burstable pod before a Guaranteed one', [sure, small], [cpu(100n)], ['small']],
    [
      'a Guaranteed pod if the others are not enough, and then as few others as possible',
      [small, surer],
      [cpu(450n)],
      ['small', 'surer'],
    ],
    ['no Burstable pod if a Guaranteed pod is necessary and sufficient', [small, surer], [cpu(400n)], ['surer']],
    [
      'a BestEffort pod first if only a pod slot is missing',
      [sure, small, best],
      [{ resource: 'pods', amount: 1n }],
      ['best'],
    ],
    [
      'one pod that covers the shortage of two resources',
      [small, large],
      [cpu(100n), { resource: 'memory', amount: 200n * 2n ** 20n }],
      ['large'],
    ],
    ['no pod that is critical, too', [podOf('too', { cpu: '4' }, CRITICAL), small], [cpu(100n)], ['small']],
    [
      'a pod that is critical, but less so than the preempting pod',
      [podOf('less', { cpu: '4' }, CRITICAL)],
      [cpu(100n)],
      ['less'],
    ],
  ])('planPreemption selects as victims: %s', (_, pods, requirements, expected) => {
    const preemptor = _.includes('less so') ? podOf('node', {}, CRITICAL + 1000) : critical;
    const plan = planPreemption(preemptor, pods, requirements, requestsOf);
    expect('victims' in plan ? plan.victims.map(({ metadata }) => metadata.name).sort() : plan).toEqual(
      expected.toSorted(),
    );
  });

  describe('planPreemption: order of the victims', () => {
    const memory = (amount: bigint) => ({ resource: 'memory', amount });
    const of = (name: string, milliCpu: number, bytes: number): Pod =>
      podOf(name, { cpu: `${milliCpu}m`, memory: `${bytes}` });
    const GiB = 2 ** 30;

    test.each([
      [
        'by relative shares: all of the missing CPU outweighs a part of the missing memory',
        [of('memory', 10, GiB), of('cpu', 100, 0.4 * GiB)],
        [cpu(100n), memory(2n ** 30n)],
        ['cpu', 'memory'],
      ],
      [
        'by squared distances: much of one resource outweighs half of both',
        [of('half', 50, 50), of('whole', 100, 30), of('rest', 1, 20)],
        [cpu(100n), memory(100n)],
        ['whole', 'half', 'rest'],
      ],
      [
        'without credit for more than the missing amount',
        [of('large', 200, 2), of('fit', 100, 1)],
        [cpu(100n)],
        ['fit'],
      ],
      [
        'the sufficient pod with less memory first, even if it has more CPU',
        [of('b', 100, 2), of('a', 200, 1), of('c', 100, 3)],
        [cpu(100n)],
        ['a'],
      ],
      [
        'the sufficient pod with less CPU first if memory is equal',
        [of('b', 200, 1), of('a', 100, 1), of('c', 300, 1)],
        [cpu(50n)],
        ['a'],
      ],
      ['the later one first of two equal pods', [of('a', 100, 1), of('b', 100, 1)], [cpu(50n)], ['b']],
      // As upstream: the last pod took the list position of the first victim.
      [
        'the later one of equal pods, after the last pod moved',
        [of('large', 200, 1), of('a', 100, 1), of('b', 100, 1), of('c', 100, 1)],
        [cpu(250n)],
        ['large', 'b'],
      ],
      ['no pod twice', [of('a', 100, 1), of('large', 200, 1), of('b', 150, 1)], [cpu(450n)], ['large', 'b', 'a']],
      [
        'a barely sufficient pod before a barely insufficient pod',
        [of('enough', 4, 1), of('nearly', 3, 1)],
        [cpu(4n)],
        ['enough'],
      ],
      ['a single sufficient pod if one pod slot is missing', [podOf('b', {}), podOf('a', {})], [place(1n)], ['a']],
      ['all pods if all are necessary', [of('a', 1, 1), of('b', 2, 2), of('c', 3, 3)], [cpu(6n)], ['c', 'b', 'a']],
    ])('planPreemption orders the victims: %s', (_, pods, requirements, expected) => {
      const plan = planPreemption(critical, pods, requirements, requestsOf);
      expect('victims' in plan ? plan.victims.map(({ metadata }) => metadata.name) : plan).toEqual(expected);
    });

    test('planPreemption selects one victim if one pod is enough, and no other sufficient pod requests less', () => {
      const amount = fc.integer({ min: 0, max: 6 });
      const anyPod = fc.record({ cpu: amount, memory: fc.integer({ min: 1, max: 6 }) });
      fc.assert(
        fc.property(fc.array(anyPod, { minLength: 1, maxLength: 6 }), amount, amount, (asked, c, m) => {
          const short = [cpu(BigInt(c)), memory(BigInt(m))].filter((one) => one.amount > 0n);
          const enough = asked.filter((one) => one.cpu >= c && one.memory >= m);
          fc.pre(short.length > 0 && enough.length > 0);
          const pods = asked.map((one, index) => of(`${index}`, one.cpu, one.memory));
          const plan = planPreemption(critical, pods, short, requestsOf);
          const gone = 'victims' in plan ? plan.victims.map(({ metadata }) => asked[Number(metadata.name)]) : [];
          const [least] = enough.toSorted((one, other) => one.memory - other.memory || one.cpu - other.cpu);
          expect(gone).toEqual([least]);
        }),
      );
    });
  });

  test('planPreemption lets a static pod without a priority preempt any pod that is not critical', () => {
    const { priority: _, ...spec } = makePod('static', {}).spec;
    const { metadata } = makePod('static');
    const ownPod: Pod = { metadata: { ...metadata, annotations: { 'kubernetes.io/config.source': 'file' } }, spec };
    const plain = makePod('plain', { cpu: '100m' });
    expect(planPreemption(ownPod, [plain], [cpu(100n)], requestsOf)).toEqual({ victims: [plain] });
    expect(planPreemption(ownPod, [ownPod], [place(1n)], requestsOf)).toEqual({ missing: [place(1n)] });
    const high = podOf('high', { cpu: '100m' }, 1000);
    expect(planPreemption(podOf('static', {}, CRITICAL), [ownPod, high], [place(1n)], requestsOf)).toEqual({
      victims: [high],
    });
  });

  test('planPreemption selects no victim and returns the missing resources if all pods together are not enough', () => {
    const requirements = [cpu(300n), { resource: 'memory', amount: 1n }];
    expect(
      planPreemption(critical, [small, sure, podOf('own', { cpu: '9' }, CRITICAL)], requirements, requestsOf),
    ).toEqual({
      missing: [cpu(100n)],
    });
  });

  test('planPreemption frees enough for any shortage, without a useless victim and with as few Guaranteed victims as possible', () => {
    const amount = fc.integer({ min: 0, max: 8 });
    const anyPod = fc.record({ cpu: amount, memory: amount, sure: fc.boolean() });
    fc.assert(
      fc.property(fc.array(anyPod, { maxLength: 7 }), amount, amount, (wanted, cpuShort, memoryShort) => {
        const pods = wanted.map(({ cpu: c, memory, sure: isSure }, index) => {
          const requests = { ...(c > 0 && { cpu: `${c}m` }), ...(memory > 0 && { memory: `${memory}` }) };
          return isSure && c > 0 && memory > 0 ? guaranteed(`${index}`, requests) : podOf(`${index}`, requests);
        });
        const requirements = [
          { resource: 'cpu', amount: BigInt(cpuShort) },
          { resource: 'memory', amount: BigInt(memoryShort) },
        ].filter((one) => one.amount > 0n);
        const freed = (of: readonly Pod[], resource: string): bigint =>
          of.reduce((sum, pod) => {
            const quantity = requestsOf(pod).get(resource);
            return sum + ((resource === 'cpu' ? quantity?.milliValue() : quantity?.value()) ?? 0n);
          }, 0n);
        const enough = (of: readonly Pod[]): boolean =>
          requirements.every(({ resource, amount: short }) => freed(of, resource) >= short);
        const plan = planPreemption(critical, pods, requirements, requestsOf);
        if ('missing' in plan) {
          expect(enough(pods)).toBe(false);
          return;
        }
        const { victims } = plan;
        expect(new Set(victims).size).toBe(victims.length);
        expect(enough(victims)).toBe(true);
        const isGuaranteed = (pod: Pod): boolean => pod.spec.containers[0]?.resources?.limits !== undefined;
        const others = pods.filter((pod) => !isGuaranteed(pod));
        // A Guaranteed pod is a victim only if all other pods together are not enough.
        if (victims.some(isGuaranteed)) expect(enough(others)).toBe(false);
      }),
    );
  });
});

const node: AdmissionNode = {
  metadata: { name: 'n1', labels: {} },
  status: { allocatable: { cpu: '1', memory: '1Gi', pods: '3' } },
};

function setUp() {
  const metrics = new MetricsRegistry();
  const events: string[] = [];
  const killed: { name: string; status: PodStatus; done: () => void; fail: (err: Error) => void }[] = [];
  const preemption = new Preemption({
    metrics,
    recorder: {
      event: ({ name }, type, reason, message) => void events.push(`${name}: ${type} ${reason}: ${message}`),
    },
    kill: (pod, change, signal) =>
      new Promise((resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
        const status = change({ phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] });
        killed.push({ name: pod.metadata.name, status, done: resolve, fail: reject });
      }),
  });
  const handler = predicateHandler({ node: () => node, preemption });
  const { signal } = new AbortController();
  return { metrics, events, killed, handler, signal };
}

describe('admission of a critical pod', () => {
  const running = [podOf('a', { cpu: '600m' }), podOf('b', { cpu: '300m' })];

  test('preempts pods for a critical pod and sets the phase of the victims to Failed with a message', async () => {
    const { handler, killed, events, signal, metrics } = setUp();
    const verdict = await handler.admit(critical, running, signal);
    expect(verdict).toMatchObject({ admit: false, reason: 'OutOfcpu', recover: expect.any(Function) });
    if (verdict.admit || verdict.recover === undefined) throw new Error('cannot be recovered from');
    expect(killed).toEqual([]);
    const recovering = verdict.recover(signal);
    expect(killed.map(({ name }) => name).sort()).toEqual(['a', 'b']);
    expect(killed[0]?.status).toEqual({
      phase: 'Failed',
      reason: 'Preempting',
      message: 'Preempted in order to admit critical pod',
      conditions: [
        { type: 'Ready', status: 'True' },
        {
          type: 'DisruptionTarget',
          status: 'True',
          reason: 'TerminationByKubelet',
          message: 'Pod was preempted by Kubelet to accommodate a critical pod.',
        },
      ],
    });
    expect(events.sort()).toEqual([
      'a: Warning Preempting: Preempted in order to admit critical pod',
      'b: Warning Preempting: Preempted in order to admit critical pod',
    ]);
    for (const { done } of killed) done();
    expect(await recovering).toEqual({ admit: true });
    expect(metrics.text()).toContain('kubelet_preemptions{preemption_signal="cpu"} 2');
  });

  test('preempts a shrinking pod that still holds its old resources (N1)', async () => {
    const { handler, killed, signal } = setUp();
    const shrinking: Pod = {
      ...podOf('shrinking', { cpu: '100m' }),
      status: {
        containerStatuses: [
          { name: 'main', resources: { requests: { cpu: '800m' } }, allocatedResources: { cpu: '100m' } },
        ],
      } as unknown as PodStatus,
    };
    const verdict = await handler.admit(critical, [shrinking], signal);
    if (verdict.admit) throw new Error('admitted');
    const recovering = verdict.recover?.(signal);
    for (const { done } of killed) done();
    expect(await recovering).toEqual({ admit: true });
    expect(killed.map(({ name }) => name)).toEqual(['shrinking']);
  });

  test('admits the critical pod even if a victim does not stop in time', async () => {
    const { handler, killed, signal, metrics } = setUp();
    const verdict = await handler.admit(critical, [podOf('slow', { cpu: '900m' })], signal);
    if (verdict.admit) throw new Error('admitted');
    const recovering = verdict.recover?.(signal);
    killed[0]?.fail(new Error('timeout waiting to kill pod'));
    expect(await recovering).toEqual({ admit: true });
    expect(metrics.text()).not.toContain('kubelet_preemptions{');
  });

  test('stops waiting for the victims if the critical pod is aborted', async () => {
    const { handler } = setUp();
    const gone = new AbortController();
    const verdict = await handler.admit(critical, running, gone.signal);
    if (verdict.admit) throw new Error('admitted');
    const recovering = verdict.recover?.(gone.signal);
    gone.abort(new Error('it is gone'));
    await expect(recovering).rejects.toThrow('it is gone');
  });

  test('refuses a critical pod without preemption if preemption cannot free enough resources', async () => {
    const { handler, killed, signal } = setUp();
    const verdict = await handler.admit(
      critical,
      [podOf('other', { cpu: '600m' }, CRITICAL), podOf('b', { cpu: '100m' })],
      signal,
    );
    if (verdict.admit) throw new Error('admitted');
    expect(await verdict.recover?.(signal)).toEqual({
      admit: false,
      reason: 'UnexpectedAdmissionError',
      message:
        'Unexpected error while attempting to recover from admission failure: preemption: error finding a set of pods to preempt: ' +
        'no set of running pods found to reclaim resources: [(res: cpu, q: 600), ]',
    });
    expect(killed).toEqual([]);
  });

  test('refuses a critical pod without preemption if another predicate refuses the pod too', async () => {
    const { handler, signal } = setUp();
    const elsewhere = { ...critical, spec: { ...critical.spec, nodeSelector: { zone: 'b' } } };
    expect(await handler.admit(elsewhere, running, signal)).toEqual({
      admit: false,
      reason: 'NodeAffinity',
      message: "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
    });
  });

  test('offers no preemption for a pod that is not critical', async () => {
    const { handler, signal } = setUp();
    const verdict = await handler.admit(podOf('plain', { cpu: '1' }, 5), running, signal);
    expect(verdict).toMatchObject({ admit: false, reason: 'OutOfcpu' });
    expect(verdict).not.toHaveProperty('recover');
  });
});
