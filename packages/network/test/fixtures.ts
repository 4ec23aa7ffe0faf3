import type { Pod, PodSpec } from '@node-agent/pod-spec';

export function makePod(spec: Partial<PodSpec> = {}, name = 'web'): Pod {
  return { metadata: { name, namespace: 'shop', uid: 'uid-1' }, spec: { containers: [{ name: 'app' }], ...spec } };
}
