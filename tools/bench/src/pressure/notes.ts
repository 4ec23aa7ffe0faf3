import { readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Files in a host directory through which the test communicates with pods. */
export class Notes {
  readonly directory: string;

  constructor(directory: string) {
    this.directory = directory;
  }

  /** Makes a pod start its harm. */
  async go(name: string): Promise<void> {
    await writeFile(join(this.directory, `go-${name}`), '');
  }

  /**
   * Returns the pods that created a file of this kind, each with the file's modification time, in the order of these
   * times.
   */
  async left(kind: 'term' | 'failed'): Promise<readonly (readonly [name: string, atMs: number])[]> {
    const files = (await readdir(this.directory)).filter((file) => file.startsWith(`${kind}-`));
    const notes = await Promise.all(
      files.map(
        async (file) => [file.slice(kind.length + 1), (await stat(join(this.directory, file))).mtimeMs] as const,
      ),
    );
    return notes.toSorted(([, a], [, b]) => a - b);
  }

  async clear(): Promise<void> {
    for (const file of await readdir(this.directory)) await rm(join(this.directory, file));
  }
}
