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

/** What {@link SelfSignedFiles} works with. */
export interface SelfSignedComponents {
  readonly fs: Pick<FileSystem, 'mkdir' | 'readFile' | 'writeFileAtomic'>;
  /** The machine's own where absent. */
  readonly clock?: Clock;
  /** Silent where absent. */
  readonly logger?: Logger;
}

const CHECK_PERIOD_MS = 86_400_000;

/**
 * `kubelet.crt` and `kubelet.key` in the certificate directory, for a server that was given no certificate
 * (`cmd/kubelet/app/server.go`, `InitializeTLS`). What is there is used; what is missing is made. A certificate of this kind is
 * made anew, with the same key, when 80% of its year are over; one that somebody else has put there is left alone.
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

  /** Makes what is missing or over. @throws CertificateError `InvalidPair`, naming the files; errors of the file system */
  async ensure(): Promise<void> {
    const { fs, clock, logger } = this.#components;
    const { certFile, keyFile } = this.files;
    const cert = await this.#read(certFile);
    const keyText = await this.#read(keyFile);
    if (cert !== undefined && keyText === undefined) {
      throw new CertificateError('InvalidPair', `${certFile} is there without its key, ${keyFile}`);
    }
    if (cert !== undefined && keyText !== undefined && !this.#isDue(cert, keyText)) return;
    let key: KeyObject;
    await fs.mkdir(this.#directory);
    if (keyText === undefined) {
      key = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
      // The key comes first: a crash before the certificate is there leaves what the next start goes on from.
      await fs.writeFileAtomic(keyFile, privateKeyPem(key), { mode: 0o600 });
    } else key = this.#keyOf(keyText);
    const made = selfSignedCertificate({ host: this.#host, nowMs: clock.now(), serial: randomBytes(16) }, key);
    await fs.writeFileAtomic(certFile, made, { mode: 0o644 });
    logger.info({ certFile, keyFile, host: this.#host }, 'A self-signed serving certificate was made');
  }

  /** Looks once a day, until `signal` is aborted. */
  async start(signal: AbortSignal): Promise<void> {
    this.#startOnce.begin();
    const { clock, logger } = this.#components;
    const round = async (): Promise<void> => {
      try {
        await this.ensure();
      } catch (err) {
        logger.error({ err, ...this.files }, 'The self-signed serving certificate cannot be renewed');
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

/** Whether a certificate is of the kind that kubelets make for themselves: `host@time`, by itself or by `host-ca@time`. */
export function isSelfMade({ commonName, issuer }: LeafCertificate): boolean {
  return /@\d+$/.test(commonName) && (issuer === `CN=${commonName}` || /^CN=.*-ca@\d+$/.test(issuer));
}
