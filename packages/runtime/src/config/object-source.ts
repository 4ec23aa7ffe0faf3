import { textOfBytes } from '@node-agent/host';
import type { Container, Pod } from '@node-agent/pod-spec';
import { PodRuntimeError } from '../errors.ts';

/** A secret or configMap of the pod's namespace. */
export interface ObjectReference {
  readonly kind: 'secret' | 'configMap';
  readonly name: string;
}

/**
 * Where secrets and configMaps come from: the port that a node with an API server fills, the same as of `volumes`.
 * `undefined` is an object that does not exist; any other failure is thrown.
 */
export interface ObjectSource {
  /** Its `data` is in base64. */
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

/** The decoded data of the objects that were read for one container; `undefined` for those that do not exist. */
export type EnvironmentObjects = (
  kind: ObjectReference['kind'],
  name: string,
) => Readonly<Record<string, string>> | undefined;

/** Which secrets and configMaps a container's environment refers to, each once, in the order of reference. */
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
 * Reads what a container's environment refers to.
 * @throws PodRuntimeError `Unsupported` where it refers to anything and there is no source, as on a standalone node
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
