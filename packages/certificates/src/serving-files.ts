import { dirname } from 'node:path';
import { type Clock, checkComponents, checkOptions, every, linkAbort, StartOnce, sleep } from '@node-agent/async';
import type { FileSystem } from '@node-agent/host';
import { type Logger, type WithDefaults, withDefaults } from '@node-agent/telemetry';
import { type CertificatePair, parsePair } from './certificate-pair.ts';
import type { PairFiles } from './certificate-store.ts';
import type { ServingCertificate } from './serving-certificate.ts';

/** The components of {@link ServingCertificateFiles}. */
export interface ServingFileComponents {
  readonly fs: Pick<FileSystem, 'readFile' | 'watch'>;
  /** Default: the system clock. */
  readonly clock?: Clock;
  /** Default: no logging. */
  readonly logger?: Logger;
}

/** Interval at which the files are read even without a change notification, in milliseconds (`dynamiccertificates`). */
const REPAIR_PERIOD_MS = 60_000;

/**
 * A serving certificate in two files (`tlsCertFile`, `tlsPrivateKeyFile`). The files are read again when they change.
 * If the files are unreadable or do not match, the last valid pair stays in use (feature gate
 * ReloadKubeletServerCertificateFile).
 */
export class ServingCertificateFiles implements ServingCertificate {
  readonly #components: WithDefaults<ServingFileComponents>;
  readonly #files: PairFiles;
  readonly #listeners = new Set<(pair: CertificatePair) => void>();
  #pair: CertificatePair | undefined;
  #isHinted = false;
  #endSleep: (() => void) | undefined;
  #complaint = '';
  readonly #startOnce = new StartOnce('ServingCertificateFiles');

  constructor(components: ServingFileComponents, files: PairFiles) {
    checkOptions('ServingCertificateFiles', files, { certFile: 'string', keyFile: 'string' });
    checkComponents('ServingCertificateFiles', components, { fs: ['readFile', 'watch'] });
    this.#components = withDefaults(components);
    this.#files = files;
  }

  get current(): CertificatePair | undefined {
    return this.#pair;
  }

  onChange(listener: (pair: CertificatePair) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Reads the files. @throws CertificateError `InvalidPair`; errors of the file system */
  async load(): Promise<void> {
    const { fs, logger } = this.#components;
    const read = async (path: string): Promise<string> => Buffer.from(await fs.readFile(path)).toString();
    const pair = parsePair(await read(this.#files.certFile), await read(this.#files.keyFile));
    if (pair.cert === this.#pair?.cert && pair.key === this.#pair.key) return;
    this.#pair = pair;
    const notAfter = new Date(pair.leaf.notAfterMs).toISOString();
    logger.info({ certFile: this.#files.certFile, notAfter }, 'Using serving certificate');
    for (const listener of [...this.#listeners]) listener(pair);
  }

  /** Reads the files again when they may have changed, until `signal` is aborted. */
  async start(signal: AbortSignal): Promise<void> {
    this.#startOnce.begin();
    const { certFile, keyFile } = this.#files;
    using link = linkAbort(signal);
    const hint = (): void => {
      this.#isHinted = true;
      this.#endSleep?.();
    };
    const directories = new Set([dirname(certFile), dirname(keyFile)]);
    const watches = [...directories].map((directory) => this.#watch(directory, hint, link.signal));
    while (!signal.aborted) {
      this.#isHinted = false;
      await this.#reload();
      if (!this.#isHinted) await this.#sleep(signal);
    }
    await Promise.all(watches);
  }

  async #reload(): Promise<void> {
    try {
      await this.load();
      this.#complaint = '';
    } catch (err) {
      const text = String(err);
      // Logs each problem once, because the check repeats every minute.
      if (text !== this.#complaint) {
        const { logger } = this.#components;
        logger.error({ err, ...this.#files }, 'Failed to read the serving certificate; the previous one stays in use');
      }
      this.#complaint = text;
    }
  }

  async #sleep(signal: AbortSignal): Promise<void> {
    using link = linkAbort(signal);
    this.#endSleep = () => link.abort();
    try {
      await sleep(this.#components.clock, REPAIR_PERIOD_MS, link.signal);
    } catch {
      // The sleep ended early because a change was reported or the signal was aborted; the caller checks which.
    } finally {
      this.#endSleep = undefined;
    }
  }

  async #watch(directory: string, hint: () => void, signal: AbortSignal): Promise<void> {
    const { fs, clock, logger } = this.#components;
    const watch = async (): Promise<void> => {
      try {
        await fs.watch(directory, hint, signal);
      } catch (err) {
        if (!signal.aborted) logger.debug({ err, directory }, 'Failed to watch a directory');
      }
    };
    await every(clock, REPAIR_PERIOD_MS, watch, signal);
  }
}
