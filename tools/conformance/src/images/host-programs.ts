import { execFile } from 'node:child_process';
import { access, readFile, realpath } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import type { TarEntry } from '@node-agent/tools-containerd';

const exec = promisify(execFile);
const DIRECTORIES = ['/usr/local/bin', '/usr/bin', '/bin', '/usr/sbin', '/sbin'];

/** Returns the files that `ldd` lists for a program: its libraries and the dynamic loader. */
export function librariesIn(ldd: string): readonly string[] {
  return [...ldd.matchAll(/(?:=> )?(\/\S+) \(0x[0-9a-f]+\)/g)].flatMap(([, path]) =>
    path === undefined ? [] : [path],
  );
}

/** Returns the path of a program on this machine; `undefined` if the program is not installed. */
async function which(name: string): Promise<string | undefined> {
  for (const directory of DIRECTORIES) {
    const path = join(directory, name);
    if (
      await access(path).then(
        () => true,
        () => false,
      )
    )
      return path;
  }
  return undefined;
}

/** Content of a layer, and the paths of programs in it that the machine does not have. */
export interface LayerContent {
  readonly entries: readonly TarEntry[];
  readonly missing: readonly string[];
}

/**
 * Returns programs of this machine with their libraries as image entries: each program at its target path, each library
 * where the loader looks for it.
 * @param targets paths in the image
 * @returns the entries, and the paths of programs that the machine does not have
 */
export async function hostPrograms(targets: readonly string[]): Promise<LayerContent> {
  const entries: TarEntry[] = [];
  const missing: string[] = [];
  for (const target of targets) {
    const path = await which(basename(target));
    if (path === undefined) {
      missing.push(target);
      continue;
    }
    entries.push(...(await programEntries(target, path)));
  }
  const unique = new Map(entries.map((entry) => [entry.path, entry]));
  return { entries: [...unique.values()], missing };
}

/** Returns a program of this machine and its libraries as image entries. @param target path in the image */
export async function programEntries(target: string, path: string): Promise<readonly TarEntry[]> {
  const { stdout } = await exec('ldd', [path]);
  const files = [
    [target, path] as const,
    ...librariesIn(stdout).map((library) => [library.slice(1), library] as const),
  ];
  return Promise.all(
    files.map(async ([inImage, source]) => ({
      path: inImage,
      mode: 0o755,
      data: new Uint8Array(await readFile(await realpath(source))),
    })),
  );
}

/** Inserts the parent directories of entries, each once, before the entries. */
export function withDirectories(entries: readonly TarEntry[]): readonly TarEntry[] {
  const known = new Set<string>();
  return entries.flatMap((entry) => {
    const parents = entry.path.split('/').slice(0, -1);
    const added = parents.flatMap((_, depth): TarEntry[] => {
      const path = parents.slice(0, depth + 1).join('/');
      if (known.has(path)) return [];
      known.add(path);
      return [{ path, mode: 0o755 }];
    });
    if (entry.data === undefined && entry.link === undefined) {
      if (known.has(entry.path)) return added;
      known.add(entry.path);
    }
    return [...added, entry];
  });
}
