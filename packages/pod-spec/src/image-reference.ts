import { PodSpecError } from './errors.ts';

/** An image reference, normalised as a client of registries has it. */
export interface ImageReference {
  /**
   * The registry, with its port: `docker.io` where the reference names none. '' where what stands in its place is no
   * host (`a_b.c/d`): the grammar takes that for a part of the path.
   */
  readonly domain: string;
  /** The repository in it: `library/busybox` for `busybox`. */
  readonly path: string;
  /** Absent where the reference has none; see {@link effectiveTag}. */
  readonly tag?: string;
  /** As `sha256:` and 64 hex digits. */
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
 * Reads a reference by the grammar of github.com/distribution/reference 0.6 (`ParseNormalizedNamed`).
 * @throws PodSpecError `InvalidImageName`, worded as upstream's `couldn't parse image name ...`
 */
export function parseImageReference(image: string): ImageReference {
  const parsed = parse(image);
  if (typeof parsed !== 'string') return parsed;
  const shown = image.length > MAX_LENGTH ? `${image.slice(0, 64)}...` : image;
  throw new PodSpecError('InvalidImageName', `couldn't parse image name ${JSON.stringify(shown)}: ${parsed}`);
}

/** The reference, or what is wrong with it. */
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

/** What comes before the first slash is a registry where it looks like a host, and part of the name otherwise. */
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

/** The tag that a pull asks for: `latest` where the reference has neither tag nor digest; `undefined` with a digest. */
export function effectiveTag(reference: ImageReference): string | undefined {
  return reference.tag ?? (reference.digest === undefined ? 'latest' : undefined);
}

/** The repository, as `docker.io/library/busybox`. */
export function imageRepository(reference: ImageReference): string {
  return reference.domain === '' ? reference.path : `${reference.domain}/${reference.path}`;
}

/** The whole reference with all defaults filled in, as `docker.io/library/busybox:latest`. */
export function canonicalImageName(reference: ImageReference): string {
  const tag = effectiveTag(reference);
  return `${imageRepository(reference)}${tag === undefined ? '' : `:${tag}`}${digestPart(reference)}`;
}

/** The short form, without the parts that are implied, as `busybox:1.36`; the tag is shown as far as it is given. */
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
