import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { KeyPair } from './pki.ts';

const run = promisify(execFile);
const EC = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
const CA = 'basicConstraints=critical,CA:TRUE';
const SIGNS = 'keyUsage=critical,keyCertSign,digitalSignature';
const KEY_ID = 'subjectKeyIdentifier=hash';
const KEY_IDS = [KEY_ID, 'authorityKeyIdentifier=keyid'];
const CLIENT = 'extendedKeyUsage=clientAuth';
const PAST = { from: '20200101000000Z', to: '20210101000000Z' };

interface Wanted {
  /** The subject in openssl's form: `/CN=kubernetes`. */
  readonly subject?: string;
  /** The certificate that signs this one. Default: the certificate is self-signed. */
  readonly issuer?: KeyPair;
  readonly extensions: readonly string[];
  /** The certificate whose key is used. Default: a new key. */
  readonly keyOf?: KeyPair;
  readonly from?: string;
  readonly to?: string;
  readonly digest?: string;
  readonly key?: readonly string[];
}

/** A client of a server whose CA file holds `bundle`, and whether Go accepts it. */
export interface RotationCase {
  readonly name: string;
  readonly bundle: readonly KeyPair[];
  readonly client: KeyPair;
  /** Additional certificates that the client sends. */
  readonly sent?: readonly KeyPair[];
  readonly accepted: boolean;
}

/**
 * Name of the case that a server may refuse although Go accepts it. If OpenSSL has found the authority of a client's
 * last certificate, Node.js 24 does not show the certificates that the client sent. Which of two authorities with the
 * same name OpenSSL finds is random.
 */
export const UNTOLD = 'old and new authority and an intermediate that the client sends';

/** Makes certificates with openssl, in a temporary directory. */
export class Authorities implements AsyncDisposable {
  readonly #directory: string;
  #serial = 0;

  private constructor(directory: string) {
    this.#directory = directory;
  }

  static async create(): Promise<Authorities> {
    return new Authorities(await mkdtemp(join(tmpdir(), 'authorities-')));
  }

  async make({ subject = '/CN=kubernetes', issuer, keyOf, extensions, digest, ...more }: Wanted): Promise<KeyPair> {
    const at = (name: string): string => join(this.#directory, name);
    const base = at(String(++this.#serial));
    const { from, to, key = EC } = more;
    const files = ['-keyout', `${base}.key`, '-out', `${base}.csr`];
    if (keyOf === undefined) await run('openssl', ['req', ...key, '-subj', subject, ...files]);
    else {
      await writeFile(`${base}.key`, keyOf.key);
      await run('openssl', ['req', '-new', '-key', `${base}.key`, '-subj', subject, '-out', `${base}.csr`]);
    }
    // Without these lines, openssl adds the identifiers of the key and of the authority's key.
    const ids = extensions.includes(KEY_ID) ? [] : ['subjectKeyIdentifier=none', 'authorityKeyIdentifier=none'];
    const settings = ['rand_serial=yes', `database=${base}.txt`, `new_certs_dir=${this.#directory}`, 'policy=any'];
    const own = ['default_md=sha256', 'default_days=2', 'x509_extensions=ext', 'unique_subject=no', ...settings];
    const config = [
      '[ca]',
      'default_ca=own',
      '[own]',
      ...own,
      '[any]',
      'commonName=optional',
      '[ext]',
      ...ids,
      ...extensions,
    ];
    await writeFile(`${base}.cnf`, `${config.join('\n')}\n`);
    await writeFile(`${base}.txt`, '');
    const signer = issuer === undefined ? ['-selfsign', '-keyfile', `${base}.key`] : await this.#signer(base, issuer);
    const dates = [...(from ? ['-startdate', from] : []), ...(to ? ['-enddate', to] : [])];
    const digests = digest === undefined ? [] : ['-md', digest];
    const names = ['-config', `${base}.cnf`, '-in', `${base}.csr`, '-out', `${base}.crt`];
    await run('openssl', ['ca', '-batch', '-notext', '-preserveDN', ...names, ...signer, ...dates, ...digests]);
    return { cert: await readFile(`${base}.crt`, 'utf8'), key: await readFile(`${base}.key`, 'utf8') };
  }

  async #signer(base: string, { cert, key }: KeyPair): Promise<readonly string[]> {
    await writeFile(`${base}.ca.crt`, cert);
    await writeFile(`${base}.ca.key`, key);
    return ['-cert', `${base}.ca.crt`, '-keyfile', `${base}.ca.key`];
  }

  /** Makes a self-signed certificate of version 1, which has no extensions. */
  async makeVersion1(): Promise<string> {
    const base = join(this.#directory, String(++this.#serial));
    const files = ['-keyout', `${base}.key`, '-out', `${base}.csr`];
    await run('openssl', ['req', ...EC, '-subj', '/CN=kubernetes', ...files]);
    const { stdout } = await run('openssl', ['x509', '-req', '-in', `${base}.csr`, '-signkey', `${base}.key`]);
    return stdout;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#directory, { recursive: true, force: true });
  }

  /** Makes clients that OpenSSL and Go judge differently. `accepted` is what Go 1.26's `x509.Certificate.Verify` says. */
  async laxCases(): Promise<readonly RotationCase[]> {
    const root = await this.make({ extensions: [CA, SIGNS] });
    const client = (extensions: readonly string[], issuer = root): Promise<KeyPair> =>
      this.make({ subject: '/CN=jane', issuer, extensions: [CLIENT, ...extensions] });
    const constrained = async (constraint: string): Promise<KeyPair> =>
      await this.make({ extensions: [CA, SIGNS, constraint] });
    const otherCase = await this.make({ subject: '/CN=Kubernetes', keyOf: root, extensions: [CA, SIGNS] });
    const noDns = await constrained('nameConstraints=critical,excluded;DNS:a.example.com');
    // Name constraints that exclude the directory name CN=x.
    const noDirectory = '2.5.29.30=%DER:3014a1123010a40e300c310a300806035504030c0178';
    const [critical, ignored] = [
      await constrained(noDirectory.replace('%', 'critical,')),
      await constrained(noDirectory.replace('%', '')),
    ];
    const cases: readonly (readonly [string, KeyPair, KeyPair, boolean])[] = [
      ['a critical type of Netscape', root, await client(['nsCertType=critical,client']), false],
      ['a critical list of addresses', root, await client(['sbgp-ipAddrBlock=critical,IPv4:inherit']), false],
      [
        'a critical name of an unknown kind',
        root,
        await client(['subjectAltName=critical,otherName:1.2.3.4;UTF8:x']),
        false,
      ],
      ['a policy that is required', root, await client(['policyConstraints=critical,requireExplicitPolicy:0']), false],
      ['a boolean that DER does not have', root, await client(['2.5.29.19=critical,DER:3003010101']), false],
      ['an IP address of three bytes', root, await client(['2.5.29.17=DER:30058703010203']), false],
      ['a URI that cannot be parsed', root, await client(['2.5.29.17=DER:30068604257a7a3a']), false],
      ['a DNS name that is not ASCII', root, await client(['2.5.29.17=DER:30048202c3a9']), false],
      ['an issuer whose name has other capitals', root, await client([], otherCase), false],
      ['a wildcard for an excluded name', noDns, await client(['subjectAltName=DNS:*.example.com'], noDns), false],
      ['an authority that excludes directory names', critical, await client([], critical), false],
      ['an authority that excludes directory names, not critically', ignored, await client([], ignored), true],
      ['a name that is not excluded', noDns, await client(['subjectAltName=DNS:b.example.com'], noDns), true],
      [
        'critical names that are known',
        root,
        await client(['subjectAltName=critical,URI:spiffe://c.local/ns/a%20b,IP:::1']),
        true,
      ],
      ['a name of an unknown kind', root, await client(['subjectAltName=otherName:1.2.3.4;UTF8:x']), true],
      ['critical policies', root, await client(['certificatePolicies=critical,1.2.3']), true],
    ];
    return cases.map(([name, authority, pair, accepted]) => ({ name, bundle: [authority], client: pair, accepted }));
  }

  /** Makes the cases of a CA rotation. `accepted` was compared with Go 1.26's `x509.Certificate.Verify` on these certificates. */
  async rotationCases(): Promise<readonly RotationCase[]> {
    const ca = (more: Partial<Wanted> = {}): Promise<KeyPair> => this.make({ extensions: [CA, SIGNS], ...more });
    const client = (issuer: KeyPair, more: Partial<Wanted> = {}): Promise<KeyPair> =>
      this.make({ subject: '/CN=jane', issuer, extensions: [CLIENT], ...more });
    const [old, next, foreign] = [await ca(), await ca(), await ca()];
    const [oldWithIds, nextWithIds] = [
      await ca({ extensions: [CA, SIGNS, ...KEY_IDS] }),
      await ca({ extensions: [CA, SIGNS, ...KEY_IDS] }),
    ];
    const both = [old, next];
    const byNext = await client(next);
    const intermediate = await this.make({ subject: '/CN=middle', issuer: next, extensions: [CA, SIGNS] });
    const expired = await ca(PAST);
    const renewed = await ca({ keyOf: expired });
    const notSigning = await ca({ extensions: [CA, 'keyUsage=critical,digitalSignature'] });
    const noCa = await ca({ extensions: ['basicConstraints=critical,CA:FALSE'] });
    const unsaid = await ca({ extensions: [SIGNS] });
    const short = await ca({ extensions: [`${CA},pathlen:0`, SIGNS] });
    const belowShort = await this.make({ subject: '/CN=middle', issuer: short, extensions: [CA, SIGNS] });
    const forServers = await ca({ extensions: [CA, SIGNS, 'extendedKeyUsage=serverAuth'] });
    const named = await ca({ extensions: [CA, SIGNS, 'nameConstraints=excluded;IP:127.0.0.0/255.0.0.0'] });
    const ip = 'subjectAltName=IP:127.0.0.1';
    const cases: readonly (readonly [string, readonly KeyPair[], KeyPair, boolean, (readonly KeyPair[])?])[] = [
      ['old and new authority, signed by the new one', both, byNext, true],
      ['new and old authority, signed by the new one', [next, old], byNext, true],
      ['old and new authority, signed by the old one', both, await client(old), true],
      [
        'an old authority without key identifier, signed by a new one with',
        [old, nextWithIds],
        await client(nextWithIds, { extensions: [CLIENT, ...KEY_IDS] }),
        true,
      ],
      [
        'key identifiers of both authorities and none of the client',
        [oldWithIds, nextWithIds],
        await client(nextWithIds),
        true,
      ],
      ['an intermediate authority alone', [intermediate], await client(intermediate), true],
      [UNTOLD, both, await client(intermediate), true, [intermediate]],
      ['an expired authority and its renewal with the same key', [expired, renewed], await client(renewed), true],
      ['the renewal with the same key and the expired authority', [renewed, expired], await client(expired), true],
      ['the new authority sent by a client of the old one', both, await client(old), true, [next]],
      ['the old authority sent by a client of the new one', both, byNext, true, [old]],
      ['a third authority of the same name', both, await client(foreign), false],
      ['a third authority of the same name that the client sends', both, await client(foreign), false, [foreign]],
      ['an intermediate that the client does not send', both, await client(intermediate), false],
      ['a client certificate that has expired', both, await client(next, PAST), false],
      [
        'a client certificate that is not valid yet',
        both,
        await client(next, { from: '20400101000000Z', to: '20410101000000Z' }),
        false,
      ],
      ['a certificate for servers', both, await client(next, { extensions: ['extendedKeyUsage=serverAuth'] }), false],
      ['a new authority that has expired', [old, expired], await client(expired), false],
      ['a new authority that may not sign', [old, notSigning], await client(notSigning), false],
      ['a new certificate that is not a CA', [old, noCa], await client(noCa), false],
      ['a new CA certificate without basic constraints', [old, unsaid], await client(unsaid), false],
      ['a single CA certificate without basic constraints', [unsaid], await client(unsaid), false],
      ['a new authority with room for no intermediate', [old, short], await client(belowShort), false, [belowShort]],
      ['a new authority with room for no intermediate, which is not needed', [old, short], await client(short), true],
      ['a new authority for servers alone', [old, forServers], await client(forServers), false],
      ['a certificate signed by another client', both, await client(byNext), false, [byNext]],
      [
        'a new authority that excludes the client by its name',
        [old, named],
        await client(named, { extensions: [CLIENT, ip] }),
        false,
      ],
      [
        'an unknown critical extension',
        both,
        await client(next, { extensions: [CLIENT, '1.2.3.4=critical,ASN1:NULL'] }),
        false,
      ],
      [
        'an unknown extension that is not critical',
        both,
        await client(next, { extensions: [CLIENT, '1.2.3.4=ASN1:NULL'] }),
        true,
      ],
      ['a signature with SHA-1', both, await client(next, { digest: 'sha1' }), false],
    ];
    return cases.map(([name, bundle, pair, accepted, sent]) => ({
      name,
      bundle,
      client: pair,
      accepted,
      ...(sent && { sent }),
    }));
  }
}
