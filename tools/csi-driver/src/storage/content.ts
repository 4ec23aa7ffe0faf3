import { mkdir, readdir, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isMissing } from '@node-agent/host';
import type { BackingType } from '../state/records.ts';
import { run } from './commands.ts';
import { resizeLoopDevice } from './loop-devices.ts';

/** Fields of a volume or snapshot that determine its content. */
export interface Held {
  readonly id: string;
  readonly backing: BackingType;
  readonly sizeBytes: number;
}

/** Directory of the content, below the state directory. */
type Shelf = 'volumes' | 'snapshots';

/** Content of volumes and snapshots: `STATEDIR/volumes/ID/data` is a directory, `STATEDIR/volumes/ID/image` an image. */
export class ContentStore {
  readonly #stateDir: string;

  constructor(stateDir: string) {
    this.#stateDir = stateDir;
  }

  /** Path of the directory or image of a volume. */
  volumePath({ id, backing }: Pick<Held, 'id' | 'backing'>): string {
    return this.#path('volumes', id, backing);
  }

  /** Path at which a volume's file system is mounted if the volume is published without being staged. */
  ownMountPoint({ id }: Pick<Held, 'id'>): string {
    return join(this.#stateDir, 'volumes', id, 'mount');
  }

  /** Creates the content of an empty volume; existing content is kept. */
  async create(volume: Held): Promise<void> {
    const path = this.volumePath(volume);
    if (volume.backing === 'directory') {
      await mkdir(path, { recursive: true, mode: 0o777 });
      return;
    }
    await mkdir(join(this.#stateDir, 'volumes', volume.id), { recursive: true, mode: 0o700 });
    await writeFile(path, '', { flag: 'a', mode: 0o600 });
    await truncate(path, volume.sizeBytes);
  }

  /** Creates a volume with the content of another volume or of a snapshot. */
  async createCopy(volume: Held, source: { readonly type: 'volume' | 'snapshot'; readonly id: string }): Promise<void> {
    const from = this.#path(source.type === 'volume' ? 'volumes' : 'snapshots', source.id, volume.backing);
    await this.#copy(from, 'volumes', volume);
    if (volume.backing !== 'directory') await truncate(this.volumePath(volume), volume.sizeBytes);
  }

  /** Creates a snapshot with the content of a volume. */
  async createSnapshot(snapshot: Held, volumeId: string): Promise<void> {
    await this.#copy(this.#path('volumes', volumeId, snapshot.backing), 'snapshots', snapshot);
  }

  /**
   * Makes the image of a volume and its loop device larger. Does nothing for a directory, which has no size of its own.
   */
  async grow(volume: Held): Promise<void> {
    if (volume.backing === 'directory') return;
    const path = this.volumePath(volume);
    if ((await stat(path)).size >= volume.sizeBytes) return;
    await truncate(path, volume.sizeBytes);
    await resizeLoopDevice(path);
  }

  async exists(volume: Held): Promise<boolean> {
    return stat(this.volumePath(volume)).then(
      () => true,
      () => false,
    );
  }

  async remove(shelf: Shelf, id: string): Promise<void> {
    await rm(join(this.#stateDir, shelf, id), { recursive: true, force: true });
  }

  /** Removes content that no record names: a driver was killed while it created that content. */
  async removeUnknown(shelf: Shelf, known: ReadonlySet<string>): Promise<readonly string[]> {
    const names = await readdir(join(this.#stateDir, shelf)).catch((error: unknown) => {
      if (isMissing(error)) return [];
      throw error;
    });
    const unknown = names.filter((name) => !known.has(name));
    for (const id of unknown) await this.remove(shelf, id);
    return unknown;
  }

  async #copy(from: string, shelf: Shelf, { id, backing }: Held): Promise<void> {
    const directory = join(this.#stateDir, shelf, id);
    // A driver that was killed during the copy may have left a part of it.
    await rm(directory, { recursive: true, force: true });
    await mkdir(directory, { recursive: true, mode: 0o700 });
    await run('sync', '--file-system', from);
    await run('cp', '--archive', '--sparse=always', '--reflink=auto', from, this.#path(shelf, id, backing));
  }

  #path(shelf: Shelf, id: string, backing: BackingType): string {
    return join(this.#stateDir, shelf, id, backing === 'directory' ? 'data' : 'image');
  }
}
