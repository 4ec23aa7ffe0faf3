import type { ContainerStatus, Pod } from '@node-agent/pod-spec';
import { expect, test } from 'vitest';
import { hasStarted } from '../src/observed.ts';

const RUNS = { running: { startedAt: '2026-01-01T00:00:00Z' } };
const waits = (reason: string) => ({ waiting: { reason } });
const INIT = waits('PodInitializing');

const container = (name: string, state: ContainerStatus['state']): ContainerStatus => ({
  ...{ name, image: '', imageID: '', ready: false, restartCount: 0 },
  ...(state && { state }),
});

function pod(main: ContainerStatus['state'][], init: ContainerStatus['state'][] = [], restartPolicy?: string): Pod {
  const image = 'busybox';
  const initContainers = init.map((_, index) => ({
    name: `i${index}`,
    image,
    ...(restartPolicy && { restartPolicy }),
  }));
  return {
    metadata: { name: 'web', namespace: 'side', uid: 'u' },
    spec: { initContainers, containers: main.map((_, index) => ({ name: `c${index}`, image })) },
    status: {
      containerStatuses: main.map((state, index) => container(`c${index}`, state)),
      initContainerStatuses: init.map((state, index) => container(`i${index}`, state)),
    },
  };
}

test.each<[what: string, of: Pod, started: boolean]>([
  ['is false for a pod without container statuses', pod([]), false],
  ['is true for a pod whose containers run', pod([RUNS]), true],
  ['is false for a pod with a container that is being created', pod([RUNS, waits('ContainerCreating')]), false],
  ['is true for a pod whose image cannot be pulled', pod([waits('ErrImagePull')]), true],
  ['is true for a pod whose init container runs', pod([INIT], [RUNS]), true],
  ['is true for a pod whose init container crashes', pod([INIT], [waits('CrashLoopBackOff')]), true],
  ['is false for a pod whose init container has not started', pod([INIT], [INIT]), false],
  ['is false for a pod whose sidecar runs while the main container waits', pod([INIT], [RUNS], 'Always'), false],
  ["is true for a pod whose sidecar's image cannot be pulled", pod([INIT], [waits('ErrImagePull')], 'Always'), true],
])('hasStarted %s', (_what, of, started) => expect(hasStarted(of)).toBe(started));
