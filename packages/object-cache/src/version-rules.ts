/** The parts of an object's metadata that tell which state of which object it is. */
export interface ObjectVersion {
  readonly uid?: string;
  readonly resourceVersion?: string;
}

/**
 * Whether an answer from the API server's cache may be the past: older than what is known, or another object of the name. A
 * server that lost its store counts its versions from the beginning, so only an answer from the store itself decides.
 */
export function mayBePast(answer: ObjectVersion, known: ObjectVersion): boolean {
  if (answer.uid !== known.uid) return true;
  return numberOf(answer.resourceVersion) < numberOf(known.resourceVersion);
}

/**
 * Whether an answer from the API server's store replaces the object that is known: it is another object, or a newer version. An immutable
 * object has the same content in all versions. `undefined`: there is no such object.
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

/** The node's annotation that says for how many seconds objects are fresh (`v1.ObjectTTLAnnotationKey`). */
const OBJECT_TTL_ANNOTATION = 'node.alpha.kubernetes.io/ttl';

/** For how many milliseconds a node's objects are fresh, as its annotation says; `undefined` where it says nothing. */
export function objectTtlMs(annotations: Readonly<Record<string, string>> | undefined): number | undefined {
  const text = annotations?.[OBJECT_TTL_ANNOTATION];
  return text !== undefined && /^[+-]?\d+$/.test(text) ? Number(text) * 1000 : undefined;
}
