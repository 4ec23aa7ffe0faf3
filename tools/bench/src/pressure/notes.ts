import { readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** What pods leave of themselves: files in a directory of the host. */
export class Notes {
  readonly directory: string;

  constructor(directory: string) {
    this.directory = directory;
  }

  /** Tells a pod to begin. */
  async go(name: string): Promise<void> {
    await writeFile(join(this.directory, `go-${name}`), '');
  }

  /** The pods that left a note of this kind, in the order in which they did, with the wall clock of it. */
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
