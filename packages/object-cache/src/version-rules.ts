/** The metadata that identify an object and its version. */
export interface ObjectVersion {
  readonly uid?: string;
  readonly resourceVersion?: string;
}

/**
 * Returns whether a response from the API server's cache may be outdated: the response is older than the known object,
 * or is another object with the same name. After a server has lost its data, versions restart, so only a read from the
 * store decides.
 */
export function mayBePast(answer: ObjectVersion, known: ObjectVersion): boolean {
  if (answer.uid !== known.uid) return true;
  return numberOf(answer.resourceVersion) < numberOf(known.resourceVersion);
}

/**
 * Returns whether a response from the API server's store replaces the known object: the response is another object, or
 * a newer version. All versions of an immutable object have the same content. `undefined` stands for an object that
 * does not exist.
 */
export function isSuperseded(
  known: { readonly metadata: ObjectVersion; readonly immutable?: boolean } | undefined,
  answer: { readonly metadata: ObjectVersion } | undefined,
): boolean {
  if (known === undefined || answer === undefined) return known !== answer;
  if (known.metadata.uid !== answer.metadata.uid) return true;
  if (known.immutable === true) return false;
  return numberOf(known.metadata.resourceVersion) < numberOf(answer.metadata.resourceVersion);
}

function numberOf(resourceVersion: string | undefined): bigint {
  return resourceVersion !== undefined && /^\d+$/.test(resourceVersion) ? BigInt(resourceVersion) : 0n;
}

/** The node annotation for the lifetime of cached objects, in seconds (`v1.ObjectTTLAnnotationKey`). */
const OBJECT_TTL_ANNOTATION = 'node.alpha.kubernetes.io/ttl';

/** Returns the lifetime of cached objects in milliseconds from a node's annotations, or `undefined` if unset. */
export function objectTtlMs(annotations: Readonly<Record<string, string>> | undefined): number | undefined {
  const text = annotations?.[OBJECT_TTL_ANNOTATION];
  return text !== undefined && /^[+-]?\d+$/.test(text) ? Number(text) * 1000 : undefined;
}
