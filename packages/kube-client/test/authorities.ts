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
const SERVER = ['extendedKeyUsage=serverAuth', 'subjectAltName=IP:127.0.0.1'];
const PAST = { from: '20200101000000Z', to: '20210101000000Z' };

interface Wanted {
  /** The subject in openssl's form: `/CN=kubernetes`. */
  readonly subject?: string;
  /** The CA that signs the certificate. Default: self-signed. */
  readonly issuer?: KeyPair;
  readonly extensions: readonly string[];
  /** Another certificate whose key is reused. Default: a new key. */
  readonly keyOf?: KeyPair;
  readonly from?: string;
  readonly to?: string;
  readonly digest?: string;
}

/** A server certificate, the CAs that its client trusts, and whether Go accepts the certificate for 127.0.0.1. */
export interface RotationCase {
  readonly name: string;
  readonly bundle: readonly KeyPair[];
  readonly server: KeyPair;
  /** Additional certificates that the server sends. */
  readonly sent?: readonly KeyPair[];
  readonly accepted: boolean;
}

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
    const { from, to } = more;
    const files = ['-keyout', `${base}.key`, '-out', `${base}.csr`];
    if (keyOf === undefined) await run('openssl', ['req', ...EC, '-subj', subject, ...files]);
    else {
      await writeFile(`${base}.key`, keyOf.key);
      await run('openssl', ['req', '-new', '-key', `${base}.key`, '-subj', subject, '-out', `${base}.csr`]);
    }
    // Without these lines openssl adds both key identifiers.
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

  /** Makes a self-signed version 1 certificate, which has no extensions. */
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

  /** Makes an X.509 version 1 CA, which has no extensions, and a server certificate that it signs. */
  async version1(): Promise<{ readonly authority: string; readonly server: KeyPair }> {
    const base = join(this.#directory, String(++this.#serial));
    const files = ['-keyout', `${base}.key`, '-out', `${base}.csr`];
    await run('openssl', ['req', ...EC, '-subj', '/CN=kubernetes', ...files]);
    const { stdout } = await run('openssl', ['x509', '-req', '-in', `${base}.csr`, '-signkey', `${base}.key`]);
    const issuer = { cert: stdout, key: await readFile(`${base}.key`, 'utf8') };
    return { authority: stdout, server: await this.make({ subject: '/CN=s', issuer, extensions: SERVER }) };
  }

  /**
   * Makes the cases of a CA rotation. Each `accepted` is the result of Go 1.26's `x509.Certificate.Verify` for the same
   * certificates.
   */
  async rotationCases(): Promise<readonly RotationCase[]> {
    const ca = (more: Partial<Wanted> = {}): Promise<KeyPair> => this.make({ extensions: [CA, SIGNS], ...more });
    const server = (issuer: KeyPair, more: Partial<Wanted> = {}): Promise<KeyPair> =>
      this.make({ subject: '/CN=kube-apiserver', issuer, extensions: SERVER, ...more });
    const [old, next, foreign] = [await ca(), await ca(), await ca()];
    const withIds = { extensions: [CA, SIGNS, ...KEY_IDS] };
    const [oldWithIds, nextWithIds] = [await ca(withIds), await ca(withIds)];
    const both = [old, next];
    const byNext = await server(next);
    const intermediate = await this.make({ subject: '/CN=middle', issuer: next, extensions: [CA, SIGNS] });
    const expired = await ca(PAST);
    const renewed = await ca({ keyOf: expired });
    const notSigning = await ca({ extensions: [CA, 'keyUsage=critical,digitalSignature'] });
    const noCa = await ca({ extensions: ['basicConstraints=critical,CA:FALSE'] });
    const unsaid = await ca({ extensions: [SIGNS] });
    const short = await ca({ extensions: [`${CA},pathlen:0`, SIGNS] });
    const belowShort = await this.make({ subject: '/CN=middle', issuer: short, extensions: [CA, SIGNS] });
    const forClients = await ca({ extensions: [CA, SIGNS, 'extendedKeyUsage=clientAuth'] });
    const named = await ca({ extensions: [CA, SIGNS, 'nameConstraints=excluded;IP:127.0.0.0/255.0.0.0'] });
    const future = { from: '20400101000000Z', to: '20410101000000Z' };
    const elsewhere = ['extendedKeyUsage=serverAuth', 'subjectAltName=IP:127.0.0.2'];
    const unknown = [...SERVER, '1.2.3.4=critical,ASN1:NULL'];
    const cases: readonly (readonly [string, readonly KeyPair[], KeyPair, boolean, (readonly KeyPair[])?])[] = [
      ['old and new authority, signed by the new one', both, byNext, true],
      ['new and old authority, signed by the new one', [next, old], byNext, true],
      ['old and new authority, signed by the old one', both, await server(old), true],
      [
        'an old authority without key identifier, signed by a new one with',
        [old, nextWithIds],
        await server(nextWithIds, { extensions: [...SERVER, ...KEY_IDS] }),
        true,
      ],
      [
        'key identifiers of both authorities and none of the server',
        [oldWithIds, nextWithIds],
        await server(nextWithIds),
        true,
      ],
      ['an intermediate authority alone', [intermediate], await server(intermediate), true],
      [
        'old and new authority and an intermediate that the server sends',
        both,
        await server(intermediate),
        true,
        [intermediate],
      ],
      ['an expired authority and its renewal with the same key', [expired, renewed], await server(renewed), true],
      ['the old authority sent by a server of the new one', both, byNext, true, [old]],
      ['a third authority of the same name', both, await server(foreign), false],
      ['a third authority of the same name that the server sends', both, await server(foreign), false, [foreign]],
      ['an intermediate that the server does not send', both, await server(intermediate), false],
      ['a server certificate that has expired', both, await server(next, PAST), false],
      ['a server certificate that is not valid yet', both, await server(next, future), false],
      [
        'a certificate for clients',
        both,
        await server(next, { extensions: ['extendedKeyUsage=clientAuth', 'subjectAltName=IP:127.0.0.1'] }),
        false,
      ],
      ['a certificate of another address', both, await server(next, { extensions: elsewhere }), false],
      ['a new authority that has expired', [old, expired], await server(expired), false],
      ['a new authority that may not sign', [old, notSigning], await server(notSigning), false],
      ['a new certificate that is not a CA', [old, noCa], await server(noCa), false],
      ['a new CA certificate without basic constraints', [old, unsaid], await server(unsaid), false],
      ['a single CA certificate without basic constraints', [unsaid], await server(unsaid), false],
      ['a new authority with room for no intermediate', [old, short], await server(belowShort), false, [belowShort]],
      ['a new authority for clients alone', [old, forClients], await server(forClients), false],
      ['a certificate signed by another server', both, await server(byNext), false, [byNext]],
      ['a new authority that excludes the address', [old, named], await server(named), false],
      ['an unknown critical extension', both, await server(next, { extensions: unknown }), false],
      ['a signature with SHA-1', both, await server(next, { digest: 'sha1' }), false],
    ];
    return cases.map(([name, bundle, pair, accepted, sent]) => ({
      ...{ name, bundle, server: pair, accepted },
      ...(sent && { sent }),
    }));
  }
}
