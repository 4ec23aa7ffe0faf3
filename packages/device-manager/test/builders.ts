import type { Container, Pod } from '@node-agent/pod-spec';

export const GPU = 'example.com/gpu';

export function containerOf(name: string, limits: Readonly<Record<string, string>> = {}): Container {
  return { name, image: 'x', resources: { limits, requests: limits } };
}

export function podOf(uid: string, containers: readonly Container[], initContainers: readonly Container[] = []): Pod {
  return {
    metadata: { name: `pod-${uid}`, namespace: 'default', uid },
    spec: { containers: [...containers], ...(initContainers.length > 0 && { initContainers: [...initContainers] }) },
  };
}

export function healthy(...ids: readonly string[]): { readonly ID: string; readonly health: string }[] {
  return ids.map((ID) => ({ ID, health: 'Healthy' }));
}
