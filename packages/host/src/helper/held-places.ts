import type { FileHandle } from 'node:fs/promises';
import { statOf } from '../file-stat.ts';
import { onLinux } from '../mount-id.ts';
import { holdBeneath } from '../open-checked.ts';
import { type HelperCalls, HOLD_MS } from './protocol.ts';

/** Files, directories and devices that a helper process holds for its parent. */
export class HeldPlaces {
  readonly #places = new Map<string, { readonly file: FileHandle; readonly timer: NodeJS.Timeout }>();
  #count = 0;

  get size(): number {
    return this.#places.size;
  }

  async hold(directory: string, path: string, makeDirectories: boolean): Promise<HelperCalls['holdBeneath']['value']> {
    const file = await holdBeneath(directory, path, { makeDirectories, crossMounts: true });
    const id = `${process.pid}-${this.#count++}`;
    const timer = setTimeout(() => void this.release(id), HOLD_MS);
    this.#places.set(id, { file, timer });
    try {
      const handle = onLinux ? `/proc/${process.pid}/fd/${file.fd}` : `${directory}/${path}`;
      return { id, handle, stat: statOf(await file.stat()) };
    } catch (error) {
      await this.release(id);
      throw error;
    }
  }

  async release(id: string): Promise<void> {
    const place = this.#places.get(id);
    if (place === undefined) return;
    this.#places.delete(id);
    clearTimeout(place.timer);
    await place.file.close();
  }
}
