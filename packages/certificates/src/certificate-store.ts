import { type Clock, checkComponents, checkOptions } from '@node-agent/async';
import { type FileSystem, isMissing } from '@node-agent/host';
import { type Logger, type WithDefaults, withDefaults } from '@node-agent/telemetry';
import { type CertificatePair, parsePair } from './certificate-pair.ts';
import { CertificateError } from './errors.ts';
import { datedName, datedNames } from './store-names.ts';

/** What {@link CertificateStore} needs of the file system. */
export type StoreFiles = Pick<
  FileSystem,
  'mkdir' | 'readdir' | 'readFile' | 'remove' | 'rename' | 'symlink' | 'writeFileAtomic'
>;

/** What {@link CertificateStore} works with. */
export interface StoreComponents {
  readonly fs: StoreFiles;
  /** The machine's own where absent. */
  readonly clock?: Pick<Clock, 'now'>;
  /** Silent where absent. */
  readonly logger?: Logger;
}

/** Where a pair is that others have put there. */
export interface PairFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

export interface StoreOptions {
  /** Absolute; made where it is missing. */
  readonly directory: string;
  /** `kubelet-client` or `kubelet-server`. */
  readonly prefix: string;
  /** Used where the store has no pair of its own. */
  readonly fallback?: PairFiles;
}

/** How many pairs are kept: the current one and those before it. */
const KEPT_PAIRS = 3;

/**
 * Certificates in files, as upstream has them (`client-go/util/certificate/certificate_store.go`): each pair in a file
 * `<prefix>-<date>.pem`, of mode 0600, and a link `<prefix>-current.pem` to the one in use. A new pair is on the disk as a
 * whole before the link is turned, in one step: at every instant the link leads to a pair that works. Where the link, or what
 * it leads to, was lost or damaged, the newest pair that can be read takes its place.
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

  /** The link to the pair in use, for kubeconfigs. */
  get currentPath(): string {
    return this.#path('current');
  }

  /** The pair in use; `undefined` where there is none that can be read. @throws errors of the file system */
  async load(): Promise<CertificatePair | undefined> {
    const current = await this.#read(this.currentPath);
    if (current !== undefined) return current;
    for (const name of (await this.#datedNames()).toReversed()) {
      const path = `${this.#options.directory}/${name}`;
      const pair = await this.#read(path);
      if (pair === undefined) continue;
      this.#components.logger.warn(
        { path },
        'The current certificate is lost or damaged; the newest other one is used',
      );
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
   * Stores a pair and makes it the current one. When it resolves the pair survives a power loss; where it throws, the one
   * before is still the current one. @throws CertificateError `InvalidPair`; errors of the file system
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

  /** A pair; `undefined` where a file is missing or damaged, which is said. */
  async #read(certFile: string, keyFile = certFile): Promise<CertificatePair | undefined> {
    const { fs, logger } = this.#components;
    try {
      const cert = Buffer.from(await fs.readFile(certFile)).toString();
      const key = keyFile === certFile ? cert : Buffer.from(await fs.readFile(keyFile)).toString();
      return parsePair(cert, key);
    } catch (err) {
      if (isMissing(err)) return undefined;
      if (!(err instanceof CertificateError)) throw err;
      logger.error({ err, certFile, keyFile }, 'A certificate and key are damaged and not used');
      return undefined;
    }
  }

  /** The files with pairs, the oldest first. */
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
      // The new pair is in use all the same, and the next rotation tries again.
      this.#components.logger.warn({ err, name }, 'An old certificate cannot be removed');
    }
  }

  #path(qualifier: 'current' | 'updated'): string {
    return `${this.#options.directory}/${this.#options.prefix}-${qualifier}.pem`;
  }
}
