import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A certificate and its key, PEM. */
export interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

/** A certificate authority in a temporary directory. */
export class Pki implements AsyncDisposable {
  readonly directory: string;
  readonly ca: string;
  #serial = 1;

  private constructor(directory: string, ca: string) {
    this.directory = directory;
    this.ca = ca;
  }

  static async create(): Promise<Pki> {
    const directory = await mkdtemp(join(tmpdir(), 'kube-client-pki-'));
    const files = ['-keyout', join(directory, 'ca.key'), '-out', join(directory, 'ca.crt')];
    const usage = ['-addext', 'keyUsage=critical,keyCertSign,digitalSignature'];
    await run('openssl', ['req', '-x509', ...EC, '-nodes', '-subj', '/CN=test-ca', '-days', '2', ...usage, ...files]);
    return new Pki(directory, await readFile(join(directory, 'ca.crt'), 'utf8'));
  }

  /** A certificate for `127.0.0.1`, `localhost` and `kubernetes`, or for a client. */
  async issue(commonName: string): Promise<KeyPair> {
    const base = join(this.directory, `${this.#serial++}`);
    await run('openssl', [
      'req',
      ...EC,
      '-nodes',
      '-subj',
      `/O=system:nodes/CN=${commonName}`,
      '-keyout',
      `${base}.key`,
      '-out',
      `${base}.csr`,
    ]);
    await writeFile(`${base}.ext`, 'subjectAltName=IP:127.0.0.1,DNS:kubernetes\n');
    const ca = ['-CA', join(this.directory, 'ca.crt'), '-CAkey', join(this.directory, 'ca.key'), '-CAcreateserial'];
    await run('openssl', [
      'x509',
      '-req',
      '-in',
      `${base}.csr`,
      ...ca,
      '-days',
      '2',
      '-extfile',
      `${base}.ext`,
      '-out',
      `${base}.crt`,
    ]);
    return { cert: await readFile(`${base}.crt`, 'utf8'), key: await readFile(`${base}.key`, 'utf8') };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.directory, { recursive: true, force: true });
  }
}

const EC = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'];
