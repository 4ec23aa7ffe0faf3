import type { Pod } from '@node-agent/pod-spec';

type Amounts = Readonly<Record<string, string>>;

export function makePod(uid: string, requests?: Amounts, limits?: Amounts): Pod {
  const resources = { ...(requests && { requests }), ...(limits && { limits }) };
  return {
    metadata: { name: uid, namespace: 'default', uid },
    spec: { containers: [{ name: 'main', image: 'none', resources }] },
  };
}
