import type { Dirent, Stats } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { entryOf, kindOf, statOf } from '../src/file-stat.ts';

const KINDS = {
  file: 'isFile',
  directory: 'isDirectory',
  symlink: 'isSymbolicLink',
  socket: 'isSocket',
  fifo: 'isFIFO',
  blockDevice: 'isBlockDevice',
  charDevice: 'isCharacterDevice',
} as const;
const entry = (kind: keyof typeof KINDS): Dirent<Buffer> => {
  const asked = Object.values(KINDS).map((name) => [name, () => name === KINDS[kind]] as const);
  return { ...Object.fromEntries(asked), name: Buffer.from([0x61, 0x80]) } as unknown as Dirent<Buffer>;
};

describe('kind of a directory entry', () => {
  test.each(Object.keys(KINDS) as readonly (keyof typeof KINDS)[])('statOf returns the kind %s', (kind) => {
    expect(kindOf(entry(kind))).toBe(kind);
    expect(entryOf(entry(kind))).toEqual({ name: 'a\udc80', kind });
  });

  test('statOf counts blocks of 512 bytes, and omits the file type from the mode', () => {
    const stats = { size: 5, blocks: 8, mode: 0o107755, uid: 1, gid: 2, mtimeMs: 3.5, ino: 6, dev: 7 };
    expect(statOf({ ...entry('fifo'), ...stats } as unknown as Stats)).toEqual({
      ...{ kind: 'fifo', sizeBytes: 5, allocatedBytes: 4096, mode: 0o7755, uid: 1, gid: 2 },
      ...{ modifiedAtMs: 3.5, inode: 6, device: 7 },
    });
  });
});
