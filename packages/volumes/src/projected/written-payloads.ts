import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { Clock } from '@node-agent/async';
import type { FileSystem } from '@node-agent/host';
import { DATA } from './atomic-writer.ts';
import type { Payload } from './payload.ts';

/** For how long what was written is taken to be there without reading it again, in milliseconds. */
const TRUSTED_MS = 600_000;

interface Written {
  readonly digest: string;
  /** Where the files are: what the link to them leads to. */
  readonly data: string;
  readonly readAtMs: number;
}

/**
 * What this process has written to volumes, so that a sync of a pod of which nothing changed reads one link instead of all
 * files. Containers cannot write there; whoever else does is seen by the reading that follows after ten minutes, or by the
 * next change.
 */
export class WrittenPayloads {
  readonly #fs: Pick<FileSystem, 'readlink'>;
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #written = new Map<string, Written>();

  constructor({ fs, clock }: { readonly fs: Pick<FileSystem, 'readlink'>; readonly clock: Pick<Clock, 'monotonic'> }) {
    this.#fs = fs;
    this.#clock = clock;
  }

  /** Whether a directory holds the files of this digest, as far as one look at it tells. */
  async holds(directory: string, digest: string): Promise<boolean> {
    const written = this.#written.get(directory);
    if (written === undefined || written.digest !== digest) return false;
    if (this.#clock.monotonic() - written.readAtMs >= TRUSTED_MS) return false;
    // A volume that was taken away, or unmounted, has no such link.
    return (await this.#dataOf(directory)) === written.data;
  }

  /** The files of this digest have just been written, or read and found to be there. */
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
 * The same for the same files, owners and permissions, and for no others. The files themselves are not kept: they may be secrets.
 * @param places directories that are to be in the volume beside them
 */
export function payloadDigest(payload: Payload, places: readonly string[], groupId: number | undefined): string {
  const hash = createHash('sha256').update(JSON.stringify([groupId ?? null, places]));
  for (const [path, { data, mode, ownerUid }] of [...payload].sort(([a], [b]) => (a < b ? -1 : 1))) {
    hash.update(JSON.stringify([path, mode, ownerUid ?? null, data.length])).update(data);
  }
  return hash.digest('base64');
}
