import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isMissing, nodeFileSystem, readFileBounded, removeUnfinishedFiles } from '@node-agent/host';
import { formatState, parseState } from './parse-state.ts';
import { type DriverState, EMPTY_STATE, type SnapshotRecord, type VolumeRecord } from './records.ts';

const MAX_BYTES = 64 << 20;

/** Records of the driver in `STATEDIR/state.json`, which is replaced at each change before the change has an effect. */
export class StateStore {
  readonly #directory: string;
  #state: DriverState = EMPTY_STATE;
  #written: Promise<void> = Promise.resolve();

  constructor(directory: string) {
    this.#directory = directory;
  }

  get state(): DriverState {
    return this.#state;
  }

  get #path(): string {
    return join(this.#directory, 'state.json');
  }

  /** Reads the state of an earlier process. @throws Error that names the file and the field */
  async load(): Promise<void> {
    await mkdir(this.#directory, { recursive: true, mode: 0o700 });
    await removeUnfinishedFiles(nodeFileSystem, this.#directory);
    const bytes = await readFileBounded(nodeFileSystem, this.#path, MAX_BYTES).catch((error: unknown) => {
      if (isMissing(error)) return undefined;
      throw error;
    });
    try {
      this.#state = parseState(bytes && Buffer.from(bytes).toString());
    } catch (error) {
      throw new Error(`read ${this.#path}: ${error instanceof Error ? error.message : String(error)}`, {
        cause: error,
      });
    }
  }

  volume(id: string): VolumeRecord | undefined {
    return this.#state.volumes.find((volume) => volume.id === id);
  }

  /** Adds a volume, or replaces the one with its ID. */
  async putVolume(volume: VolumeRecord): Promise<void> {
    const others = this.#state.volumes.filter(({ id }) => id !== volume.id);
    await this.#save({ ...this.#state, volumes: [...others, volume] });
  }

  async removeVolume(volumeId: string): Promise<void> {
    await this.#save({ ...this.#state, volumes: this.#state.volumes.filter(({ id }) => id !== volumeId) });
  }

  async putSnapshot(snapshot: SnapshotRecord): Promise<void> {
    await this.#save({ ...this.#state, snapshots: [...this.#state.snapshots, snapshot] });
  }

  async removeSnapshot(snapshotId: string): Promise<void> {
    await this.#save({ ...this.#state, snapshots: this.#state.snapshots.filter(({ id }) => id !== snapshotId) });
  }

  /** Returns the next sequence number. The counter is saved together with the record that gets the number. */
  nextSequence(): number {
    const { nextSequence } = this.#state;
    this.#state = { ...this.#state, nextSequence: nextSequence + 1 };
    return nextSequence;
  }

  /** Saves a state after all earlier states, so that the newest state is the last that is written. */
  async #save(state: DriverState): Promise<void> {
    this.#state = state;
    const write = async (): Promise<void> => nodeFileSystem.writeFileAtomic(this.#path, formatState(state));
    const written = this.#written.then(write, write);
    this.#written = written.catch(() => {});
    await written;
  }
}
