import { PodSpecError } from './errors.ts';

/** A normalized image reference, as registry clients use it. */
export interface ImageReference {
  /**
   * Registry with its port; `docker.io` if the reference names no registry. The domain is empty if the first component
   * is not a valid host (`a_b.c/d`): the grammar then treats this component as part of the path.
   */
  readonly domain: string;
  /** Repository in the registry: `library/busybox` for `busybox`. */
  readonly path: string;
  /** Tag of the reference, if the reference has one; see {@link effectiveTag}. */
  readonly tag?: string;
  /** Digest: `sha256:` and 64 hex digits. */
  readonly digest?: string;
}

const DEFAULT_DOMAIN = 'docker.io';
const LEGACY_DEFAULT_DOMAIN = 'index.docker.io';
const OFFICIAL_PREFIX = 'library/';
const MAX_PATH_LENGTH = 255;
const MAX_LENGTH = 4096;

const COMPONENT = '[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*';
const LABEL = '(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])';
const HOST = `(?:${LABEL}(?:\\.${LABEL})*|\\[[a-fA-F0-9:]+\\])(?::[0-9]+)?`;
const TAG = '[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,127}';
const DIGEST = '[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}';
const REFERENCE = new RegExp(`^(?:(${HOST})/)?(${COMPONENT}(?:/${COMPONENT})*)(?::(${TAG}))?(?:@(${DIGEST}))?$`);
const DIGEST_HEX_LENGTH: Readonly<Record<string, number>> = { sha256: 64, sha384: 96, sha512: 128 };

/**
 * Parses a reference with the grammar of github.com/distribution/reference 0.6 (`ParseNormalizedNamed`).
 * @throws PodSpecError `InvalidImageName`, with upstream's text `couldn't parse image name ...`
 */
export function parseImageReference(image: string): ImageReference {
  const parsed = parse(image);
  if (typeof parsed !== 'string') return parsed;
  const shown = image.length > MAX_LENGTH ? `${image.slice(0, 64)}...` : image;
  throw new PodSpecError('InvalidImageName', `couldn't parse image name ${JSON.stringify(shown)}: ${parsed}`);
}

/** Returns the reference, or the problem as text. */
function parse(image: string): ImageReference | string {
  if (image.length > MAX_LENGTH) return 'invalid reference format';
  if (/^[a-f0-9]{64}$/.test(image)) {
    return `invalid repository name (${image}), cannot specify 64-byte hexadecimal strings`;
  }
  const [domain, remainder] = splitDomain(image);
  const remote = remainder.split(':', 1)[0] ?? '';
  if (remote.toLowerCase() !== remote) {
    return `invalid reference format: repository name (${remote}) must be lowercase`;
  }
  const full = `${domain}/${remainder}`;
  const [, host = '', path, tag, digest] = REFERENCE.exec(full) ?? [];
  if (path === undefined) {
    return REFERENCE.test(full.toLowerCase()) ? 'repository name must be lowercase' : 'invalid reference format';
  }
  if (path.length > MAX_PATH_LENGTH) return `repository name must not be more than ${MAX_PATH_LENGTH} characters`;
  const digestProblem = digest === undefined ? undefined : whyNotDigest(digest);
  if (digestProblem !== undefined) return digestProblem;
  return { domain: host, path, ...(tag === undefined ? {} : { tag }), ...(digest === undefined ? {} : { digest }) };
}

/** The part before the first slash is a registry if it looks like a host name, and otherwise part of the repository. */
function splitDomain(image: string): readonly [domain: string, remainder: string] {
  const slash = image.indexOf('/');
  if (slash < 0) return [DEFAULT_DOMAIN, OFFICIAL_PREFIX + image];
  const first = image.slice(0, slash);
  const isHost = first === 'localhost' || /[.:]/.test(first) || first.toLowerCase() !== first;
  const domain = isHost && first !== LEGACY_DEFAULT_DOMAIN ? first : DEFAULT_DOMAIN;
  const remainder = isHost ? image.slice(slash + 1) : image;
  const isOfficial = domain === DEFAULT_DOMAIN && !remainder.includes('/');
  return [domain, isOfficial ? OFFICIAL_PREFIX + remainder : remainder];
}

function whyNotDigest(digest: string): string | undefined {
  const colon = digest.indexOf(':');
  const hexLength = DIGEST_HEX_LENGTH[digest.slice(0, colon)];
  const hex = digest.slice(colon + 1);
  if (hexLength === undefined) return 'unsupported digest algorithm';
  if (hex.length !== hexLength) return 'invalid checksum digest length';
  return /^[a-f0-9]+$/.test(hex) ? undefined : 'invalid checksum digest format';
}

/**
 * Returns the tag to pull: `latest` if the reference has neither a tag nor a digest; `undefined` if it has only a
 * digest.
 */
export function effectiveTag(reference: ImageReference): string | undefined {
  return reference.tag ?? (reference.digest === undefined ? 'latest' : undefined);
}

/** Returns the repository: `docker.io/library/busybox`. */
export function imageRepository(reference: ImageReference): string {
  return reference.domain === '' ? reference.path : `${reference.domain}/${reference.path}`;
}

/** Returns the complete reference with all defaults filled in: `docker.io/library/busybox:latest`. */
export function canonicalImageName(reference: ImageReference): string {
  const tag = effectiveTag(reference);
  return `${imageRepository(reference)}${tag === undefined ? '' : `:${tag}`}${digestPart(reference)}`;
}

/** Returns the short form without default parts: `busybox:1.36`. A tag is shown only if the reference has one. */
export function familiarImageName(reference: ImageReference): string {
  const tag = reference.tag === undefined ? '' : `:${reference.tag}`;
  return `${familiarRepository(reference)}${tag}${digestPart(reference)}`;
}

function familiarRepository(reference: ImageReference): string {
  if (reference.domain !== DEFAULT_DOMAIN) return imageRepository(reference);
  const short = reference.path.startsWith(OFFICIAL_PREFIX) ? reference.path.slice(OFFICIAL_PREFIX.length) : '';
  return short === '' || short.includes('/') ? reference.path : short;
}

function digestPart(reference: ImageReference): string {
  return reference.digest === undefined ? '' : `@${reference.digest}`;
}
