import type { Clock } from '@node-agent/async';
import type { FileSystem } from '@node-agent/host';
import { KubeError } from './errors.ts';

/** The file system methods that credentials need. */
export type CredentialFiles = Pick<FileSystem, 'readFile' | 'stat'>;

/** A text file that is read again after it has changed. The file is checked for changes at most once per period. */
export class ReloadingFile {
  readonly #fs: CredentialFiles;
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #path: string;
  readonly #periodMs: number;
  #text: string | undefined;
  #stamp = '';
  #checkedAtMs = Number.NEGATIVE_INFINITY;

  /** @param periodMs how long the file is assumed to be unchanged after a check */
  constructor(fs: CredentialFiles, clock: Pick<Clock, 'monotonic'>, path: string, periodMs: number) {
    this.#fs = fs;
    this.#clock = clock;
    this.#path = path;
    this.#periodMs = periodMs;
  }

  /** Makes the next read check the file, even within the period. */
  expire(): void {
    this.#checkedAtMs = Number.NEGATIVE_INFINITY;
    this.#stamp = '';
  }

  /** Reports whether {@link read} would return the known text without checking the file. */
  isFresh(nowMs: number): boolean {
    return this.#text !== undefined && nowMs - this.#checkedAtMs < this.#periodMs;
  }

  /**
   * Returns the file's text without surrounding whitespace. @throws KubeError `CredentialsUnavailable` if the file is
   * unreadable or empty
   */
  async read(): Promise<string> {
    const nowMs = this.#clock.monotonic();
    if (this.#text !== undefined && this.isFresh(nowMs)) return this.#text;
    try {
      const { inode, device, sizeBytes, modifiedAtMs } = await this.#fs.stat(this.#path);
      const stamp = [device, inode, sizeBytes, modifiedAtMs].join();
      if (this.#text === undefined || stamp !== this.#stamp) {
        const text = Buffer.from(await this.#fs.readFile(this.#path))
          .toString('utf8')
          .trim();
        if (text === '') throw new Error('it is empty');
        this.#text = text;
        this.#stamp = stamp;
      }
    } catch (cause) {
      const message = `${this.#path}: cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`;
      throw new KubeError({ code: 'CredentialsUnavailable', message, cause });
    }
    this.#checkedAtMs = nowMs;
    return this.#text;
  }
}
