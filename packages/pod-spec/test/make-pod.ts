import type { ObjectMeta, Pod, PodSpec } from '../src/index.ts';

/** A pod named `web` with one container, for tests in which other fields matter. */
export function makePod(
  spec: Partial<PodSpec> = {},
  metadata: Omit<Partial<ObjectMeta>, 'name' | 'namespace' | 'uid'> = {},
): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web', namespace: 'default', uid: 'uid-1', ...metadata },
    spec: { containers: [{ name: 'main', image: 'busybox:1' }], ...spec },
  };
}
