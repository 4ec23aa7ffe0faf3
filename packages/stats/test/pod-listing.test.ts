import {
  type Container,
  ContainerState,
  type Init,
  messages,
  type PodSandbox,
  PodSandboxState,
} from '@node-agent/cri-client';
import { expect, test } from 'vitest';
import { listPods } from '../src/pod-listing.ts';

const sandbox = (
  name: string,
  createdAt: number,
  ready: boolean,
  id: string = name,
  namespace = 'default',
): PodSandbox =>
  messages.PodSandbox.create({
    ...{ id, createdAt, state: ready ? PodSandboxState.SANDBOX_READY : PodSandboxState.SANDBOX_NOTREADY },
    metadata: { name, namespace, uid: `uid-${name}`, attempt: 0 },
  });

const container = (podSandboxId: string, running: boolean, more: Init<Container> = {}): Container =>
  messages.Container.create({
    ...{ id: `${podSandboxId}-${running}`, podSandboxId, createdAt: 1, metadata: { name: 'main' } },
    state: running ? ContainerState.CONTAINER_RUNNING : ContainerState.CONTAINER_EXITED,
    ...more,
  });

test('listPods omits a terminated pod and keeps a pod whose containers have not started or have crashed', () => {
  const sandboxes = [
    sandbox('ended', 1, false),
    sandbox('starting', 2, true),
    sandbox('crashing', 3, true),
    sandbox('running', 4, true),
    sandbox('losing', 5, false),
  ];
  const containers = [
    container('ended', false),
    container('crashing', false),
    container('running', true),
    container('losing', true),
  ];
  expect(listPods(sandboxes, containers).map(({ ref, containers: own }) => [ref.name, own.length])).toEqual([
    ['starting', 0],
    ['crashing', 0],
    ['running', 1],
    ['losing', 1],
  ]);
});

test.each<[string, readonly (readonly [id: string, createdAt: number, ready: boolean])[], readonly string[]]>([
  [
    'the newest is ready',
    [
      ['old', 1, false],
      ['new', 2, true],
    ],
    ['new'],
  ],
  [
    'the newest is not ready yet',
    [
      ['old', 1, true],
      ['new', 2, false],
    ],
    ['old'],
  ],
  [
    'both are ready: returns both, oldest first',
    [
      ['new', 2, true],
      ['old', 1, true],
    ],
    ['old', 'new'],
  ],
  [
    'none is ready: returns the newest',
    [
      ['old', 1, false],
      ['new', 3, false],
      ['middle', 2, false],
    ],
    ['new'],
  ],
])('listPods selects of several sandboxes with one pod name, if %s', (_what, told, expected) => {
  const sandboxes = told.map(([id, createdAt, ready]) => sandbox('web', createdAt, ready, id));
  const containers = told.map(([id]) => container(id, true));
  expect(listPods(sandboxes, containers).map(({ sandboxId }) => sandboxId)).toEqual(expected);
});

test('listPods keeps pods of one name in two namespaces apart', () => {
  const sandboxes = [sandbox('web', 2, true, 'b', 'other'), sandbox('web', 1, true, 'a')];
  expect(listPods(sandboxes, []).map(({ ref, sandboxId }) => [ref.namespace, sandboxId])).toEqual([
    ['default', 'a'],
    ['other', 'b'],
  ]);
});

test('listPods returns a pod with its containers and its times in milliseconds', () => {
  const label = { 'io.kubernetes.container.name': 'by-label' };
  const image = { image: 'registry/web@sha256:1', userSpecifiedImage: 'web:1' };
  const containers = [
    container('web', true, { id: 'c1', createdAt: 7_000_000, labels: label, image, imageId: 'i1', imageRef: 'r1' }),
    container('web', true, { id: 'c2', image: { image: 'web:2' }, imageRef: 'r2' }),
    container('web', true, { id: 'c3', metadata: null }),
  ];
  const own = { createdAtMs: 1e-6, image: '', imageId: '' };
  expect(listPods([sandbox('web', 3_000_000, true)], containers)).toEqual([
    {
      ...{ ref: { name: 'web', namespace: 'default', uid: 'uid-web' }, sandboxId: 'web', createdAtMs: 3 },
      containers: [
        { id: 'c1', name: 'by-label', createdAtMs: 7, image: 'web:1', imageId: 'i1' },
        { ...own, id: 'c2', name: 'main', image: 'web:2', imageId: 'r2' },
        { ...own, id: 'c3', name: '' },
      ],
    },
  ]);
});

test('listPods returns empty names for a sandbox without metadata', () => {
  const nameless = messages.PodSandbox.create({ id: 's', state: PodSandboxState.SANDBOX_READY });
  expect(listPods([nameless], [])[0]?.ref).toEqual({ name: '', namespace: '', uid: '' });
});
