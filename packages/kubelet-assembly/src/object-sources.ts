import type { ConfigMap, ObjectCache, Secret } from '@node-agent/object-cache';
import type { PodRuntimeComponents } from '@node-agent/runtime';
import type { ProjectionSources } from '@node-agent/volumes';

/** The secrets and config maps that environments are made from. */
export type EnvironmentSource = NonNullable<PodRuntimeComponents['objects']>;

type Objects = Pick<ObjectCache, 'getSecret' | 'getConfigMap'>;

/** Secrets and config maps for containers' environments: their data decoded. */
export function environmentSource(objects: Objects): EnvironmentSource {
  return {
    async data(kind, namespace, name, signal = new AbortController().signal) {
      if (kind === 'secret') {
        const secret = await unlessMissing(objects.getSecret(namespace, name, signal));
        return secret && decoded(secret.data);
      }
      const configMap = await unlessMissing(objects.getConfigMap(namespace, name, signal));
      // Binary data is not for environments.
      return configMap && (configMap.data ?? {});
    },
  };
}

/** Secrets and config maps for volumes, as the API server has them. */
export function volumeSource(objects: Objects): NonNullable<ProjectionSources['objects']> {
  return {
    getSecret: (namespace, name, signal): Promise<Secret | undefined> =>
      unlessMissing(objects.getSecret(namespace, name, signal)),
    getConfigMap: (namespace, name, signal): Promise<ConfigMap | undefined> =>
      unlessMissing(objects.getConfigMap(namespace, name, signal)),
  };
}

async function unlessMissing<T>(object: Promise<T>): Promise<T | undefined> {
  try {
    return await object;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'NotFound') return undefined;
    throw error;
  }
}

function decoded(data: Readonly<Record<string, string>> | undefined): Readonly<Record<string, string>> {
  const entries = Object.entries(data ?? {});
  return Object.fromEntries(entries.map(([key, base64]) => [key, Buffer.from(base64, 'base64').toString()]));
}
