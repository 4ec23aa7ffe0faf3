import type { Pod } from '@node-agent/pod-spec';

export function podOf(name: string, priority?: number, graceSeconds?: number): Pod {
  return {
    metadata: { name, namespace: 'default', uid: `uid-${name}`, generation: 3 },
    spec: {
      containers: [{ name: 'main', image: 'busybox' }],
      ...(priority !== undefined && { priority }),
      ...(graceSeconds !== undefined && { terminationGracePeriodSeconds: graceSeconds }),
    },
  } as Pod;
}
