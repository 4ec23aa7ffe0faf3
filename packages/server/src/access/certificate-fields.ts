/**
 * Fields of a certificate that `node:crypto` does not expose. They decide whether a client may use the certificate, and
 * whether one certificate may have issued another.
 */
export interface CertificateFields {
  /** The X.509 version: 1, 2 or 3. */
  readonly version: number;
  /** The DER of the names of issuer and subject. Go compares the bytes of names. */
  readonly issuer: Buffer;
  readonly subject: Buffer;
  /** The object identifier of the signature's algorithm, DER in hex without tag and length. */
  readonly signatureAlgorithm: string;
  /** The basic constraints, or `undefined` if the certificate has none. */
  readonly basicConstraints: { readonly ca: boolean; readonly pathLength: number | undefined } | undefined;
  /** Whether the key may sign certificates; `undefined` if the certificate does not restrict its key. */
  readonly signsCertificates: boolean | undefined;
  /**
   * Object identifiers of the allowed uses, in the form of `signatureAlgorithm`. `undefined` if the certificate may be
   * used for any purpose.
   */
  readonly extendedUsages: readonly string[] | undefined;
  /** Extensions that this code does not evaluate but a verifier must respect: critical ones, and constraints. */
  readonly unhandled: readonly string[];
  /**
   * The critical extensions among `unhandled` that Go's verifier does not know and therefore rejects. OpenSSL knows
   * some of these extensions.
   */
  readonly unheeded: readonly string[];
  /** Whether a path with the certificate may require a policy, which OpenSSL does not check by default. */
  readonly requiresPolicy: boolean;
  readonly constrainsNames: boolean;
  /** Whether a DNS name has a wildcard, which OpenSSL does not compare with an issuer's excluded names. */
  readonly hasWildcard: boolean;
}

const BASIC_CONSTRAINTS = '551d13';
const KEY_USAGE = '551d0f';
const EXTENDED_KEY_USAGE = '551d25';
const ALTERNATIVE_NAMES = '551d11';
const NAME_CONSTRAINTS = '551d1e';
const POLICY_CONSTRAINTS = '551d24';
/**
 * Extensions that Go evaluates in addition to the extensions in `HANDLED`: CRL distribution points (31), policies (32,
 * 33, 54), subject alternative names, and constraints on names and policies.
 */
const HEEDED_BY_GO: ReadonlySet<string> = new Set([
  ...['551d1f', '551d20', '551d21', '551d36', ALTERNATIVE_NAMES, NAME_CONSTRAINTS, POLICY_CONSTRAINTS],
]);
const HANDLED: ReadonlySet<string> = new Set([BASIC_CONSTRAINTS, KEY_USAGE, EXTENDED_KEY_USAGE]);
/**
 * OIDs of extensions that constrain the certificates below a certificate: names (30) and policies (33, 36, 54). A
 * constraint applies even if its extension is not marked critical.
 */
const CONSTRAINING: ReadonlySet<string> = new Set([NAME_CONSTRAINTS, '551d21', POLICY_CONSTRAINTS, '551d36']);

const NONE = Buffer.alloc(0);
const SEQUENCE = 0x30;
const VERSION = 0xa0;
const EXTENSIONS = 0xa3;
const BOOLEAN = 0x01;
const INTEGER = 0x02;
const BIT_STRING = 0x03;
const OCTET_STRING = 0x04;
const OBJECT_IDENTIFIER = 0x06;
/** Types of names: email address, DNS name, URI and IP address. Go ignores all other types of subject alternative names. */
const EMAIL = 0x81;
const DNS = 0x82;
const URI = 0x86;
const IP = 0x87;
const READ_BY_GO: ReadonlySet<number> = new Set([EMAIL, DNS, URI, IP]);
/**
 * URIs that Go can parse: a scheme, a host of labels, and complete escapes. Go also parses some URIs that this pattern
 * rejects.
 */
const PLAIN_URI =
  /^[a-z][a-z0-9+.-]*:(\/\/[a-z0-9_-]+(\.[a-z0-9_-]+)*(:\d+)?(?=[/?#]|$))?([\w.~!$&'()*+,;=:@/?#-]|%[0-9a-f]{2})*$/i;

/** The bit `keyCertSign` in the first byte of a key usage extension. */
const CERT_SIGN = 0x04;

interface Element {
  readonly tag: number;
  readonly content: Buffer;
  /** The bytes of the DER element, including tag and length. */
  readonly raw: Buffer;
}

/**
 * Reads the fields of a certificate (RFC 5280, section 4.1).
 * @throws Error if the certificate violates the RFC, or contains the same extension twice
 */
export function certificateFields(der: Buffer): CertificateFields {
  const [certificate] = elements(der);
  const [tbs, outerAlgorithm] = elements(contentOf(certificate, SEQUENCE));
  const parts = elements(contentOf(tbs, SEQUENCE));
  // An X.509 version 1 certificate has no version field. A version field that contains 0 also means version 1.
  const version = parts[0]?.tag === VERSION ? contentOf(elements(parts.shift()?.content ?? NONE)[0], INTEGER)[0] : 0;
  const [, innerAlgorithm, issuer, , subject] = parts;
  if (!outerAlgorithm || !innerAlgorithm?.raw.equals(outerAlgorithm.raw)) throw new Error('two signature algorithms');
  const extensions = extensionsOf(parts.find(({ tag }) => tag === EXTENSIONS));
  const value = (oid: string): Element | undefined => elements(extensions.get(oid)?.value ?? NONE)[0];
  const names = alternativeNames(value(ALTERNATIVE_NAMES));
  const constrained = constrainedNames(value(NAME_CONSTRAINTS));
  const heedsNames = names.some(({ tag }) => READ_BY_GO.has(tag));
  const heedsConstraints = constrained.every(({ tag }) => READ_BY_GO.has(tag));
  const isHeeded = (oid: string): boolean => {
    if (oid === ALTERNATIVE_NAMES) return heedsNames;
    if (oid === NAME_CONSTRAINTS) return heedsConstraints;
    return HANDLED.has(oid) || HEEDED_BY_GO.has(oid);
  };
  return {
    version: (version ?? 0) + 1,
    issuer: rawOf(issuer, SEQUENCE),
    subject: rawOf(subject, SEQUENCE),
    signatureAlgorithm: oidOf(elements(contentOf(outerAlgorithm, SEQUENCE))[0]),
    basicConstraints: basicConstraintsOf(value(BASIC_CONSTRAINTS)),
    signsCertificates: signsCertificatesOf(value(KEY_USAGE)),
    extendedUsages: extendedUsagesOf(value(EXTENDED_KEY_USAGE)),
    unhandled: [...extensions]
      .filter(([oid, { critical }]) => CONSTRAINING.has(oid) || (critical && !HANDLED.has(oid)))
      .map(([oid]) => oid),
    unheeded: [...extensions].filter(([oid, { critical }]) => critical && !isHeeded(oid)).map(([oid]) => oid),
    requiresPolicy: extensions.has(POLICY_CONSTRAINTS),
    constrainsNames: extensions.has(NAME_CONSTRAINTS),
    hasWildcard: names.some(({ tag, content }) => tag === DNS && content.includes('*')),
  };
}

/** @throws Error for names that Go cannot read */
function alternativeNames(value: Element | undefined): readonly Element[] {
  if (value === undefined) return [];
  const names = elements(contentOf(value, SEQUENCE));
  for (const { tag, content } of names) {
    const isGood =
      tag === IP
        ? content.length === 4 || content.length === 16
        : !READ_BY_GO.has(tag) || content.every((byte) => byte < 0x80);
    if (!isGood || (tag === URI && !PLAIN_URI.test(content.toString('latin1')))) throw new Error('a malformed name');
  }
  return names;
}

/** Returns the names that the name constraints in `value` permit or exclude. */
function constrainedNames(value: Element | undefined): readonly Element[] {
  if (value === undefined) return [];
  const subtrees = elements(contentOf(value, SEQUENCE)).flatMap(({ content }) => elements(content));
  return subtrees.flatMap((subtree) => elements(contentOf(subtree, SEQUENCE)).slice(0, 1));
}

function extensionsOf(
  field: Element | undefined,
): ReadonlyMap<string, { readonly critical: boolean; readonly value: Buffer }> {
  const extensions = new Map<string, { readonly critical: boolean; readonly value: Buffer }>();
  if (field === undefined) return extensions;
  for (const extension of elements(contentOf(elements(field.content)[0], SEQUENCE))) {
    const parts = elements(contentOf(extension, SEQUENCE));
    const oid = oidOf(parts[0]);
    if (extensions.has(oid)) throw new Error(`the extension ${oid} is there twice`);
    const critical = isTrue(parts[1]);
    extensions.set(oid, { critical, value: contentOf(parts.at(-1), OCTET_STRING) });
  }
  return extensions;
}

function basicConstraintsOf(value: Element | undefined): CertificateFields['basicConstraints'] {
  if (value === undefined) return undefined;
  const parts = elements(contentOf(value, SEQUENCE));
  const ca = isTrue(parts[0]);
  const length = parts.find(({ tag }) => tag === INTEGER)?.content;
  if (length === undefined) return { ca, pathLength: undefined };
  const [first = 0x80] = length;
  if (first >= 0x80 || length.length > 4) throw new Error('the path length is out of range');
  return { ca, pathLength: length.readUIntBE(0, length.length) };
}

function signsCertificatesOf(value: Element | undefined): boolean | undefined {
  if (value === undefined) return undefined;
  // The first byte of a bit string is the number of unused bits.
  return ((contentOf(value, BIT_STRING)[1] ?? 0) & CERT_SIGN) !== 0;
}

function extendedUsagesOf(value: Element | undefined): readonly string[] | undefined {
  return value === undefined ? undefined : elements(contentOf(value, SEQUENCE)).map(oidOf);
}

/** Reads a DER boolean. @throws Error for a boolean that is not valid DER, which Go rejects */
function isTrue(element: Element | undefined): boolean {
  if (element?.tag !== BOOLEAN) return false;
  const [value] = element.content;
  if (element.content.length !== 1 || (value !== 0 && value !== 0xff))
    throw new Error('a boolean that DER does not have');
  return value === 0xff;
}

/** Splits DER into consecutive elements. */
function elements(der: Buffer): Element[] {
  const all: Element[] = [];
  for (let at = 0; at < der.length; ) {
    const tag = der[at] ?? 0;
    const short = der[at + 1];
    if (short === undefined) throw new Error('DER is truncated');
    let length = short;
    let start = at + 2;
    if (short >= 0x80) {
      const bytes = short - 0x80;
      if (bytes < 1 || bytes > 4 || start + bytes > der.length) throw new Error('invalid DER length');
      length = der.readUIntBE(start, bytes);
      start += bytes;
    }
    const end = start + length;
    if (end > der.length) throw new Error('DER is truncated');
    all.push({ tag, content: der.subarray(start, end), raw: der.subarray(at, end) });
    at = end;
  }
  return all;
}

function contentOf(element: Element | undefined, tag: number): Buffer {
  if (element?.tag !== tag) throw new Error(`expected DER tag ${tag}, got ${element?.tag}`);
  return element.content;
}

function rawOf(element: Element | undefined, tag: number): Buffer {
  contentOf(element, tag);
  return element?.raw ?? NONE;
}

function oidOf(element: Element | undefined): string {
  return contentOf(element, OBJECT_IDENTIFIER).toString('hex');
}
