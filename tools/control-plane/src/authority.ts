import { access, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from './run.ts';

/** Paths of a certificate and its key. */
export interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

/** Subject of a certificate. */
export interface Subject {
  readonly commonName: string;
  readonly organization?: string;
  /** IP addresses and DNS names of a server. A client certificate has none. */
  readonly ips?: readonly string[];
  readonly dnsNames?: readonly string[];
}

const EC = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-noenc'];
const DAYS = ['-days', '30'];

/**
 * Certificate authority in a directory, implemented with openssl commands. openssl is installed on all machines that
 * run a cluster, and a library would be an additional dependency for ten certificates.
 */
export class Authority {
  readonly cert: string;
  readonly key: string;
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
    this.cert = join(directory, 'ca.crt');
    this.key = join(directory, 'ca.key');
  }

  /** Creates the authority unless it exists. @throws Error with openssl's output */
  async prepare(commonName: string): Promise<void> {
    await mkdir(this.#directory, { recursive: true, mode: 0o700 });
    if (await exists(this.cert)) return;
    const usage = ['-addext', 'keyUsage=critical,keyCertSign,digitalSignature'];
    const files = ['-keyout', this.key, '-out', this.cert];
    await run('openssl', ['req', '-x509', ...EC, ...DAYS, '-subj', `/CN=${commonName}`, ...usage, ...files]);
  }

  /** Issues a certificate with a file name, or returns the existing one. @throws Error with openssl's output */
  async issue(name: string, subject: Subject): Promise<KeyPair> {
    const pair = { cert: join(this.#directory, `${name}.crt`), key: join(this.#directory, `${name}.key`) };
    if (await exists(pair.cert)) return pair;
    const names = [
      ...(subject.ips ?? []).map((ip) => `IP:${ip}`),
      ...(subject.dnsNames ?? []).map((dnsName) => `DNS:${dnsName}`),
    ];
    await run('openssl', [
      ...['req', '-x509', '-CA', this.cert, '-CAkey', this.key, ...EC, ...DAYS, '-subj', distinguishedName(subject)],
      ...['-addext', 'basicConstraints=critical,CA:FALSE', '-addext', 'keyUsage=critical,digitalSignature'],
      ...['-addext', `extendedKeyUsage=clientAuth${names.length > 0 ? ',serverAuth' : ''}`],
      ...(names.length > 0 ? ['-addext', `subjectAltName=${names.join(',')}`] : []),
      ...['-keyout', pair.key, '-out', pair.cert],
    ]);
    return pair;
  }
}

/** Formats a distinguished name for openssl and escapes its special characters. */
export function distinguishedName({ commonName, organization }: Subject): string {
  const escaped = (text: string): string => text.replace(/[\\/+]/g, '\\$&');
  return `${organization === undefined ? '' : `/O=${escaped(organization)}`}/CN=${escaped(commonName)}`;
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
