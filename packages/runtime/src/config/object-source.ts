import { textOfBytes } from '@node-agent/host';
import type { Container, Pod } from '@node-agent/pod-spec';
import { PodRuntimeError } from '../errors.ts';

/** A Secret or ConfigMap of the pod's namespace. */
export interface ObjectReference {
  readonly kind: 'secret' | 'configMap';
  readonly name: string;
}

/**
 * Source of Secrets and ConfigMaps on a node with an API server; the same port as in `volumes`. Returns `undefined` for
 * an object that does not exist; throws on any other failure.
 */
export interface ObjectSource {
  /** Reads a Secret; its `data` is in base64. */
  getSecret(
    namespace: string,
    name: string,
    signal: AbortSignal,
  ): Promise<{ readonly data?: Readonly<Record<string, string>> } | undefined>;
  getConfigMap(
    namespace: string,
    name: string,
    signal: AbortSignal,
  ): Promise<{ readonly data?: Readonly<Record<string, string>> } | undefined>;
}

/** Decoded data of the objects that were read for one container; `undefined` for objects that do not exist. */
export type EnvironmentObjects = (
  kind: ObjectReference['kind'],
  name: string,
) => Readonly<Record<string, string>> | undefined;

/** Returns the Secrets and ConfigMaps that a container's environment refers to, each once, in order of reference. */
export function environmentReferences(container: Container): readonly ObjectReference[] {
  const references = new Map<string, ObjectReference>();
  const add = (kind: ObjectReference['kind'], source: { readonly name?: string } | undefined): void => {
    if (source) references.set(`${kind}/${source.name ?? ''}`, { kind, name: source.name ?? '' });
  };
  for (const { configMapRef, secretRef } of container.envFrom ?? []) {
    add('configMap', configMapRef);
    if (!configMapRef) add('secret', secretRef);
  }
  for (const { value, valueFrom } of container.env ?? []) {
    if (value) continue;
    add('configMap', valueFrom?.configMapKeyRef);
    add('secret', valueFrom?.secretKeyRef);
  }
  return [...references.values()];
}

/**
 * Reads the objects that a container's environment refers to.
 * @throws PodRuntimeError `Unsupported` if there are references but no source, as on a standalone node
 */
export async function readEnvironmentObjects(
  pod: Pod,
  container: Container,
  source: ObjectSource | undefined,
  signal: AbortSignal,
): Promise<EnvironmentObjects> {
  const { namespace } = pod.metadata;
  const objects = new Map<string, Readonly<Record<string, string>> | undefined>();
  for (const { kind, name } of environmentReferences(container)) {
    if (!source) {
      throw new PodRuntimeError(
        'Unsupported',
        `couldn't get ${kind} ${namespace}/${name}, no kubeClient defined: this kubelet runs without an API server`,
      );
    }
    objects.set(`${kind}/${name}`, await dataOf(source, kind, namespace, name, signal));
  }
  return (kind, name) => objects.get(`${kind}/${name}`);
}

async function dataOf(
  source: ObjectSource,
  kind: ObjectReference['kind'],
  namespace: string,
  name: string,
  signal: AbortSignal,
): Promise<Readonly<Record<string, string>> | undefined> {
  if (kind === 'configMap') {
    const configMap = await source.getConfigMap(namespace, name, signal);
    return configMap && (configMap.data ?? {});
  }
  const secret = await source.getSecret(namespace, name, signal);
  if (secret === undefined) return undefined;
  const decoded = Object.entries(secret.data ?? {}).map(([key, value]): [string, string] => [
    key,
    textOfBytes(Buffer.from(value, 'base64')),
  ]);
  return Object.fromEntries(decoded);
}
