import type { Pod } from '@node-agent/pod-spec';
import { isJsonObject, type JsonValue } from '../src/plain-json.ts';
import type { PodSchema } from '../src/pod-schema.ts';

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

/** Enough of the pod API to see that each of a schema's three steps is taken. */
export const smallSchema: PodSchema = {
  check: (value) =>
    Object.keys(isJsonObject(value) ? value : {})
      .filter((key) => !['apiVersion', 'kind', 'metadata', 'spec', 'status'].includes(key))
      .map((field) => ({ field, message: 'unknown field' })),
  applyDefaults: (pod) => ({ ...pod, spec: { restartPolicy: 'Always', ...pod.spec } }),
  validate: (pod) =>
    (pod.spec.containers ?? [])
      .map((container, index) => ({ field: `spec.containers[${index}].image`, message: 'Required value', container }))
      .filter(({ container }) => !container.image),
};

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
