import type { Container, Pod } from '@node-agent/pod-spec';

/** Creates a pod with one container that has the given resource requests. */
export function makePod(
  name: string,
  requests: Readonly<Record<string, string>> = {},
  spec: Partial<Pod['spec']> = {},
): Pod {
  const container: Container = { name: 'main', image: 'busybox', resources: { requests } };
  const annotations = { 'kubernetes.io/config.source': 'api' };
  return {
    metadata: { name, namespace: 'default', uid: `uid-${name}`, annotations },
    spec: { containers: [container], ...spec },
  };
}
