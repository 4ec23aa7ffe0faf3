/** An image reference, completed with Docker's default registry and tag. */
export interface ImageName {
  /** Name including the registry: `docker.io/library/busybox`. */
  readonly repository: string;
  readonly tag?: string;
  readonly digest?: string;
}

const COMPONENT = /^[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*$/;
const TAG = /^\w[\w.-]{0,127}$/;
const DIGEST = /^sha256:[0-9a-f]{64}$/;

/** Parses an image reference. Returns `undefined` if it is malformed. */
export function parseImageName(reference: string): ImageName | undefined {
  const [named = '', digest, extra] = reference.split('@');
  if (extra !== undefined || (digest !== undefined && !DIGEST.test(digest))) return undefined;
  const slash = named.indexOf('/');
  const first = slash < 0 ? '' : named.slice(0, slash);
  const hasRegistry = first === 'localhost' || /[.:]/.test(first);
  const registry = hasRegistry ? first : 'docker.io';
  const rest = hasRegistry ? named.slice(slash + 1) : named;
  const colon = rest.lastIndexOf(':');
  const path = colon < 0 ? rest : rest.slice(0, colon);
  const tag = colon < 0 ? undefined : rest.slice(colon + 1);
  if (tag !== undefined && !TAG.test(tag)) return undefined;
  if (!path.split('/').every((component) => COMPONENT.test(component))) return undefined;
  const repository = `${registry}/${registry === 'docker.io' && !path.includes('/') ? `library/${path}` : path}`;
  if (digest !== undefined) return { repository, digest };
  return { repository, tag: tag ?? 'latest' };
}

/** Returns the complete reference: `docker.io/library/busybox:latest` or `registry/name@sha256:...`. */
export function fullReference(name: ImageName): string {
  return name.digest === undefined ? `${name.repository}:${name.tag}` : `${name.repository}@${name.digest}`;
}
