import { type Clock, sleep } from '@node-agent/async';
import type { FileSystem } from '@node-agent/host';
import type { Logger } from '@node-agent/telemetry';
import { CheckpointFile } from './checkpoint-file.ts';
import type { DeviceCheckpoint } from './checkpoint-format.ts';
import { DeviceError } from './errors.ts';
import { messages } from './generated/codec.ts';
import type { DeviceInventory } from './inventory.ts';
import type { PodDevices } from './pod-devices.ts';

/** What a {@link DeviceRecord} works with. */
interface DeviceRecordParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly fs: Pick<FileSystem, 'mkdir' | 'open' | 'readdir' | 'remove' | 'writeFileAtomic'>;
  readonly inventory: DeviceInventory;
  readonly held: PodDevices;
}

/**
 * A disk that is out of order for a moment must not cost everybody's devices, which would be given to others then: so often it is tried
 * again before nobody holds anything. Upstream tries once.
 */
const TRIES = 60;
const RETRY_MS = 1_000;

/** A write that failed is tried again after a second at first, and each time after twice as long, up to this. */
const MAX_WRITE_PAUSE_MS = 60_000;

/** How far apart writes of what plugins have told are: all names are made one text, and one device may fall ill and get well without end. */
const TOLD_PAUSE_MS = 1_000;

/** What outlives the process: who holds which devices, and which resources there were. */
export class DeviceRecord {
  readonly #parts: DeviceRecordParts;
  readonly #file: CheckpointFile;
  #loading: Promise<void> | undefined;
  #hadFile = true;
  #ending: AbortSignal | undefined;
  /** The inventory's, as the last write took it; `undefined` where that failed. */
  #taken: number | undefined;
  /** Whether plugins have told more since the last write of what they tell; `undefined` once that is long enough ago. */
  #told: 'not since' | 'meanwhile' | undefined;
  /** How long it waits before it writes again what could not be written; `undefined` where all is on disk. */
  #pauseMs: number | undefined;
  #writesAgain = false;
  readonly #tried = Promise.withResolvers<void>();

  constructor(parts: DeviceRecordParts, directory: string) {
    this.#parts = parts;
    this.#file = new CheckpointFile(parts.fs, directory, () => this.#content());
  }

  /** From now on it is not tried again once the signal is aborted. */
  begin(ending: AbortSignal): void {
    this.#ending = ending;
  }

  /**
   * Reads it, once. Never rejects: where it is corrupt, or cannot be read for a minute, that is logged and nobody holds anything, as upstream
   * has it (`readCheckpoint`, `manager.go`).
   */
  load(): Promise<void> {
    this.#loading ??= this.#load();
    return this.#loading;
  }

  /**
   * Whether there is no file, and was none at the start; not where that cannot be said yet (`ShouldResetExtendedResourceCapacity`,
   * `manager.go`).
   */
  async isMissing(): Promise<boolean> {
    void this.load();
    await this.#tried.promise;
    return !this.#hadFile && !this.#file.wasWritten;
  }

  /**
   * Resolves once what holds now is on disk. Where that fails it is tried again, whoever asks for it: what the next process does not read of
   * resources it takes for none of devices, and starts pods without. @throws DeviceError `CheckpointNotWritten`
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
      // Another write may have succeeded since.
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

  /** The same where nobody waits for it: what it says more than the file there loses no device. */
  writeSoon(): void {
    this.write().catch((err: unknown) => {
      this.#parts.logger.error({ err }, 'Writing checkpoint encountered');
    });
  }

  /**
   * {@link writeSoon} of what plugins have told, where that is not on disk: they tell again and again what they told before. At once, and then
   * each second at most.
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
        logger.error({ err, tries }, 'Failed to read data from checkpoint, will try again');
        await sleep(clock, RETRY_MS, this.#ending);
      }
    }
  }

  /** One whose plugin's answer cannot be read holds nothing; the others do (`fromCheckpointData`). */
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
