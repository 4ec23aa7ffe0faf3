import { FakeClock } from '@node-agent/async/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { MountedTypes } from '../src/mount/mounted-types.ts';

let clock: FakeClock;
let ids: Map<string, string>;
let points: Map<string, string>;
let reads: number;
/** The recorded file system calls. */
let asked: string[];
let types: MountedTypes;

beforeEach(() => {
  clock = new FakeClock();
  ids = new Map([
    ['/pods', '1'],
    ['/pods/a', '205'],
    ['/pods/b', '206'],
  ]);
  points = new Map([
    ['/pods/a', 'tmpfs'],
    ['/pods/b', 'hugetlbfs'],
  ]);
  reads = 0;
  asked = [];
  let table: ReadonlyMap<string, string> = new Map();
  types = new MountedTypes({
    clock,
    fs: {
      async realpath(path) {
        asked.push(`realpath ${path}`);
        return path;
      },
      async mountId(path) {
        asked.push(`mountId ${path}`);
        return ids.get(path) ?? '1';
      },
    },
    mounter: {
      async mountPoints() {
        reads += 1;
        const isSame = [...table].join() === [...points].join();
        if (!isSame) table = new Map(points);
        return table;
      },
    },
  });
});

describe('MountedTypes', () => {
  it('W6: detects a new mount at the same path even if the kernel reused the old mount ID', async () => {
    expect(await types.at('/pods/a')).toBe('tmpfs');
    points.set('/pods/a', 'fuse.hang');
    await clock.advance(1000);
    expect(await types.at('/pods/a')).toBe('fuse.hang');
  });

  it('detects a replaced mount immediately by its mount ID, even if the mount is newer than the cached mount table', async () => {
    expect(await types.at('/pods/a')).toBe('tmpfs');
    ids.set('/pods/a', '207').set('/pods/c', '208');
    points.set('/pods/a', 'fuse.hang').set('/pods/c', 'tmpfs');
    expect(await types.at('/pods/a')).toBe('fuse.hang');
    expect(await types.at('/pods/c')).toBe('tmpfs');
    expect(await types.at('/pods/d')).toBeUndefined();
  });

  it('reads the mount table once for all lookups within a second, and not at all if no path is mounted', async () => {
    expect(await types.at('/pods/d')).toBeUndefined();
    expect(reads).toBe(0);
    for (let round = 0; round < 3; round++) {
      expect([await types.at('/pods/a'), await types.at('/pods/b')]).toEqual(['tmpfs', 'hugetlbfs']);
    }
    expect(reads).toBe(1);
    types.forget();
    expect(await types.at('/pods/a')).toBe('tmpfs');
    expect(reads).toBe(2);
  });

  it("checks each mount's ID once per minute while the mount table is unchanged", async () => {
    const minutes = 10;
    for (let minute = 0; minute < minutes; minute++) {
      for (const directory of ['/pods/a', '/pods/b']) expect(await types.at(directory)).toBe(points.get(directory));
      if (minute === 0) asked.length = 0;
      await clock.advance(60_000);
    }
    expect(new Set(asked)).toEqual(new Set(['mountId /pods/a', 'mountId /pods/b']));
    expect(asked).toHaveLength((minutes - 1) * 2);
    expect(reads).toBe(minutes);
  });
});
