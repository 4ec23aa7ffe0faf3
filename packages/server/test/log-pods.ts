import type { ContainerStatus, Pod } from '@node-agent/pod-spec';

/** The default log options. */
export const quiet = { follow: false, previous: false, timestamps: false };

/** Returns a pod with one container that has the given status. `undefined`: the container has no status. */
export function podWith(status: Partial<ContainerStatus> | undefined): Pod {
  const whole = { name: 'main', image: 'i', imageID: '', ready: false, restartCount: 0, ...status };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web', namespace: 'default', uid: 'u1' },
    spec: { containers: [{ name: 'main', image: 'i' }] },
    status: { phase: 'Running', ...(status && { containerStatuses: [whole] }) },
  };
}
