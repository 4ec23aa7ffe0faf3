import { type Clock, sleep } from '@node-agent/async';
import type { FileSystem } from '@node-agent/host';
import type { Logger } from '@node-agent/telemetry';
import { CheckpointFile } from './checkpoint-file.ts';
import type { DeviceCheckpoint } from './checkpoint-format.ts';
import { DeviceError } from './errors.ts';
import { messages } from './generated/codec.ts';
import type { DeviceInventory } from './inventory.ts';
import type { PodDevices } from './pod-devices.ts';

/** Dependencies of a {@link DeviceRecord}. */
interface DeviceRecordParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly fs: Pick<FileSystem, 'mkdir' | 'open' | 'readdir' | 'remove' | 'writeFileAtomic'>;
  readonly inventory: DeviceInventory;
  readonly held: PodDevices;
}

/**
 * Number of read attempts before no devices count as allocated: a temporary disk failure must not lead to devices being
 * allocated twice. Upstream reads the checkpoint only once.
 */
const TRIES = 60;
const RETRY_MS = 1_000;

/** A failed write is retried after one second, then after twice as long each time, up to this maximum. */
const MAX_WRITE_PAUSE_MS = 60_000;

/**
 * Minimum interval between writes of plugin reports: each write serializes all names, and a device may change its
 * health continuously.
 */
const TOLD_PAUSE_MS = 1_000;

/** Persistent state: allocated devices and known resources. */
export class DeviceRecord {
  readonly #parts: DeviceRecordParts;
  readonly #file: CheckpointFile;
  #loading: Promise<void> | undefined;
  #hadFile = true;
  #ending: AbortSignal | undefined;
  /** Inventory revision of the last write; `undefined` if the write failed. */
  #taken: number | undefined;
  /**
   * Whether plugins have reported changes since the last write of their reports; `undefined` when the minimum interval
   * has passed.
   */
  #told: 'not since' | 'meanwhile' | undefined;
  /** Delay before the next retry of a failed write; `undefined` if all is on disk. */
  #pauseMs: number | undefined;
  #writesAgain = false;
  readonly #tried = Promise.withResolvers<void>();

  constructor(parts: DeviceRecordParts, directory: string) {
    this.#parts = parts;
    this.#file = new CheckpointFile(parts.fs, directory, () => this.#content());
  }

  /** Sets the signal after whose abort failed writes are not retried. */
  begin(ending: AbortSignal): void {
    this.#ending = ending;
  }

  /**
   * Reads the checkpoint once. Never rejects: if the checkpoint is corrupt, or cannot be read for a minute, logs the
   * error and treats all devices as not allocated, as upstream (`readCheckpoint`, `manager.go`).
   */
  load(): Promise<void> {
    this.#loading ??= this.#load();
    return this.#loading;
  }

  /**
   * Returns whether the file did not exist at the start and has not been written since. Waits for the first attempt to
   * read the file; returns false if that attempt fails (`ShouldResetExtendedResourceCapacity`, `manager.go`).
   */
  async isMissing(): Promise<boolean> {
    void this.load();
    await this.#tried.promise;
    return !this.#hadFile && !this.#file.wasWritten;
  }

  /**
   * Resolves when the current state is on disk. A failed write is also retried in the background: the next process
   * would take resources that are missing in the file for non-device resources and start pods without their devices.
   * @throws DeviceError `CheckpointNotWritten`
   */
  async write(): Promise<void> {
    try {
      await this.#file.write();
      this.#pauseMs = undefined;
    } catch (err) {
      this.#taken = undefined;
      this.#writeAgain();
      throw err;
    }
  }

  #writeAgain(): void {
    if (this.#writesAgain) {
      // Another write may have succeeded and cleared the delay since the retry was scheduled. Without a delay, the
      // retry does nothing.
      this.#pauseMs ??= RETRY_MS;
      return;
    }
    this.#writesAgain = true;
    this.#pauseMs = this.#pauseMs === undefined ? RETRY_MS : Math.min(2 * this.#pauseMs, MAX_WRITE_PAUSE_MS);
    const again = (): void => {
      this.#writesAgain = false;
      if (this.#pauseMs !== undefined) this.writeSoon();
    };
    sleep(this.#parts.clock, this.#pauseMs, this.#ending).then(again, () => {});
  }

  /** Writes the state in the background. Used for changes whose loss would not lose an allocation. */
  writeSoon(): void {
    this.write().catch((err: unknown) => {
      this.#parts.logger.error({ err }, 'Writing checkpoint encountered');
    });
  }

  /**
   * Writes changed plugin reports in the background, because plugins report unchanged lists repeatedly: the first
   * change immediately, later ones at most once per second.
   */
  writeToldSoon(): void {
    const { clock, inventory } = this.#parts;
    if (this.#told !== undefined) {
      this.#told = 'meanwhile';
      return;
    }
    if (this.#taken === inventory.revision) return;
    this.writeSoon();
    this.#told = 'not since';
    const again = (): void => {
      const toldMore = this.#told === 'meanwhile';
      this.#told = undefined;
      if (toldMore) this.writeToldSoon();
    };
    sleep(clock, TOLD_PAUSE_MS, this.#ending).then(again, () => {});
  }

  #content(): DeviceCheckpoint {
    const { held, inventory } = this.#parts;
    this.#taken = inventory.revision;
    const entries = held.all().map(({ response, ...grant }) => ({
      ...grant,
      response: messages.ContainerAllocateResponse.encode(response),
    }));
    return { entries, registered: inventory.registered() };
  }

  async #load(): Promise<void> {
    const { clock, logger, inventory } = this.#parts;
    try {
      const stored = await this.#read();
      this.#hadFile = stored !== undefined;
      const nowMs = clock.monotonic();
      for (const resource of stored?.registered.keys() ?? []) inventory.restored(resource, nowMs);
      for (const entry of stored?.entries ?? []) this.#restore(entry);
    } catch (err) {
      logger.error(
        { err },
        'Continue after failing to read checkpoint file. Device allocation info may NOT be up-to-date',
      );
    } finally {
      this.#tried.resolve();
    }
  }

  async #read(): Promise<DeviceCheckpoint | undefined> {
    const { clock, logger } = this.#parts;
    for (let tries = 1; ; tries++) {
      try {
        return await this.#file.read();
      } catch (err) {
        if (DeviceError.is(err) || tries === TRIES || this.#ending?.aborted) throw err;
        this.#tried.resolve();
        logger.error({ err, tries }, 'Failed to read data from checkpoint, retrying');
        await sleep(clock, RETRY_MS, this.#ending);
      }
    }
  }

  /** Restores an entry. An entry whose response cannot be decoded is skipped (upstream: `fromCheckpointData`). */
  #restore({ response, ...entry }: DeviceCheckpoint['entries'][number]): void {
    const { held, logger } = this.#parts;
    try {
      held.set({ ...entry, response: messages.ContainerAllocateResponse.decode(response) });
    } catch (err) {
      const { podUid, container, resource } = entry;
      logger.error({ err, podUid, container, resource }, "Can't unmarshal allocResp");
    }
  }
}
