import { messages } from '@node-agent/cri-client';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { diskUsage, neediest } from '../src/disk-usage.ts';
import { formatSize } from '../src/format-size.ts';
import {
  expiredImages,
  type ImageRecord,
  imagesInUse,
  imagesToFree,
  listedImage,
  observeImages,
  planRemoval,
  removalOrder,
} from '../src/index.ts';
import { checkPolicy, collectsAnything, defaultPolicy } from '../src/policy.ts';

function record(id: string, more: Partial<ImageRecord> = {}): ImageRecord {
  const image = { id, key: id, runtimeHandler: '', names: [], sizeBytes: 10, pinned: false };
  return { ...image, inUse: false, firstDetectedMs: 0, lastUsedMs: undefined, ...more };
}

const ids = (records: readonly ImageRecord[]): string[] => records.map(({ id }) => id);

describe('imagesInUse', () => {
  const digest = `sha256:${'d'.repeat(64)}`;
  const images = [
    { id: 'sha256:a', names: ['docker.io/library/app:v1', `docker.io/library/app@${digest}`] },
    { id: 'sha256:b', names: ['registry.local:5000/team/app:latest'] },
  ];

  it.each<[string, string[][], string[]]>([
    ['an id', [['sha256:a']], ['sha256:a']],
    ['an id without its algorithm', [['a']], ['sha256:a']],
    ['a tag with its registry', [['docker.io/library/app:v1']], ['sha256:a']],
    ['a tag without its registry', [['app:v1']], ['sha256:a']],
    ['a digest', [[`app@${digest}`]], ['sha256:a']],
    ['a name without a tag to the tag latest', [['registry.local:5000/team/app']], ['sha256:b']],
    ['an unknown tag to no image', [['app:v2']], []],
    ['empty names to no image', [['', '']], []],
    ['an invalid image name to no image', [['NOT AN IMAGE']], []],
    ['an ID before a tag that has moved to another image', [['sha256:b', '', 'app:v1']], ['sha256:b']],
    ['a tag if the ID no longer exists', [['sha256:gone', '', 'app:v1']], ['sha256:a']],
    ['the images of several users', [['sha256:b'], ['app:v1'], ['sha256:b']], ['sha256:a', 'sha256:b']],
  ])('imagesInUse resolves %s', (_title, users, expected) => {
    expect([...imagesInUse(images, users)].sort()).toEqual(expected);
  });
});

describe('listedImage', () => {
  it('listedImage converts an image of the CRI with all its names', () => {
    const { Image } = messages;
    const names = { repoTags: ['app:v1'], repoDigests: ['app@sha256:d'] };
    const image = Image.create({ id: 'a', ...names, size: 7, pinned: true, spec: { runtimeHandler: 'vm' } });
    const listed = { id: 'a', runtimeHandler: 'vm', names: ['app:v1', 'app@sha256:d'], sizeBytes: 7, pinned: true };
    expect(listedImage(image)).toEqual(listed);
    for (const size of [Number.NaN, -1, Number.POSITIVE_INFINITY]) {
      expect(listedImage({ ...image, size })).toMatchObject({ sizeBytes: 0 });
    }
    expect(listedImage(Image.create({ id: 'b' }))).toMatchObject({ runtimeHandler: '', names: [], sizeBytes: 0 });
  });
});

describe('observeImages', () => {
  const image = { id: 'a', runtimeHandler: '', names: [], sizeBytes: 5, pinned: false };

  it('observeImages sets the detection time of a new image to now, and keeps the detection time of a known image', () => {
    const first = observeImages(new Map(), [image], new Set(), 100);
    expect(first.get('a')).toMatchObject({ firstDetectedMs: 100, lastUsedMs: undefined, inUse: false });
    const second = observeImages(first, [{ ...image, sizeBytes: 6, pinned: true }], new Set(['a']), 200);
    expect(second.get('a')).toMatchObject({ firstDetectedMs: 100, lastUsedMs: 200, inUse: true, sizeBytes: 6 });
    expect(observeImages(second, [image], new Set(), 300).get('a')).toMatchObject({ lastUsedMs: 200, inUse: false });
  });

  it('observeImages drops an image that no longer exists, so that it counts as new if it is pulled again', () => {
    const first = observeImages(new Map(), [image], new Set(['a']), 100);
    const gone = observeImages(first, [], new Set(), 200);
    expect(gone.size).toBe(0);
    expect(observeImages(gone, [image], new Set(), 300).get('a')).toMatchObject({ firstDetectedMs: 300 });
  });

  it('observeImages distinguishes the images of two runtime handlers, and marks a used image as used for both', () => {
    const both = [image, { ...image, runtimeHandler: 'vm' }];
    const records = observeImages(new Map(), both, new Set(['a']), 1);
    expect([...records].map(([key, { inUse }]) => [key, inUse])).toEqual([
      ['a', true],
      ['a,vm', true],
    ]);
  });
});

describe('removalOrder', () => {
  it('N4: removalOrder omits used and pinned images, and sorts by longest unused, then first detected, then key', () => {
    const order = removalOrder([
      record('used', { inUse: true, lastUsedMs: 1 }),
      record('pinned', { pinned: true }),
      record('late', { lastUsedMs: 9 }),
      record('early', { lastUsedMs: 3, firstDetectedMs: 2 }),
      record('early-seen-first', { lastUsedMs: 3, firstDetectedMs: 1 }),
      record('never-b'),
      record('never-a'),
    ]);
    expect(ids(order)).toEqual(['never-a', 'never-b', 'early-seen-first', 'early', 'late']);
  });
});

describe('expiredImages', () => {
  it.each<[string, Partial<ImageRecord>, boolean]>([
    ['was used just now', { lastUsedMs: 1000 }, false],
    ['was used exactly one maximum age ago', { lastUsedMs: 900 }, false],
    ['was used longer ago than the maximum age', { lastUsedMs: 899 }, true],
    ['was never used, and detected recently', { firstDetectedMs: 950 }, false],
    ['was never used, and detected long ago', { firstDetectedMs: 899 }, true],
    ['was last used before this process started', { firstDetectedMs: -9000, lastUsedMs: -500 }, true],
    ['was used, removed, and detected again recently', { firstDetectedMs: 950, lastUsedMs: 10 }, false],
  ])('expiredImages of an image that %s contains the image: $2', (_title, times, expired) => {
    expect(expiredImages([record('a', times)], 1000, 100)).toHaveLength(expired ? 1 : 0);
  });

  it('expiredImages returns no image if the maximum age is 0', () => {
    expect(expiredImages([record('a', { firstDetectedMs: -1e12 })], 0, 0)).toEqual([]);
  });
});

describe('imagesToFree', () => {
  const order = [record('a'), record('young', { firstDetectedMs: 90 }), record('b'), record('c')];

  it.each<[number, string[]]>([
    [0, []],
    [-5, []],
    [1, ['a']],
    [10, ['a']],
    [11, ['a', 'b']],
    [Number.POSITIVE_INFINITY, ['a', 'b', 'c']],
  ])('imagesToFree frees %d bytes with the images %j, and skips images that are too young', (bytes, expected) => {
    expect(ids(imagesToFree(order, bytes, 100, 20))).toEqual(expected);
  });

  const anyRecord = fc
    .record({
      id: fc.string({ minLength: 1 }),
      sizeBytes: fc.nat(100),
      pinned: fc.boolean(),
      inUse: fc.boolean(),
      firstDetectedMs: fc.integer({ min: -100, max: 100 }),
      lastUsedMs: fc.option(fc.integer({ min: -100, max: 100 }), { nil: undefined }),
    })
    .map(({ id, ...more }) => record(id, more));
  const anyRecords = fc.uniqueArray(anyRecord, { selector: ({ id }) => id });

  it('N4: imagesToFree returns enough images or all removable ones, never more than necessary, and no used, pinned or young image', () => {
    fc.assert(
      fc.property(anyRecords, fc.nat(500), fc.nat(150), (records, bytes, minAgeMs) => {
        const candidates = removalOrder(records);
        const chosen = imagesToFree(candidates, bytes, 100, minAgeMs);
        const mayGo = records.filter((it) => !it.inUse && !it.pinned && 100 - it.firstDetectedMs >= minAgeMs);
        const sum = (some: readonly ImageRecord[]): number => some.reduce((total, it) => total + it.sizeBytes, 0);
        expect(mayGo).toEqual(expect.arrayContaining([...chosen]));
        expect(sum(chosen) >= bytes || chosen.length === mayGo.length).toBe(true);
        expect(chosen.length === 0 || sum(chosen.slice(0, -1)) < bytes).toBe(true);
      }),
    );
  });

  it('removalOrder does not depend on the order in which the runtime lists images', () => {
    fc.assert(
      fc.property(
        anyRecords.chain((records) =>
          fc.tuple(fc.constant(records), fc.shuffledSubarray(records, { minLength: records.length })),
        ),
        ([records, shuffled]) => {
          expect(removalOrder(shuffled)).toEqual(removalOrder(records));
        },
      ),
    );
  });
});

describe('diskUsage', () => {
  const thresholds = { highThresholdPercent: 85, lowThresholdPercent: 80 };
  it.each<[string, number, number, number, number]>([
    ['below the high threshold', 1000, 160, 84, 0],
    ['at the high threshold after rounding up', 1000, 159, 85, 41],
    ['full', 1000, 0, 100, 200],
    ['empty', 1000, 1000, 0, 0],
    ['with more available space than capacity', 1000, 2000, 0, 0],
    ['with a size of 0', 0, 0, 0, 0],
    ['of a petabyte', 2 ** 50, 2 ** 47, 88, Math.trunc(2 ** 50 / 5) - 2 ** 47],
  ])(
    'diskUsage computes percentage and bytes to free of a disk %s',
    (_title, totalBytes, availableBytes, usagePercent, bytesToFree) => {
      expect(diskUsage({ totalBytes, availableBytes }, thresholds)).toMatchObject({ usagePercent, bytesToFree });
    },
  );

  it('bytesToFree brings the disk to the low threshold', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 2 ** 45 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (totalBytes, free) => {
          const availableBytes = Math.trunc(totalBytes * free);
          const { bytesToFree } = diskUsage({ totalBytes, availableBytes }, thresholds);
          const after = diskUsage({ totalBytes, availableBytes: availableBytes + bytesToFree }, thresholds);
          expect(after.bytesToFree).toBe(0);
        },
      ),
    );
  });

  it('neediest returns the disk with the most bytes to free', () => {
    const sizes = [100, 0, 50].map((availableBytes) => ({ totalBytes: 1000, availableBytes }));
    expect(neediest(sizes.map((size) => diskUsage(size, thresholds)))?.bytesToFree).toBe(200);
    expect(neediest([])).toBeUndefined();
    // If no disk needs space, the first one is returned.
    const idle = [900, 800].map((availableBytes) => diskUsage({ totalBytes: 1000, availableBytes }, thresholds));
    expect(neediest(idle)?.usagePercent).toBe(10);
  });

  it('diskUsage handles a disk of one byte, a disk of 0 bytes and a negative available space', () => {
    const of = (totalBytes: number, availableBytes: number) => diskUsage({ totalBytes, availableBytes }, thresholds);
    expect(of(0, 5)).toEqual({ capacityBytes: 0, availableBytes: 0, usagePercent: 0, bytesToFree: 0 });
    expect(of(1, 0)).toMatchObject({ capacityBytes: 1, usagePercent: 100 });
    expect([of(10, 0).usagePercent, of(10, -5).usagePercent]).toEqual([100, 100]);
  });
});

it.each([
  [512, '512 B'],
  [1024, '1.0 KiB'],
  [1024 ** 2 - 1, '1024.0 KiB'],
  [1024 ** 2, '1.0 MiB'],
  [1.5 * 1024 ** 2, '1.5 MiB'],
  [20 * 1024 ** 3, '20.0 GiB'],
  // A half is rounded to the even digit, as in Go.
  [10.25 * 1024 ** 3, '10.2 GiB'],
  [10.75 * 1024 ** 3, '10.8 GiB'],
  [1.35 * 1024 ** 3, '1.4 GiB'],
  [2048 * 1024 ** 4, '2048.0 TiB'],
])('formatSize formats %d bytes as %s', (bytes, text) => {
  expect(formatSize(bytes)).toBe(text);
});

it('image GC defaults are upstream’s: high threshold 85 %, low threshold 80 %, minimum image age 2 minutes', () => {
  expect(defaultPolicy).toEqual({
    highThresholdPercent: 85,
    lowThresholdPercent: 80,
    minAgeMs: 120_000,
    maxAgeMs: 0,
  });
});

it.each([
  [{ highThresholdPercent: 101 }, 'highThresholdPercent 101 must be a whole number from 0 to 100'],
  [{ lowThresholdPercent: Number.NaN }, 'lowThresholdPercent NaN must be a whole number from 0 to 100'],
  [{ lowThresholdPercent: 80.5 }, 'lowThresholdPercent 80.5 must be a whole number from 0 to 100'],
  [{ lowThresholdPercent: 90 }, 'lowThresholdPercent 90 must not be higher than highThresholdPercent 85'],
  [{ minAgeMs: -1 }, 'minAgeMs -1 must not be negative'],
  [{ highThresholdPercent: -1 }, 'highThresholdPercent -1 must be a whole number from 0 to 100'],
  [{ maxAgeMs: -1 }, 'maxAgeMs -1 must not be negative'],
  [{ maxAgeMs: 1 }, 'maxAgeMs 1 must be greater than minAgeMs 120000'],
  [{ maxAgeMs: 120_000 }, 'maxAgeMs 120000 must be greater than minAgeMs 120000'],
])('checkPolicy rejects the policy %j', (policy, message) => {
  expect(() => checkPolicy({ ...defaultPolicy, ...policy })).toThrow(
    expect.objectContaining({ code: 'InvalidOptions', message }),
  );
});

it.each([
  {},
  { highThresholdPercent: 0, lowThresholdPercent: 0 },
  { highThresholdPercent: 100, lowThresholdPercent: 100 },
  { highThresholdPercent: 85, lowThresholdPercent: 85 },
  { minAgeMs: 0, maxAgeMs: 1 },
])('checkPolicy accepts the policy %j', (policy) => {
  expect(() => checkPolicy({ ...defaultPolicy, ...policy })).not.toThrow();
});

it.each([
  [85, 0, true],
  [99, 0, true],
  [100, 0, false],
  [100, 1, true],
  [85, 1, true],
])(
  'with a high threshold of %d %% and a maximum age of %d ms, collectsAnything returns %j',
  (highThresholdPercent, maxAgeMs, any) => {
    expect(collectsAnything({ ...defaultPolicy, highThresholdPercent, maxAgeMs })).toBe(any);
  },
);

describe('planRemoval', () => {
  const policy = { minAgeMs: 20, maxAgeMs: 100 };
  const records = [
    record('pinned', { pinned: true }),
    record('used', { inUse: true, lastUsedMs: 200 }),
    record('young', { firstDetectedMs: 190 }),
    record('next', { firstDetectedMs: 120 }),
    record('spare', { firstDetectedMs: 130 }),
    record('old', { lastUsedMs: 90 }),
  ];
  const told = (bytes: number): string[] =>
    planRemoval(records, bytes, 200, policy).map(({ image, verdict }) => `${image.id} ${verdict.goes} ${verdict.why}`);

  it('planRemoval returns the decision and reason for each image, in the order of removal', () => {
    expect(told(11)).toEqual([
      ...['old true age', 'next true space', 'spare false enough', 'young false young'],
      ...['pinned false pinned', 'used false used'],
    ]);
    expect(told(0)).toContain('next false enough');
  });

  it('N4: planRemoval contains each image once, and removes no used or pinned image', () => {
    const anyRecord = fc.record({
      pinned: fc.boolean(),
      inUse: fc.boolean(),
      sizeBytes: fc.nat(20),
      firstDetectedMs: fc.nat(200),
      lastUsedMs: fc.option(fc.nat(200), { nil: undefined }),
    });
    fc.assert(
      fc.property(fc.array(anyRecord, { maxLength: 8 }), fc.nat(100), (drawn, bytes) => {
        const all = drawn.map((more, index) => record(`i${index}`, more));
        const plan = planRemoval(all, bytes, 200, policy);
        expect(ids(plan.map(({ image }) => image)).sort()).toEqual(ids(all).sort());
        for (const { image, verdict } of plan) expect(verdict.goes && (image.inUse || image.pinned)).toBe(false);
      }),
    );
  });
});
