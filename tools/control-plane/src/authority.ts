import { access, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from './run.ts';

/** A certificate and its key, as files. */
export interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

/** Who a certificate is for. */
export interface Subject {
  readonly commonName: string;
  readonly organization?: string;
  /** Addresses and names that a server is reached by; a client has none. */
  readonly ips?: readonly string[];
  readonly dnsNames?: readonly string[];
}

const EC = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-noenc'];
const DAYS = ['-days', '30'];

/**
 * A certificate authority in a directory, of openssl's commands: they are on every machine that a cluster is run on, and a
 * library would be one more thing to bring for ten certificates.
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

  /** Makes the authority, where it is not there yet. @throws Error with what openssl said */
  async prepare(commonName: string): Promise<void> {
    await mkdir(this.#directory, { recursive: true, mode: 0o700 });
    if (await exists(this.cert)) return;
    const usage = ['-addext', 'keyUsage=critical,keyCertSign,digitalSignature'];
    const files = ['-keyout', this.key, '-out', this.cert];
    await run('openssl', ['req', '-x509', ...EC, ...DAYS, '-subj', `/CN=${commonName}`, ...usage, ...files]);
  }

  /** A certificate under a file name; the one that is there already where there is one. @throws Error with what openssl said */
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

/** A name as openssl reads it, where some characters stand for something. */
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
