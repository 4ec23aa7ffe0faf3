import { existsSync, readdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { NodeHeldDirectory } from '../src/held-directory.ts';
import { nodeFileSystem as fs } from '../src/index.ts';

let root: string;
const at = (path: string): string => join(root, path);
const codeOf = (work: Promise<unknown>): Promise<string> => work.then(String, ({ code }) => code);

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'descriptors-'));
});

afterEach(() => rm(root, { recursive: true }));

/** Works that open files and directories by descriptor, and their results. */
const works: readonly (readonly [string, () => Promise<unknown>, unknown])[] = [
  ['an atomic write', () => fs.writeFileAtomic(at('file'), 'x', { mode: 0o600 }), undefined],
  ['an atomic write to the name of a directory', () => codeOf(fs.writeFileAtomic(at('full'), 'x')), 'EISDIR'],
  ['an atomic write in a missing directory', () => codeOf(fs.writeFileAtomic(at('missing/file'), 'x')), 'ENOENT'],
  ['an atomic write below a file', () => codeOf(fs.writeFileAtomic(at('plain/file'), 'x')), 'ENOTDIR'],
  ['a write', () => fs.writeFile(at('other'), 'x'), undefined],
  ['a write to a full disk', () => codeOf(fs.writeFile('/dev/full', 'x')), 'ENOSPC'],
  ['the removal of a tree', () => fs.mkdir(at('tree/a/b')).then(() => fs.removeAll(at('tree'))), undefined],
  ['a removal that finds a mount point', () => enterMount(), 'EBUSY'],
];

async function enterMount(): Promise<string> {
  const directory = await NodeHeldDirectory.open('/', '/');
  try {
    return await codeOf(directory.enter('proc'));
  } finally {
    await directory.close();
  }
}

describe.skipIf(!existsSync('/proc/self/fd'))('descriptors', () => {
  it.each(works)('K4: %s leaves no descriptor open', async (_what, work, result) => {
    await fs.mkdir(at('full/below'));
    await fs.writeFile(at('plain'), '');
    await work();
    const before = readdirSync('/proc/self/fd').length;
    for (let round = 0; round < 20; round++) expect(await work()).toBe(result);
    expect(readdirSync('/proc/self/fd').length).toBeLessThan(before + 10);
  });

  it('a second close of a held directory leaves the next file with its descriptor open', async () => {
    const first = await NodeHeldDirectory.open(root, root);
    await first.close();
    const second = await NodeHeldDirectory.open(root, root);
    await first.close();
    expect(await second.next()).toEqual([]);
    await second.close();
  });
});
