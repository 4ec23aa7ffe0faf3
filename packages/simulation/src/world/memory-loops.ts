import type { LoopDevices } from '@node-agent/volumes';

/** The loop devices of the machine. Like real loop devices, the simulated ones survive the kubelet, but no reboot. */
export class MemoryLoops implements LoopDevices {
  readonly #devices = new Map<string, string>();
  #count = 0;

  /** The paths that have a loop device. */
  get paths(): readonly string[] {
    return [...this.#devices.keys()];
  }

  async find(path: string): Promise<string | undefined> {
    return this.#devices.get(path);
  }

  async attach(path: string): Promise<void> {
    this.#devices.set(path, `/dev/loop${this.#count++}`);
  }

  async detach(device: string): Promise<void> {
    for (const [path, name] of this.#devices) if (name === device) this.#devices.delete(path);
  }

  /** Removes all loop devices, because the machine was off. */
  reboot(): void {
    this.#devices.clear();
  }
}
