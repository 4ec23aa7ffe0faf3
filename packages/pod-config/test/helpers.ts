import type { Pod } from '@node-agent/pod-spec';
import type { JsonValue } from '../src/plain-json.ts';

export interface PodParts {
  readonly uid?: string;
  readonly name?: string;
  readonly namespace?: string;
  readonly image?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
  readonly phase?: string;
}

export function podOf(parts: PodParts = {}): Pod {
  const { uid = 'u1', name = `pod-${uid}`, namespace = 'default', image = 'busybox', phase, ...metadata } = parts;
  return {
    metadata: { ...metadata, uid, name, namespace },
    spec: { containers: [{ name: 'main', image }] },
    ...(phase === undefined ? {} : { status: { phase } }),
  };
}

export function manifestOf(name: string, image: string | null = 'busybox'): Record<string, JsonValue> {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: { containers: [{ name: 'main', image }] },
  };
}

export function bytesOf(value: unknown): Uint8Array {
  return new TextEncoder().encode(typeof value === 'string' ? value : JSON.stringify(value));
}
