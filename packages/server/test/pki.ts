import { execFile } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const EC = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

/** A certificate and its key, in PEM. */
export interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

interface Issued {
  /** The subject in openssl's form: `/O=system:masters/CN=admin`. */
  readonly subject: string;
  /** The purpose of the certificate. Default: `clientAuth`. */
  readonly usage?: 'clientAuth' | 'serverAuth';
  /** The start of the validity, as `YYYYMMDDHHMMSSZ`. Default: now. `to` is by default two days later. */
  readonly from?: string;
  readonly to?: string;
}

/** A certificate authority in a temporary directory, run with the openssl command. */
export class Pki implements AsyncDisposable {
  readonly ca: string;
  readonly #directory: string;
  #serial = 1;
  #last: Promise<unknown> = Promise.resolve();

  private constructor(directory: string, ca: string) {
    this.#directory = directory;
    this.ca = ca;
  }

  static async create(commonName = 'test-ca'): Promise<Pki> {
    const directory = await mkdtemp(join(tmpdir(), 'server-pki-'));
    const files = ['-keyout', join(directory, 'ca.key'), '-out', join(directory, 'ca.crt')];
    const usage = ['-addext', 'keyUsage=critical,keyCertSign,digitalSignature'];
    await run('openssl', ['req', '-x509', ...EC, '-subj', `/CN=${commonName}`, '-days', '3', ...usage, ...files]);
    await writeFile(join(directory, 'index.txt'), '');
    return new Pki(directory, await readFile(join(directory, 'ca.crt'), 'utf8'));
  }

  get fingerprint(): string {
    return new X509Certificate(this.ca).fingerprint256;
  }

  /** Issues a certificate. Only one is issued at a time, because openssl keeps an index of issued certificates. */
  issue(issued: Issued): Promise<KeyPair> {
    const next = this.#last.then(() => this.#issue(issued));
    this.#last = next.catch(() => {});
    return next;
  }

  async #issue({ subject, usage = 'clientAuth', from, to }: Issued): Promise<KeyPair> {
    const serial = this.#serial++;
    const at = (name: string): string => join(this.#directory, name);
    const base = at(String(serial));
    await run('openssl', ['req', ...EC, '-subj', subject, '-keyout', `${base}.key`, '-out', `${base}.csr`]);
    const section = (name: string, fields: Readonly<Record<string, string>>): string =>
      `[${name}]\n${Object.entries(fields)
        .map(([key, value]) => `${key}=${value}\n`)
        .join('')}`;
    const config = [
      section('ca', { default_ca: 'own' }),
      section('own', {
        database: at('index.txt'),
        rand_serial: 'yes',
        new_certs_dir: this.#directory,
        certificate: at('ca.crt'),
        private_key: at('ca.key'),
        default_md: 'sha256',
        default_days: '2',
        policy: 'any',
        x509_extensions: 'ext',
        unique_subject: 'no',
      }),
      section('any', { commonName: 'optional', organizationName: 'optional' }),
      section('ext', { subjectAltName: 'IP:127.0.0.1,DNS:localhost', extendedKeyUsage: usage }),
    ].join('');
    await writeFile(at('ca.cnf'), config);
    const dates = [...(from ? ['-startdate', from] : []), ...(to ? ['-enddate', to] : [])];
    const files = ['-config', at('ca.cnf'), '-in', `${base}.csr`, '-out', `${base}.crt`];
    await run('openssl', ['ca', '-batch', '-notext', '-preserveDN', ...files, ...dates]);
    return { cert: await readFile(`${base}.crt`, 'utf8'), key: await readFile(`${base}.key`, 'utf8') };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#directory, { recursive: true, force: true });
  }
}
