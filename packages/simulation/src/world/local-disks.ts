import { type Clock, sleep } from '@node-agent/async';
import { type LocalDevices, VolumeError } from '@node-agent/volumes';
import type { MemoryMounter } from '@node-agent/volumes/testing';

const MOUNT_MS = 30;
const LOOK_MS = 500;

/** Mounts the disks of a node. Mounts may fail or hang for some time. */
export class LocalDisks implements LocalDevices {
  readonly #clock: Clock;
  readonly #mounter: MemoryMounter;
  readonly #faults = new Map<string, 'fail' | 'hang'>();

  constructor(clock: Clock, mounter: MemoryMounter) {
    this.#clock = clock;
    this.#mounter = mounter;
  }

  /** Sets the fault of mounts of a device. `undefined` ends the fault. */
  misbehave(device: string, fault: 'fail' | 'hang' | undefined): void {
    if (fault === undefined) this.#faults.delete(device);
    else this.#faults.set(device, fault);
  }

  /** Ends all faults. */
  cure(): void {
    this.#faults.clear();
  }

  async formatAndMount(
    device: string,
    target: string,
    fsType: string,
    _options: readonly string[],
    signal: AbortSignal,
  ): Promise<void> {
    await sleep(this.#clock, MOUNT_MS, signal);
    while (this.#faults.get(device) === 'hang') await sleep(this.#clock, LOOK_MS, signal);
    if (this.#faults.get(device) === 'fail') throw new VolumeError('MountFailed', `mount: ${device}: bad superblock`);
    await this.#mounter.mount(device, target, fsType);
  }
}
