import type { Container, Pod } from '@node-agent/pod-spec';

type Amounts = Readonly<Record<string, string>>;

export function container(
  name: string,
  requests?: Amounts,
  limits?: Amounts,
  more: Partial<Container> = {},
): Container {
  return { name, image: 'i', resources: { ...(requests && { requests }), ...(limits && { limits }) }, ...more };
}

export function makePod(uid: string, containers: readonly Container[], spec: Partial<Pod['spec']> = {}): Pod {
  return { metadata: { name: uid, namespace: 'default', uid }, spec: { containers: [...containers], ...spec } };
}

const CPU_MEMORY = { cpu: '100m', memory: '10Mi' };
export const guaranteed = (uid: string): Pod => makePod(uid, [container('c', CPU_MEMORY, CPU_MEMORY)]);
export const burstable = (uid: string, cpu = '250m'): Pod => makePod(uid, [container('c', { cpu })]);
export const bestEffort = (uid: string): Pod => makePod(uid, [container('c')]);
