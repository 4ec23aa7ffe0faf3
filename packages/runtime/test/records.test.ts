import {
  type Container,
  ContainerState,
  type ContainerStatus,
  messages,
  PodSandboxState,
} from '@node-agent/cri-client';
import type { RuntimeContainerStatus } from '@node-agent/pod-spec';
import { describe, expect, test } from 'vitest';
import { byPrecedence, currentStatus } from '../src/actions/current-status.ts';
import { surplusInitContainers } from '../src/actions/prune-rule.ts';
import { delayFromRuns } from '../src/backoff/backoff-delay.ts';
import { stopTimeoutSeconds } from '../src/kill/grace-period.ts';
import { exitedUnobserved } from '../src/reconcile/before-create.ts';
import { containerHash } from '../src/reconcile/container-hash.ts';
import { tailOfCriLog } from '../src/status/cri-log-tail.ts';
import { podsBeyondLabels, toRuntimeContainer, toRuntimePods } from '../src/status/runtime-pods.ts';
import {
  criTimeMs,
  newestContainersFirst,
  newestSandboxFirst,
  sandboxIps,
  toContainerStatus,
  toSandboxStatus,
} from '../src/status/status.ts';
import { container, pod, record } from './builders.ts';

const labels = { 'io.kubernetes.pod.uid': 'u1', 'io.kubernetes.container.name': 'app' };

function answer(extra: Partial<ContainerStatus> = {}): ContainerStatus {
  return Object.assign(
    messages.ContainerStatus.create({ id: 'c1', labels, state: ContainerState.CONTAINER_EXITED }),
    extra,
  );
}

describe('the status of a container', () => {
  test.each([
    [0, 0],
    [-5, 0],
    [Number.NaN, 0],
    [Number.POSITIVE_INFINITY, 0],
    [1, 1e-6],
    [2e9, 2000],
  ])('a CRI time of %d ns is converted to %d ms', (ns, ms) => {
    expect(criTimeMs(ns)).toBe(ms);
  });

  test('a container without labels and metadata has no name and is the first attempt', () => {
    expect(toContainerStatus(answer({ labels: {} }), '')).toMatchObject({ name: '', restartCount: 0 });
  });

  test("the status of an exited container has the runtime's message, and a stop signal if the runtime reports it", () => {
    const running = answer({ state: ContainerState.CONTAINER_RUNNING, message: 'odd' });
    expect(toContainerStatus(running, '').message).toBe('');
    expect(toContainerStatus(answer({ message: 'odd' }), '').message).toBe('odd');
    expect(toContainerStatus(answer(), '')).not.toHaveProperty('stopSignal');
    expect(toContainerStatus(messages.ContainerStatus.create({ id: 'c1', stopSignal: 30 }), '').stopSignal).toMatch(
      /^SIG/,
    );
  });

  test.each([
    [{ state: ContainerState.CONTAINER_RUNNING }, 'running'],
    [{ startedAt: 1 }, 'exited'],
    [{ reason: 'Error' }, 'exited'],
    [{}, 'created'],
  ])(
    'K1: a container with reason StartError counts as never started if its start was interrupted: %j is %s',
    (more, state) => {
      const broken = answer({ reason: 'StartError', message: 'context canceled', ...more });
      expect(toContainerStatus(broken, '').state).toBe(state);
    },
  );

  test.each<[object, object | undefined]>([
    [{ cpuPeriod: 0, cpuQuota: 5 }, undefined],
    [{ cpuPeriod: 1, cpuQuota: 1 }, { cpuLimitMilli: 1000 }],
    [{ cpuPeriod: 100_000, cpuQuota: 10_000_000 }, { cpuLimitMilli: 100_000 }],
    [{ cpuPeriod: 100_000, cpuQuota: 100 }, { cpuLimitMilli: 1 }],
    [{ cpuPeriod: 100_000, cpuQuota: 0 }, undefined],
    [{ cpuShares: 1 }, undefined],
    [{ cpuShares: 2 }, { cpuRequestMilli: 2 }],
    [{ cpuShares: 1025 }, { cpuRequestMilli: 1001 }],
    [{ memoryLimitInBytes: 1 }, { memoryLimitBytes: 1 }],
    [{ memoryLimitInBytes: 0 }, undefined],
  ])("from the runtime's resources %j a container has the actual limits %j", (linux, held) => {
    const resources = messages.ContainerResources.create({ linux });
    expect(toContainerStatus(answer({ resources }), '').resources).toEqual(held);
  });
});

describe("sandboxes of a pod's status", () => {
  test('a sandbox without metadata counts as attempt 0', () => {
    const status = messages.PodSandboxStatus.create({ id: 's', state: PodSandboxState.SANDBOX_NOTREADY });
    expect(toSandboxStatus(status)).toMatchObject({ attempt: 0, state: 'notReady' });
  });

  test('a sandbox may have additional IPs without a primary one', () => {
    expect(sandboxIps({ network: { ip: '', additionalIps: [{ ip: '10.0.0.1' }, { ip: '' }] } })).toEqual(['10.0.0.1']);
  });

  test('sandboxes are sorted by attempt, then age, then ID', () => {
    const of = (id: string, attempt: number, createdAtMs: number) => ({ id, attempt, createdAtMs });
    const sorted = [of('a', 1, 5), of('b', 1, 7), of('d', 0, 9), of('c', 0, 9), of('e', 2, 1)].sort(newestSandboxFirst);
    expect(sorted.map(({ id }) => id)).toEqual(['e', 'b', 'a', 'c', 'd']);
    expect(newestSandboxFirst(of('b', 0, 1), of('a', 0, 1))).toBe(1);
  });
});

describe('attempts of a container', () => {
  test('container attempts with equal number and age are ordered by ID', () => {
    const [a, b] = [record('x', 'exited', { id: 'a' }), record('x', 'exited', { id: 'b' })];
    expect([byPrecedence(a, b), byPrecedence(b, a), byPrecedence(a, a)]).toEqual([-1, 1, 0]);
    expect([currentStatus([a, b], 'x'), currentStatus([b, a], 'x')]).toEqual([a, a]);
    const [y, z] = [record('y', 'exited', { id: 'a' }), record('z', 'exited', { id: 'b' })];
    expect([newestContainersFirst([y, z]), newestContainersFirst([z, y])]).toEqual([
      [y, z],
      [y, z],
    ]);
  });

  test('the newer of two container attempts is the current one, even if they were created within one millisecond', () => {
    const older = record('x', 'exited', { id: 'a', createdAtMs: 5 });
    const newer = record('x', 'exited', { id: 'b', createdAtMs: 5.5 });
    expect([currentStatus([newer, older], 'x'), currentStatus([older, newer], 'x')]).toEqual([newer, newer]);
  });

  test('exited attempts count for the back-off in any order', () => {
    const run = (restartCount: number, state: RuntimeContainerStatus['state'] = 'exited') =>
      record('a', state, { restartCount, hash: 'h' });
    const limits = { initialMs: 10_000, maxMs: 300_000 };
    expect(delayFromRuns([run(0), run(1)], 'h', limits)).toBe(10_000);
    expect(delayFromRuns([run(2, 'running'), run(1), run(0)], 'h', limits)).toBe(10_000);
  });

  test('C3: records of init containers are pruned except the newest exited one, in any order', () => {
    const web = pod({ initContainers: [container('i')] });
    const ended = [record('i', 'exited'), record('i', 'exited', { restartCount: 1 })];
    const running = record('i', 'running', { restartCount: 2 });
    expect(surplusInitContainers(web, [...ended, running], false).map(({ id }) => id)).toEqual(['i-0']);
  });

  test.each([
    ['created', 'exited', 'a-0'],
    ['running', 'exited', undefined],
    ['created', 'running', undefined],
  ] as const)('C6: exitedUnobserved of a container that was %s and now is %s returns %s', (before, now, id) => {
    const listed = record('a', now);
    expect(exitedUnobserved([listed], [record('a', before)])?.id).toBe(id);
  });
});

describe('lists of a runtime', () => {
  const aSandbox = (id: string, uid: string | undefined, extra: object = {}) =>
    Object.assign(
      messages.PodSandbox.create({
        ...{ id, labels: { 'io.kubernetes.pod.uid': uid ?? '' } },
        ...(uid !== undefined && { metadata: { name: 'web', namespace: 'default', uid } }),
      }),
      extra,
    );
  const aContainer = (id: string, extra: Partial<Container> = {}): Container =>
    Object.assign(messages.Container.create({ id, podSandboxId: 's1', labels }), extra);

  test('lists show the newest pod first; a pod is as old as its oldest sandbox or container with a known creation time', () => {
    const sandboxes = [1e6, 3e6, 2e6].map((createdAt, n) => aSandbox(`s${n}`, `u${n}`, { createdAt }));
    const pods = toRuntimePods([...sandboxes, aSandbox('s9', 'u9')], [aContainer('c', { createdAt: 0 })]);
    expect(pods.map(({ uid, createdAtMs }) => [uid, createdAtMs])).toEqual([
      ['u1', 3],
      ['u2', 2],
      ['u0', 1],
      ['u9', 0],
    ]);
  });

  test('toRuntimePods shows whether a sandbox is ready', () => {
    const [shown] = toRuntimePods([aSandbox('s1', 'u1', { state: PodSandboxState.SANDBOX_NOTREADY })], []);
    expect(shown?.sandboxes).toMatchObject([{ state: 'notReady', attempt: 0 }]);
  });

  test('toRuntimeContainer shows the image of a container as requested and as resolved by the node', () => {
    const image = (fields: object): unknown[] => {
      const shown = toRuntimeContainer(messages.Container.create({ id: 'c', ...fields }));
      return [shown.image, shown.imageId];
    };
    expect(image({ image: { image: 'busybox' }, imageId: 'id', imageRef: 'ref' })).toEqual(['busybox', 'id']);
    expect(image({ imageRef: 'ref' })).toEqual(['', 'ref']);
  });

  test.each<[string, ReturnType<typeof aSandbox>[], Container[], string[]]>([
    ['all parts have the labels', [aSandbox('s1', 'u1')], [aContainer('c')], []],
    ["a sandbox without the kubelet's labels", [aSandbox('s1', 'u1', { labels: {} })], [], ['u1']],
    ["a container without the kubelet's labels", [aSandbox('s1', 'u1')], [aContainer('c', { labels: {} })], ['u1']],
    ['a container without an ID', [aSandbox('s1', 'u1')], [aContainer('', { labels: {} })], []],
    [
      'a container of another sandbox',
      [aSandbox('s1', 'u1')],
      [aContainer('c', { labels: {}, podSandboxId: 's2' })],
      [],
    ],
    ['a sandbox without an ID', [aSandbox('', 'u1', { labels: {} })], [], []],
    ['a sandbox without metadata', [aSandbox('s1', undefined)], [], []],
    ['a sandbox without a pod', [aSandbox('s1', '', { labels: { 'io.kubernetes.pod.uid': 'u2' } })], [], []],
  ])('podsBeyondLabels returns the pods $3 for a list by label: %s', (_what, sandboxes, containers, uids) => {
    expect([...podsBeyondLabels(sandboxes, containers)]).toEqual(uids);
  });
});

describe('end of a container log', () => {
  const line = (text: string, tag = 'F'): string => `2026-01-01T00:00:00.000000000Z stdout ${tag} ${text}\n`;
  const tail = (text: string, fromStart: boolean, maxLines: number, maxBytes: number) =>
    tailOfCriLog(Buffer.from(text), fromStart, maxLines, maxBytes);

  test.each<[string, string, boolean, number, number, object]>([
    ['the whole file', line('a'), true, 5, 100, { text: 'a\n', complete: true }],
    ['fewer lines than requested', line('x') + line('a'), false, 2, 100, { text: 'a\n', complete: false }],
    ['as many lines as requested', line('x') + line('a'), false, 1, 100, { text: 'a\n', complete: false }],
    ['more lines than requested', line('x') + line('a') + line('b'), false, 1, 100, { text: 'b\n', complete: true }],
    ['as many bytes as requested', line('x') + line('ab'), false, 9, 3, { text: 'ab\n', complete: true }],
    [
      'a line without an end',
      line('a', 'P') + line('b', 'P:tag') + line('c', 'PX'),
      true,
      9,
      9,
      { text: 'abc\n', complete: true },
    ],
  ])(
    'tailOfCriLog returns the last lines of a container log: %s',
    (_what, text, fromStart, maxLines, maxBytes, expected) => {
      expect(tail(text, fromStart, maxLines, maxBytes)).toEqual(expected);
    },
  );
});

test('the container hash equals Go’s for texts that JSON escapes differently', () => {
  expect(containerHash({ name: 'c', image: 'a<b>&\u2028\u2029' })).toBe('85aa46a4');
  expect(containerHash({ name: 'c' })).toBe('27e233a');
});

test('the timeout that the runtime gets is rounded to whole seconds', () => {
  expect([stopTimeoutSeconds(1_001_000), stopTimeoutSeconds(2001), stopTimeoutSeconds(0)]).toEqual([1001, 3, 2]);
});
