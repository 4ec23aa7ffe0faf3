import { createPrivateKey, generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto';
import { type Clock, checkComponents, checkOptions, every, StartOnce } from '@node-agent/async';
import { type FileSystem, isMissing } from '@node-agent/host';
import { errorText, type Logger, type WithDefaults, withDefaults } from '@node-agent/telemetry';
import { type LeafCertificate, parseCertificates, parsePair } from './certificate-pair.ts';
import type { PairFiles } from './certificate-store.ts';
import { CertificateError } from './errors.ts';
import { privateKeyPem } from './pending-key.ts';
import { rotationDeadlineMs } from './rotation-rules.ts';
import { selfSignedCertificate } from './self-signed.ts';

/** The components of {@link SelfSignedFiles}. */
export interface SelfSignedComponents {
  readonly fs: Pick<FileSystem, 'mkdir' | 'readFile' | 'writeFileAtomic'>;
  /** Default: the system clock. */
  readonly clock?: Clock;
  /** Default: no logging. */
  readonly logger?: Logger;
}

const CHECK_PERIOD_MS = 86_400_000;

/**
 * Maintains `kubelet.crt` and `kubelet.key` in the certificate directory, for a server without a configured certificate
 * (`cmd/kubelet/app/server.go`, `InitializeTLS`). Existing files are used, missing ones are created. A certificate that
 * a kubelet generated is renewed with the same key after 80% of its year; any other certificate is not changed.
 */
export class SelfSignedFiles {
  readonly files: PairFiles;
  readonly #components: WithDefaults<SelfSignedComponents>;
  readonly #directory: string;
  readonly #host: string;
  readonly #startOnce = new StartOnce('SelfSignedFiles');

  constructor(components: SelfSignedComponents, options: { readonly directory: string; readonly host: string }) {
    checkOptions('SelfSignedFiles', options, { directory: 'string', host: 'string' });
    checkComponents('SelfSignedFiles', components, { fs: ['mkdir', 'writeFileAtomic', 'readFile'] });
    const { directory, host } = options;
    this.#components = withDefaults(components);
    this.#directory = directory;
    this.#host = host;
    this.files = { certFile: `${directory}/kubelet.crt`, keyFile: `${directory}/kubelet.key` };
  }

  /**
   * Creates missing files and renews an old certificate. @throws CertificateError `InvalidPair`, naming the files;
   * errors of the file system
   */
  async ensure(): Promise<void> {
    const { fs, clock, logger } = this.#components;
    const { certFile, keyFile } = this.files;
    const cert = await this.#read(certFile);
    const keyText = await this.#read(keyFile);
    if (cert !== undefined && keyText === undefined) {
      throw new CertificateError('InvalidPair', `${certFile} exists without its key, ${keyFile}`);
    }
    if (cert !== undefined && keyText !== undefined && !this.#isDue(cert, keyText)) return;
    let key: KeyObject;
    await fs.mkdir(this.#directory);
    if (keyText === undefined) {
      key = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
      // The key is written first, so that after a crash the next start can create a certificate for the key.
      await fs.writeFileAtomic(keyFile, privateKeyPem(key), { mode: 0o600 });
    } else key = this.#keyOf(keyText);
    const made = selfSignedCertificate({ host: this.#host, nowMs: clock.now(), serial: randomBytes(16) }, key);
    await fs.writeFileAtomic(certFile, made, { mode: 0o644 });
    logger.info({ certFile, keyFile, host: this.#host }, 'Generated a self-signed serving certificate');
  }

  /** Checks the files once a day until `signal` is aborted. */
  async start(signal: AbortSignal): Promise<void> {
    this.#startOnce.begin();
    const { clock, logger } = this.#components;
    const round = async (): Promise<void> => {
      try {
        await this.ensure();
      } catch (err) {
        logger.error({ err, ...this.files }, 'Failed to renew the self-signed serving certificate');
      }
    };
    await every(clock, CHECK_PERIOD_MS, round, signal, { immediate: false });
  }

  #isDue(cert: string, key: string): boolean {
    let leaf: LeafCertificate | undefined;
    try {
      [leaf] = parseCertificates(cert);
      parsePair(cert, key);
    } catch (cause) {
      if (leaf !== undefined && isSelfMade(leaf)) return true;
      const { certFile, keyFile } = this.files;
      throw new CertificateError(
        'InvalidPair',
        `${certFile} and ${keyFile} cannot be used: ${errorText(cause)}`,
        cause,
      );
    }
    return leaf !== undefined && isSelfMade(leaf) && this.#components.clock.now() >= rotationDeadlineMs(leaf, 0.5);
  }

  #keyOf(text: string): KeyObject {
    try {
      return createPrivateKey(text);
    } catch (cause) {
      throw new CertificateError('InvalidPair', `${this.files.keyFile} cannot be parsed`, cause);
    }
  }

  async #read(path: string): Promise<string | undefined> {
    try {
      return Buffer.from(await this.#components.fs.readFile(path)).toString();
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }
}

/**
 * Returns whether a kubelet generated a certificate: its name is `host@time`, and it is self-signed or issued by
 * `host-ca@time`.
 */
export function isSelfMade({ commonName, issuer }: LeafCertificate): boolean {
  return /@\d+$/.test(commonName) && (issuer === `CN=${commonName}` || /^CN=.*-ca@\d+$/.test(issuer));
}
