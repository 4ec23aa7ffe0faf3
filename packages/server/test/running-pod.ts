import type { Pod, RuntimeContainer, RuntimePod } from '@node-agent/pod-spec';

/** The pod of these tests as its source defines it. `running` is the same pod as the runtime reports it. */
export const pod: Pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web', namespace: 'default', uid: 'u1' },
  spec: { containers: [{ name: 'main', image: 'i', tty: true }] },
};
export const container: RuntimeContainer = {
  ...{ id: 'c1', name: 'main', sandboxId: 's1', image: 'i', imageId: 'x', hash: '', restartCount: 0, createdAtMs: 1 },
  state: 'running',
};
export const sandbox = { id: 's1', state: 'ready', attempt: 0, createdAtMs: 0, runtimeHandler: '' } as const;
export const running: RuntimePod = {
  ...{ uid: 'u1', name: 'web', namespace: 'default', createdAtMs: 0 },
  containers: [container],
  sandboxes: [sandbox],
};
