import type { MemoryFileSystem } from '@node-agent/host/testing';
import type { Mounter } from '@node-agent/volumes';

/** Something was mounted, or nothing is any more where `source` is `undefined`. */
export interface MountChange {
  readonly target: string;
  readonly source: string | undefined;
}

/** Mounts over a file system in memory. They outlive the kubelet, as real ones do. */
export class MemoryMounter implements Mounter {
  readonly #fs: MemoryFileSystem;
  readonly #tell: (change: MountChange) => void;
  readonly #points = new Map<string, string>();

  /** @param tell told of each mount that is made or ended, right after that */
  constructor(components: { readonly fs: MemoryFileSystem }, tell: (change: MountChange) => void) {
    this.#fs = components.fs;
    this.#tell = tell;
  }

  async mountPoints(): Promise<ReadonlyMap<string, string>> {
    return new Map(this.#points);
  }

  async mount(source: string, target: string, fsType: string): Promise<void> {
    this.#fs.mount(target);
    this.#mounted(source, target, fsType);
  }

  async bind(source: string, target: string): Promise<void> {
    // What is shown of a disk makes no difference here: it is enough that something is.
    if (this.#points.has(source)) this.#fs.mount(target);
    else this.#fs.bind(source, target);
    this.#mounted(source, target, 'bound');
  }

  async rebind(): Promise<void> {
    // What a mount may be used for makes no difference here.
  }

  /** The machine was off. */
  reboot(): void {
    for (const target of [...this.#points.keys()].toReversed()) this.#fs.unmount(target);
    for (const target of this.#points.keys()) this.#tell({ target, source: undefined });
    this.#points.clear();
  }

  async unmount(target: string): Promise<void> {
    this.#fs.unmount(target);
    this.#points.delete(target);
    this.#tell({ target, source: undefined });
  }

  #mounted(source: string, target: string, fsType: string): void {
    this.#points.set(target, fsType);
    this.#tell({ target, source });
  }
}
