import type { Clock } from '@node-agent/async';
import type { FileSystem } from '@node-agent/host';
import type { Logger } from '@node-agent/telemetry';
import { CheckpointFile } from './checkpoint-file.ts';
import type { DeviceCheckpoint } from './checkpoint-format.ts';
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

/** What outlives the process: who holds which devices, and which resources there were. */
export class DeviceRecord {
  readonly #parts: DeviceRecordParts;
  readonly #file: CheckpointFile;
  #loading: Promise<void> | undefined;
  #hadFile = true;

  constructor(parts: DeviceRecordParts, directory: string) {
    this.#parts = parts;
    this.#file = new CheckpointFile(parts.fs, directory, () => this.#content());
  }

  /**
   * Reads it, once. Never rejects: where it cannot be read, that is logged and nobody holds anything, as upstream has it
   * (`readCheckpoint`, `manager.go`).
   */
  load(): Promise<void> {
    this.#loading ??= this.#load();
    return this.#loading;
  }

  /** Whether there is no file, and was none at the start (`ShouldResetExtendedResourceCapacity`, `manager.go`). To be asked once it is loaded. */
  get isMissing(): boolean {
    return !this.#hadFile && !this.#file.wasWritten;
  }

  /** Resolves once what holds now is on disk. @throws DeviceError `CheckpointNotWritten` */
  write(): Promise<void> {
    return this.#file.write();
  }

  /** The same where nobody waits for it: what it says more than the file there loses no device. */
  writeSoon(): void {
    this.write().catch((err: unknown) => {
      this.#parts.logger.error({ err }, 'Writing checkpoint encountered');
    });
  }

  #content(): DeviceCheckpoint {
    const { held, inventory } = this.#parts;
    const entries = held.all().map(({ response, ...grant }) => ({
      ...grant,
      response: messages.ContainerAllocateResponse.encode(response),
    }));
    return { entries, registered: inventory.registered() };
  }

  async #load(): Promise<void> {
    const { clock, logger, inventory } = this.#parts;
    try {
      const stored = await this.#file.read();
      this.#hadFile = stored !== undefined;
      const nowMs = clock.monotonic();
      for (const resource of stored?.registered.keys() ?? []) inventory.restored(resource, nowMs);
      for (const entry of stored?.entries ?? []) this.#restore(entry);
    } catch (err) {
      logger.error(
        { err },
        'Continue after failing to read checkpoint file. Device allocation info may NOT be up-to-date',
      );
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
