import {
  type Container,
  ContainerState,
  type ContainerStatus,
  messages,
  type PodSandbox,
  PodSandboxState,
} from '@node-agent/cri-client';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { byPrecedence } from '../src/actions/current-status.ts';
import { podSandboxChanged } from '../src/actions/sandbox-changed.ts';
import { podsBeyondLabels, toRuntimePods } from '../src/status/runtime-pods.ts';
import {
  newestContainersFirst,
  sandboxIps,
  toContainerStatus,
  toRuntimePodStatus,
  toSandboxStatus,
} from '../src/status/status.ts';
import { pod, record, sandbox } from './builders.ts';

const labels = {
  'io.kubernetes.pod.uid': 'uid-1',
  'io.kubernetes.pod.name': 'web',
  'io.kubernetes.pod.namespace': 'default',
  'io.kubernetes.container.name': 'app',
};
const annotations = { 'io.kubernetes.container.hash': 'abc', 'io.kubernetes.container.restartCount': '3' };

describe('the status of a container', () => {
  const answer = (extra: Partial<ContainerStatus> = {}): ContainerStatus =>
    Object.assign(
      messages.ContainerStatus.create({ id: 'c1', labels, annotations, state: ContainerState.CONTAINER_EXITED }),
      extra,
    );

  test.each([
    ['Error for exit code 143: SIGTERM ended the container', 143, 'Error'],
    ['OOMKilled for exit code 137', 137, 'OOMKilled'],
    ['OOMKilled for exit code 0: a shell may outlive the process that was killed', 0, 'OOMKilled'],
    ['OOMKilled for any other exit code', 1, 'OOMKilled'],
  ])('C6: the reason of a container with an OOM kill is %s', (_, exitCode, reason) => {
    expect(toContainerStatus(answer({ exitCode, reason: 'OOMKilled' }), 's1').reason).toBe(reason);
  });

  test("the status of a container has the runtime's values in the kubelet's types", () => {
    const status = toContainerStatus(
      answer({
        createdAt: 2_000_000_000,
        startedAt: 3_000_000_000,
        finishedAt: 4_500_000_000,
        exitCode: 7,
        reason: 'Error',
        imageRef: 'ref',
        imageId: 'id',
      }),
      's1',
    );
    expect(status).toEqual({
      id: 'c1',
      name: 'app',
      state: 'exited',
      createdAtMs: 2_000,
      startedAtMs: 3_000,
      finishedAtMs: 4_500,
      exitCode: 7,
      image: '',
      imageId: 'ref',
      hash: 'abc',
      restartCount: 3,
      reason: 'Error',
      message: '',
      sandboxId: 's1',
    });
  });

  test("the image ID of a container is the node's image ID if the runtime reports no digest", () => {
    expect(toContainerStatus(answer({ imageId: 'id' }), '').imageId).toBe('id');
  });

  test('a running container has no finish time, and a container that did not run has no start time', () => {
    const running = answer({ state: ContainerState.CONTAINER_RUNNING, exitCode: 9, finishedAt: 5e9, reason: 'x' });
    expect(toContainerStatus(running, '')).toMatchObject({
      state: 'running',
      exitCode: 0,
      finishedAtMs: 0,
      reason: '',
    });
    const created = answer({ state: ContainerState.CONTAINER_CREATED, startedAt: 5e9 });
    expect(toContainerStatus(created, '')).toMatchObject({ state: 'created', startedAtMs: 0 });
  });

  test('a container in a state that CRI does not define is unknown', () => {
    expect(toContainerStatus(answer({ state: 17 }), '').state).toBe('unknown');
  });

  test.each([
    ['failed to create shim task: context canceled: unknown', 0, 'created'],
    ['failed to start shim: start failed: : signal: killed: unknown', 0, 'created'],
    ['context deadline exceeded', 0, 'created'],
    ['exec: "x": executable file not found', 0, 'exited'],
    ['context canceled', 5e9, 'exited'],
  ])('K1: a container whose start failed with %s, started at %d, counts as %s', (message, startedAt, state) => {
    const status = toContainerStatus(answer({ reason: 'StartError', exitCode: 128, message, startedAt }), '');
    expect(status).toMatchObject({ state, reason: 'StartError', message, exitCode: state === 'exited' ? 128 : 0 });
  });

  test('a container without labels gets name and attempt from its CRI metadata', () => {
    const metadata = { name: 'app', attempt: 5 };
    expect(toContainerStatus(answer({ labels: {}, annotations: {}, metadata }), '')).toMatchObject({
      name: 'app',
      restartCount: 5,
      hash: '',
    });
  });

  test('the status of a container has the resources that the runtime enforces', () => {
    const resources = messages.ContainerResources.create({
      linux: { cpuPeriod: 100_000, cpuQuota: 50_000, cpuShares: 512, memoryLimitInBytes: 1024 },
    });
    expect(toContainerStatus(answer({ resources }), '').resources).toEqual({
      cpuLimitMilli: 500,
      cpuRequestMilli: 500,
      memoryLimitBytes: 1024,
    });
    const none = messages.ContainerResources.create({ linux: { cpuPeriod: 100_000, cpuQuota: -1 } });
    expect(toContainerStatus(answer({ resources: none }), '').resources).toBeUndefined();
  });
});

describe('the addresses of a sandbox', () => {
  test.each([
    ['none without a network', null, []],
    ['the primary one first', { ip: '10.0.0.1', additionalIps: [{ ip: 'fd00::1' }] }, ['10.0.0.1', 'fd00::1']],
    ['none if one of them is invalid', { ip: '10.0.0.1', additionalIps: [{ ip: 'x' }] }, []],
    ['none for the host network', { ip: '', additionalIps: [] }, []],
  ])('the IPs of a sandbox: %s', (_name, network, expected) => {
    expect(sandboxIps({ network })).toEqual(expected);
  });

  test('a sandbox status without a network is distinguished from one without an IP', () => {
    expect(toSandboxStatus(messages.PodSandboxStatus.create({ id: 's' })).networkReported).toBe(false);
    expect(toSandboxStatus(messages.PodSandboxStatus.create({ id: 's', network: {} })).networkReported).toBeUndefined();
  });

  test.each([
    ['the primary IP', { ip: '<nil>' }, false],
    ['an additional IP', { ip: '10.0.0.1', additionalIps: [{ ip: 'x' }] }, false],
    ['no IP', { ip: '', additionalIps: [{ ip: 'x' }] }, true],
  ])(
    'P7: a sandbox is replaced if it lacks a primary IP, but not if one of its IPs is invalid: %s',
    (_name, network, changed) => {
      const status = messages.PodSandboxStatus.create({ id: 's', state: PodSandboxState.SANDBOX_READY, network });
      expect(podSandboxChanged(pod(), { sandboxes: [toSandboxStatus(status)] }).changed).toBe(changed);
    },
  );
});

describe('the status of a pod', () => {
  const identity = { uid: 'uid-1', name: 'web', namespace: 'default' };

  test('a pod has the IPs of its newest sandbox while that sandbox is ready', () => {
    const old = sandbox({ ips: ['10.0.0.1'] });
    expect(
      toRuntimePodStatus(identity, [old, sandbox({ id: 's1', attempt: 1, ips: ['10.0.0.2'] })], [], 5).ips,
    ).toEqual(['10.0.0.2']);
    expect(
      toRuntimePodStatus(identity, [old, sandbox({ id: 's1', attempt: 1, state: 'notReady' })], [], 5).ips,
    ).toEqual([]);
  });

  test('the status of a pod lists containers newest first, and the current attempt of each before the others', () => {
    const records = [
      record('a', 'exited', { restartCount: 0, createdAtMs: 10 }),
      record('b', 'running', { restartCount: 0, createdAtMs: 20 }),
      record('a', 'running', { restartCount: 1, createdAtMs: 30 }),
      record('a', 'created', { restartCount: 1, createdAtMs: 40, id: 'late' }),
    ];
    expect(newestContainersFirst(records).map(({ id }) => id)).toEqual(['a-1', 'late', 'b-0', 'a-0']);
  });

  test('C1: in whatever order containers are listed, the first of each name is the current attempt, and none is lost', () => {
    const arbitrary = fc.array(
      fc.record({
        name: fc.constantFrom('a', 'b', 'c'),
        state: fc.constantFrom('created' as const, 'running' as const, 'exited' as const),
        restartCount: fc.nat(4),
        createdAtMs: fc.nat(50),
      }),
      { maxLength: 12 },
    );
    fc.assert(
      fc.property(arbitrary, (specs) => {
        const records = specs.map(({ name, state, ...rest }, n) => record(name, state, { ...rest, id: `c${n}` }));
        const sorted = newestContainersFirst(records);
        expect(sorted.toSorted(byPrecedence)).toEqual(records.toSorted(byPrecedence));
        for (const name of ['a', 'b', 'c']) {
          const same = sorted.filter((one) => one.name === name);
          expect(same).toEqual(same.toSorted(byPrecedence));
        }
      }),
    );
  });
});

describe('the lists of a runtime', () => {
  const aSandbox = (id: string, uid: string, extra: Partial<PodSandbox> = {}): PodSandbox =>
    Object.assign(
      messages.PodSandbox.create({ id, metadata: { name: 'web', namespace: 'default', uid }, createdAt: 5e6 }),
      extra,
    );
  const aContainer = (id: string, extra: Partial<Container> = {}): Container =>
    Object.assign(messages.Container.create({ id, podSandboxId: 's1', labels, annotations, createdAt: 7e6 }), extra);

  test('the lists of sandboxes and containers are joined by pod', () => {
    const [pod, ...others] = toRuntimePods([aSandbox('s1', 'uid-1')], [aContainer('c1')]);
    expect(others).toEqual([]);
    expect(pod).toMatchObject({ uid: 'uid-1', name: 'web', namespace: 'default', createdAtMs: 5 });
    expect(pod?.sandboxes).toMatchObject([{ id: 's1', state: 'ready', attempt: 0 }]);
    expect(pod?.containers).toMatchObject([{ id: 'c1', name: 'app', hash: 'abc', restartCount: 3, sandboxId: 's1' }]);
  });

  test.each([
    ['file', [['file', 0]]],
    [
      'http',
      [
        ['file', 0],
        ['http', 1],
      ],
    ],
    [undefined, [['nonsense', 0]]],
    [
      undefined,
      [
        ['file', 0],
        [undefined, 1],
      ],
    ],
    [undefined, []],
  ] as const)('F2: a pod has the source that its newest sandbox names: %s', (expected, given) => {
    const sandboxes = given.map(([source, attempt]) =>
      aSandbox(`s${attempt}`, 'uid-1', {
        annotations: source === undefined ? {} : { 'kubernetes.io/config.source': source },
        metadata: { name: 'web', namespace: 'default', uid: 'uid-1', attempt },
      }),
    );
    expect(toRuntimePods(sandboxes, [aContainer('c1')])[0]?.source).toBe(expected);
  });

  test('a container without its sandbox is still assigned to its pod', () => {
    expect(toRuntimePods([], [aContainer('c1')])).toMatchObject([{ uid: 'uid-1', name: 'web', sandboxes: [] }]);
  });

  test('a container without labels belongs to the pod of its sandbox', () => {
    const [pod] = toRuntimePods([aSandbox('s1', 'uid-1')], [aContainer('c1', { labels: {} })]);
    expect(pod?.containers).toHaveLength(1);
  });

  test('a list by pod UID label contains all containers of a pod if all its sandboxes and containers have the label', () => {
    const uids = fc.constantFrom('', 'u1', 'u2');
    const labelsOf = (uid: string) => (uid === '' ? {} : { ...labels, 'io.kubernetes.pod.uid': uid });
    const sandboxes = fc.array(fc.record({ uid: uids, label: uids }), { maxLength: 4 });
    const containers = fc.array(fc.record({ label: uids, sandbox: fc.nat(4) }), { maxLength: 5 });
    fc.assert(
      fc.property(sandboxes, containers, (ss, cs) => {
        const allSandboxes = ss.map(({ uid, label }, n) => aSandbox(`s${n}`, uid, { labels: labelsOf(label) }));
        const allContainers = cs.map(({ label, sandbox }, n) =>
          aContainer(`c${n}`, { labels: labelsOf(label), podSandboxId: `s${sandbox}` }),
        );
        const beyond = podsBeyondLabels(allSandboxes, allContainers);
        const own = ({ labels: has }: Pick<PodSandbox, 'labels'>, uid: string) => has['io.kubernetes.pod.uid'] === uid;
        for (const pod of toRuntimePods(allSandboxes, allContainers)) {
          if (beyond.has(pod.uid)) continue;
          const filtered = toRuntimePods(
            allSandboxes.filter((sandbox) => own(sandbox, pod.uid)),
            allContainers.filter((container) => own(container, pod.uid)),
          ).find(({ uid }) => uid === pod.uid);
          expect(filtered).toEqual(pod);
        }
      }),
    );
  });

  test('sandboxes and containers without a pod or an ID are omitted', () => {
    const strange = [aContainer('', {}), aContainer('c2', { labels: {}, podSandboxId: 'elsewhere' })];
    expect(
      toRuntimePods([aSandbox('', 'uid-1'), aSandbox('s2', '', { state: PodSandboxState.SANDBOX_NOTREADY })], strange),
    ).toEqual([]);
  });
});
