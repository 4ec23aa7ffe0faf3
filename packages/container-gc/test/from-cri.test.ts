import { type Container, ContainerState, type PodSandbox, PodSandboxState } from '@node-agent/cri-client';
import { describe, expect, it } from 'vitest';
import { listedContainer, listedSandbox } from '../src/from-cri.ts';

const NANOSECONDS = 1e6;
const GRACE = 'io.kubernetes.pod.terminationGracePeriod';

describe('listedContainer', () => {
  const container = (state: ContainerState, grace?: string, labels = { 'io.kubernetes.pod.uid': 'u' }) =>
    listedContainer({
      ...{ id: 'c1', podSandboxId: 's1', metadata: { name: 'main', attempt: 2 }, createdAt: 5 * NANOSECONDS },
      ...{ state, labels, annotations: grace === undefined ? {} : { [GRACE]: grace } },
    } as unknown as Container);

  it.each([
    [ContainerState.CONTAINER_CREATED, 'created'],
    [ContainerState.CONTAINER_RUNNING, 'running'],
    [ContainerState.CONTAINER_EXITED, 'exited'],
    [ContainerState.CONTAINER_UNKNOWN, 'unknown'],
  ])('converts a container in state %j', (code, state) => {
    expect(container(code)).toEqual({
      ...{ id: 'c1', podUid: 'u', name: 'main', attempt: 2, sandboxId: 's1' },
      ...{ state, createdAtMs: 5, gracePeriodSeconds: 2 },
    });
  });

  it.each([
    [undefined, 2],
    ['', 2],
    ['soon', 2],
    ['-5', 2],
    ['1', 2],
    ['30', 30],
    ['9999999999', 2],
  ])('reads a grace period from the annotation %j: %d seconds', (grace, seconds) => {
    expect(container(ContainerState.CONTAINER_RUNNING, grace)?.gracePeriodSeconds).toBe(seconds);
  });

  it('ignores a container that no kubelet created', () => {
    expect(container(ContainerState.CONTAINER_EXITED, '1', {} as never)).toBeUndefined();
  });
});

describe('listedSandbox', () => {
  const sandbox = (uid: string) =>
    listedSandbox({
      ...{ id: 's1', metadata: { uid, name: 'p', namespace: 'n', attempt: 1 }, createdAt: 7 * NANOSECONDS },
      state: PodSandboxState.SANDBOX_NOTREADY,
    } as unknown as PodSandbox);

  it('converts a sandbox, and ignores a sandbox without a pod', () => {
    expect(sandbox('u')).toEqual({ id: 's1', podUid: 'u', attempt: 1, ready: false, createdAtMs: 7 });
    expect(sandbox('')).toBeUndefined();
  });
});
