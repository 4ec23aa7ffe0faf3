import type { KubeObject } from './resource.ts';

/** `namespace/name`, or the name alone of an object that is in no namespace (`cache.MetaNamespaceKeyFunc`). */
export function objectKey({ metadata }: KubeObject): string {
  const { namespace, name = '' } = metadata;
  return namespace === undefined || namespace === '' ? name : `${namespace}/${name}`;
}
