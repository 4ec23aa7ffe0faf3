import { type Clock, checkComponents, every, StartOnce } from '@node-agent/async';
import { type Logger, type WithDefaults, withDefaults } from '@node-agent/telemetry';
import { ServerError } from '../errors.ts';
import { certificatesIn } from './pem-certificates.ts';

/** The authorities whose client certificates are trusted. */
export interface ClientAuthorities {
  /** All authorities, in PEM. */
  readonly pem: string;
  /** SHA-256 fingerprints of the authorities, in TLS notation. */
  readonly fingerprints: ReadonlySet<string>;
  /** Calls `listener` whenever the authorities change. @returns a function that removes the listener */
  onChange(listener: () => void): () => void;
}

/** The components of {@link ClientCaFile}. */
export interface ClientCaFileComponents {
  readonly fs: { readFile(path: string): Promise<Uint8Array> };
  readonly clock?: Clock;
  readonly logger?: Logger;
}

/**
 * The interval at which the file is read, in milliseconds. Upstream uses the same interval
 * (`dynamiccertificates.FileRefreshDuration`).
 */
const PERIOD_MS = 60_000;

/**
 * The authorities in a file (`clientCAFile`), read again every minute. If the file is unreadable, the last valid
 * authorities stay in use.
 */
export class ClientCaFile implements ClientAuthorities {
  readonly #components: WithDefaults<ClientCaFileComponents>;
  readonly #path: string;
  readonly #listeners = new Set<() => void>();
  #pem = '';
  #fingerprints: ReadonlySet<string> = new Set();
  readonly #startOnce = new StartOnce('ClientCaFile');

  constructor(components: ClientCaFileComponents, path: string) {
    checkComponents('ClientCaFile', components, { fs: ['readFile'] });
    this.#components = withDefaults(components);
    this.#path = path;
  }

  get pem(): string {
    return this.#pem;
  }

  get fingerprints(): ReadonlySet<string> {
    return this.#fingerprints;
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /**
   * Reads the file. @throws ServerError `InvalidOptions` naming the file if it contains no certificate or an invalid
   * one; errors of the file system
   */
  async load(): Promise<void> {
    const pem = Buffer.from(await this.#components.fs.readFile(this.#path)).toString();
    if (pem === this.#pem) return;
    let fingerprints: string[];
    try {
      fingerprints = certificatesIn(pem).map(({ fingerprint256 }) => fingerprint256);
    } catch (cause) {
      throw new ServerError('InvalidOptions', `${this.#path}: contains an invalid certificate`, cause);
    }
    if (fingerprints.length === 0) throw new ServerError('InvalidOptions', `${this.#path}: contains no certificate`);
    this.#pem = pem;
    this.#fingerprints = new Set(fingerprints);
    this.#components.logger.info({ path: this.#path, fingerprints }, 'Loaded client CA bundle');
    for (const listener of [...this.#listeners]) listener();
  }

  /** Reads the file periodically until `signal` is aborted. */
  async start(signal: AbortSignal): Promise<void> {
    this.#startOnce.begin();
    const { clock, logger } = this.#components;
    const look = async (): Promise<void> => {
      try {
        await this.load();
      } catch (err) {
        logger.warn({ err, path: this.#path }, 'Failed to load client CA bundle; the previous one stays in use');
      }
    };
    await every(clock, PERIOD_MS, look, signal, { immediate: false });
  }
}
