import type { KubeObject } from './resource.ts';

/** Returns `namespace/name`, or only the name if the object has no namespace (`cache.MetaNamespaceKeyFunc`). */
export function objectKey({ metadata }: KubeObject): string {
  const { namespace, name = '' } = metadata;
  return namespace === undefined || namespace === '' ? name : `${namespace}/${name}`;
}
