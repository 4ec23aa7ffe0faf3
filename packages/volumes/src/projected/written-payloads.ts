import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { Clock } from '@node-agent/async';
import type { FileSystem } from '@node-agent/host';
import { DATA } from './atomic-writer.ts';
import type { Payload } from './payload.ts';

/** Time for which written files are assumed to be unchanged without reading them again, in milliseconds. */
const TRUSTED_MS = 600_000;

interface Written {
  readonly digest: string;
  /** Data directory that contains the files: the target of the `..data` link. */
  readonly data: string;
  readonly readAtMs: number;
}

/**
 * Remembers the digests of files that this process has written to volumes, so that a sync without changes reads one
 * link instead of all files. Containers cannot write to these volumes. A change by another program is detected when the
 * files are read again, after ten minutes or at the next change.
 */
export class WrittenPayloads {
  readonly #fs: Pick<FileSystem, 'readlink'>;
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #written = new Map<string, Written>();

  constructor({ fs, clock }: { readonly fs: Pick<FileSystem, 'readlink'>; readonly clock: Pick<Clock, 'monotonic'> }) {
    this.#fs = fs;
    this.#clock = clock;
  }

  /**
   * Returns whether a directory contains the files of this digest. Only the `..data` link is compared, and only for ten
   * minutes.
   */
  async holds(directory: string, digest: string): Promise<boolean> {
    const written = this.#written.get(directory);
    if (written === undefined || written.digest !== digest) return false;
    if (this.#clock.monotonic() - written.readAtMs >= TRUSTED_MS) return false;
    // A volume that was removed or unmounted has no `..data` link.
    return (await this.#dataOf(directory)) === written.data;
  }

  /** Records that the files of this digest have been written, or read and found correct. */
  async remember(directory: string, digest: string): Promise<void> {
    const data = await this.#dataOf(directory);
    if (data !== undefined) this.#written.set(directory, { digest, data, readAtMs: this.#clock.monotonic() });
  }

  forget(directory: string): void {
    this.#written.delete(directory);
  }

  async #dataOf(directory: string): Promise<string | undefined> {
    return await this.#fs.readlink(join(directory, DATA)).catch(() => undefined);
  }
}

/**
 * Returns a digest of files, owners and modes. The files themselves are not kept, because they may be secrets.
 * @param places directories that must be in the volume beside the files
 */
export function payloadDigest(payload: Payload, places: readonly string[], groupId: number | undefined): string {
  const hash = createHash('sha256').update(JSON.stringify([groupId ?? null, places]));
  for (const [path, { data, mode, ownerUid }] of [...payload].sort(([a], [b]) => (a < b ? -1 : 1))) {
    hash.update(JSON.stringify([path, mode, ownerUid ?? null, data.length])).update(data);
  }
  return hash.digest('base64');
}
