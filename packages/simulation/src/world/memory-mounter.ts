import type { MemoryFileSystem } from '@node-agent/host/testing';
import type { Mounter } from '@node-agent/volumes';

/** Mounts over a file system in memory. They outlive the kubelet, as real ones do. */
export class MemoryMounter implements Mounter {
  readonly #fs: MemoryFileSystem;
  readonly #points = new Map<string, string>();

  constructor(components: { readonly fs: MemoryFileSystem }) {
    this.#fs = components.fs;
  }

  async mountPoints(): Promise<ReadonlyMap<string, string>> {
    return new Map(this.#points);
  }

  async mount(_source: string, target: string, fsType: string): Promise<void> {
    this.#fs.mount(target);
    this.#points.set(target, fsType);
  }

  async bind(handle: string, target: string): Promise<void> {
    this.#fs.bind(handle, target);
    this.#points.set(target, 'bound');
  }

  async rebind(): Promise<void> {
    // What a mount may be used for makes no difference here.
  }

  /** The machine was off. */
  reboot(): void {
    for (const target of [...this.#points.keys()].toReversed()) this.#fs.unmount(target);
    this.#points.clear();
  }

  async unmount(target: string): Promise<void> {
    this.#fs.unmount(target);
    this.#points.delete(target);
  }
}
