import { type Clock, checkComponents, checkOptions } from '@node-agent/async';
import { type FileSystem, isMissing } from '@node-agent/host';
import { type Logger, type WithDefaults, withDefaults } from '@node-agent/telemetry';
import { type CertificatePair, parsePair } from './certificate-pair.ts';
import { CertificateError } from './errors.ts';
import { datedName, datedNames } from './store-names.ts';

/** The file system methods that {@link CertificateStore} needs. */
export type StoreFiles = Pick<
  FileSystem,
  'mkdir' | 'readdir' | 'readFile' | 'remove' | 'rename' | 'symlink' | 'writeFileAtomic'
>;

/** The components of {@link CertificateStore}. */
export interface StoreComponents {
  readonly fs: StoreFiles;
  /** Default: the system clock. */
  readonly clock?: Pick<Clock, 'now'>;
  /** Default: no logging. */
  readonly logger?: Logger;
}

/** The files of a pair that an administrator or another program supplies. */
export interface PairFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

export interface StoreOptions {
  /** Absolute path of the directory, which is created if it does not exist. */
  readonly directory: string;
  /** Prefix of the file names: `kubelet-client` or `kubelet-server`. */
  readonly prefix: string;
  /** Files that are used if the store has no pair of its own. */
  readonly fallback?: PairFiles;
}

/** Number of certificate pairs that are kept, including the current pair. */
const KEPT_PAIRS = 3;

/**
 * Stores certificates in files, as upstream does (`client-go/util/certificate/certificate_store.go`): each pair in a
 * file `<prefix>-<date>.pem` with mode 0600, and a link `<prefix>-current.pem` to the current one. A new pair is
 * completely on disk before the link is switched atomically, so that the link always leads to a working pair. If the
 * link or its target is lost or damaged, the newest readable pair is used.
 */
export class CertificateStore {
  readonly #components: WithDefaults<StoreComponents>;
  readonly #options: StoreOptions;

  constructor(components: StoreComponents, options: StoreOptions) {
    checkOptions('CertificateStore', options, { directory: 'string', prefix: 'string', fallback: 'object?' });
    checkComponents('CertificateStore', components, {
      fs: ['mkdir', 'readdir', 'remove', 'writeFileAtomic', 'readFile', 'rename', 'symlink'],
    });
    this.#components = withDefaults(components);
    this.#options = options;
  }

  /** Path of the symbolic link to the current certificate pair, for kubeconfigs. */
  get currentPath(): string {
    return this.#path('current');
  }

  /** Returns the current pair, or `undefined` if there is no readable one. @throws errors of the file system */
  async load(): Promise<CertificatePair | undefined> {
    const current = await this.#read(this.currentPath);
    if (current !== undefined) return current;
    for (const name of (await this.#datedNames()).toReversed()) {
      const path = `${this.#options.directory}/${name}`;
      const pair = await this.#read(path);
      if (pair === undefined) continue;
      this.#components.logger.warn({ path }, 'The current certificate is lost or damaged; using the newest other one');
      await this.#link(path);
      return pair;
    }
    const { directory, prefix, fallback } = this.#options;
    const own = { certFile: `${directory}/${prefix}.crt`, keyFile: `${directory}/${prefix}.key` };
    for (const { certFile, keyFile } of fallback === undefined ? [own] : [fallback, own]) {
      const pair = await this.#read(certFile, keyFile);
      if (pair !== undefined) return pair;
    }
    return undefined;
  }

  /**
   * Stores a pair and makes it current. Once resolved, the pair survives a power loss. If the method throws, the
   * previous pair stays current. @throws CertificateError `InvalidPair`; errors of the file system
   */
  async save(cert: string, key: string): Promise<CertificatePair> {
    const { fs, clock } = this.#components;
    const { directory, prefix } = this.#options;
    const pair = parsePair(cert, key);
    await fs.mkdir(directory);
    const known = await this.#datedNames();
    const name = datedName(prefix, clock.now(), known);
    const path = `${directory}/${name}`;
    await fs.writeFileAtomic(path, `${pair.cert}${pair.key}`, { mode: 0o600 });
    await this.#link(path);
    for (const old of known.slice(0, Math.max(0, known.length + 1 - KEPT_PAIRS))) await this.#discard(old);
    return pair;
  }

  async #link(path: string): Promise<void> {
    const { fs } = this.#components;
    const updated = this.#path('updated');
    try {
      await fs.remove(updated);
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
    await fs.symlink(path, updated);
    await fs.rename(updated, this.currentPath);
  }

  /** Reads a pair. Returns `undefined` if a file is missing or damaged; damage is logged. */
  async #read(certFile: string, keyFile = certFile): Promise<CertificatePair | undefined> {
    const { fs, logger } = this.#components;
    try {
      const cert = Buffer.from(await fs.readFile(certFile)).toString();
      const key = keyFile === certFile ? cert : Buffer.from(await fs.readFile(keyFile)).toString();
      return parsePair(cert, key);
    } catch (err) {
      if (isMissing(err)) return undefined;
      if (!(err instanceof CertificateError)) throw err;
      logger.error({ err, certFile, keyFile }, 'Ignoring a damaged certificate and key');
      return undefined;
    }
  }

  /** Returns the names of the stored pairs, the oldest first. */
  async #datedNames(): Promise<readonly string[]> {
    const { directory, prefix } = this.#options;
    try {
      const entries = await this.#components.fs.readdir(directory);
      return datedNames(
        prefix,
        entries.map(({ name }) => name),
      );
    } catch (error) {
      if (isMissing(error)) return [];
      throw error;
    }
  }

  async #discard(name: string): Promise<void> {
    try {
      await this.#components.fs.remove(`${this.#options.directory}/${name}`);
    } catch (err) {
      // A failed removal does not matter: the new pair is in use, and the next rotation retries the removal.
      this.#components.logger.warn({ err, name }, 'Failed to remove an old certificate');
    }
  }

  #path(qualifier: 'current' | 'updated'): string {
    return `${this.#options.directory}/${this.#options.prefix}-${qualifier}.pem`;
  }
}
