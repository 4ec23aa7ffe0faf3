import { type Container, ContainerState, type PodSandbox, PodSandboxState } from '@node-agent/cri-client';
import { expect, test } from 'vitest';
import { listPods } from '../src/pod-listing.ts';

const sandbox = (name: string, createdAt: number, ready: boolean, id: string = name): PodSandbox =>
  ({
    id,
    createdAt,
    state: ready ? PodSandboxState.SANDBOX_READY : PodSandboxState.SANDBOX_NOTREADY,
    metadata: { name, namespace: 'default', uid: `uid-${name}`, attempt: 0 },
  }) as PodSandbox;

const container = (podSandboxId: string, running: boolean): Container =>
  ({
    id: `${podSandboxId}-${running}`,
    podSandboxId,
    createdAt: 1,
    state: running ? ContainerState.CONTAINER_RUNNING : ContainerState.CONTAINER_EXITED,
    labels: {},
    metadata: { name: 'main' },
  }) as unknown as Container;

test('a pod that has ended is left out; one whose containers are still to start, or are down for now, is not', () => {
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

test('of the sandboxes of one name the ready ones count, else the newest', () => {
  const sandboxes = [sandbox('web', 1, false, 'old'), sandbox('web', 2, true, 'new')];
  expect(listPods(sandboxes, []).map(({ sandboxId }) => sandboxId)).toEqual(['new']);
  const down = [sandbox('web', 1, false, 'old'), sandbox('web', 2, false, 'new')];
  const both = [container('old', true), container('new', true)];
  expect(listPods(down, both).map(({ sandboxId }) => sandboxId)).toEqual(['new']);
});
