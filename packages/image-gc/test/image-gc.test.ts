import { messages } from '@node-agent/cri-client';
import { describe, expect, it } from 'vitest';
import { GiB, makeWorld, runPod, withCalls } from './world.ts';

const { signal } = new AbortController();

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const PAUSE = 'registry.k8s.io/pause:3.10';

const images = (...names: string[]) => names.map((name) => ({ tags: [name], content: name, sizeBytes: 10 * GiB }));

describe('disk usage', () => {
  it('garbageCollect removes nothing below the high threshold', async () => {
    const world = await makeWorld(images('a', 'b'));
    world.otherBytes = 50 * GiB;
    const gc = world.gc();
    await gc.garbageCollect(signal);
    await world.clock.advance(HOUR);
    await gc.garbageCollect(signal);
    expect(await world.present()).toEqual(['a:latest', 'b:latest', 'busybox:latest', PAUSE]);
    expect(world.lines).toEqual([]);
  });

  it('update applies a new policy to the next collection, and keeps the old policy if the new one is invalid', async () => {
    const world = await makeWorld(images('a', 'b'));
    world.otherBytes = 50 * GiB;
    const gc = world.gc();
    await gc.garbageCollect(signal);
    await world.clock.advance(HOUR);
    expect(() => gc.update({ highThresholdPercent: 10, lowThresholdPercent: 20 })).toThrow();
    await gc.garbageCollect(signal);
    expect(await world.present()).toHaveLength(4);
    gc.update({ highThresholdPercent: 60, lowThresholdPercent: 55, minAgeMs: 0 });
    await gc.garbageCollect(signal);
    expect((await world.present()).filter((name) => /^[ab]:/.test(name))).toEqual([]);
  });

  it('if the usage is above the high threshold, garbageCollect removes the longest unused images until the low threshold is reached', async () => {
    const world = await makeWorld(images('old', 'used-later', 'used'));
    await runPod(world, 'p', 'used');
    const later = await runPod(world, 'q', 'used-later');
    const gc = world.gc();
    const stop = new AbortController();
    const watching = gc.start(stop.signal);
    await world.clock.advance(HOUR);
    await world.cri.removeContainer({ containerId: later });
    world.otherBytes = 58 * GiB;
    await gc.garbageCollect(signal);
    // 88 % of the disk are used, so 8 GiB must be freed. The busybox image is removed as well, because it frees almost
    // nothing.
    expect(await world.present()).toEqual([PAUSE, 'used-later:latest', 'used:latest'].sort());
    expect(world.metrics.text()).toContain('kubelet_image_garbage_collected_total{reason="space"} 2');
    world.otherBytes = 68 * GiB;
    await gc.garbageCollect(signal);
    expect(await world.present()).toEqual([PAUSE, 'used:latest'].sort());
    stop.abort();
    await world.clock.advance(0);
    await watching;
  });

  it('garbageCollect stops early if removals have freed more disk space than the sizes that the runtime reports', async () => {
    const world = await makeWorld(images('a', 'b', 'c'));
    const gc = world.gc();
    await world.clock.advance(HOUR);
    await gc.deleteUnusedImages(signal, 0);
    await world.clock.advance(HOUR);
    world.truth = 3;
    // 92 % of the disk are used, so 12 GiB must be freed. According to the image sizes, both a and b must be removed;
    // on the disk, a alone frees enough.
    world.otherBytes = 2 * GiB;
    await gc.garbageCollect(signal);
    expect((await world.present()).filter((name) => /^[abc]:/.test(name))).toHaveLength(2);
  });

  it('garbageCollect reports an event if removing all removable images does not free enough space', async () => {
    const world = await makeWorld(images('a'));
    world.otherBytes = 95 * GiB;
    const gc = world.gc({ minAgeMs: 0 });
    const message =
      "Insufficient free disk space on the node's image filesystem (100% of 100.0 GiB used). Failed to free sufficient space by " +
      `deleting unused images (freed ${10 * GiB + 4_261_550} bytes). Investigate disk usage, as it could be used by active images, logs, volumes, or other data.`;
    await expect(gc.garbageCollect(signal)).rejects.toMatchObject({ code: 'InsufficientSpace' });
    expect(world.events).toHaveLength(1);
    expect(world.events[0]?.replace(/freed \d+ bytes/, '')).toBe(
      `Warning FreeDiskSpaceFailed ${message}`.replace(/freed \d+ bytes/, ''),
    );
    expect(await world.present()).toEqual([PAUSE]);
  });

  it('garbageCollect reports an event for a disk with a size of 0, and removes nothing', async () => {
    const world = await makeWorld(images('a'));
    const gc = world.gc({}, { disks: { statfs: async () => ({ totalBytes: 0, availableBytes: 0 }) } });
    await expect(gc.garbageCollect(signal)).rejects.toMatchObject({ code: 'InvalidCapacity' });
    expect(world.events).toEqual(['Warning InvalidDiskCapacity invalid capacity 0 on image filesystem']);
  });

  it('garbageCollect throws an ImageGcError if a disk cannot be read, and removes nothing', async () => {
    const world = await makeWorld();
    const cause = Object.assign(new Error('EIO: i/o error'), { code: 'EIO' });
    const failing = async (): Promise<never> => {
      throw cause;
    };
    const gc = world.gc({ minAgeMs: 0 }, { disks: { statfs: failing } });
    const told = { name: 'ImageGcError', code: 'Unavailable', message: expect.stringContaining('EIO'), cause };
    await expect(gc.garbageCollect(signal)).rejects.toMatchObject(told);
    await expect(gc.plan(signal)).rejects.toMatchObject(told);
    expect(await world.present()).toEqual(['busybox:latest', PAUSE]);
  });

  it('garbageCollect throws an error if the runtime does not report where its images are', async () => {
    const { cri, gc } = await makeWorld();
    const mute = withCalls(cri, { imageFsInfo: async () => ({ imageFilesystems: [], containerFilesystems: [] }) });
    await expect(gc({}, { cri: mute }).garbageCollect(signal)).rejects.toMatchObject({
      code: 'Unavailable',
      message: 'imageFs information is unavailable',
    });
  });

  it('garbageCollect reads the usage of each image file system once, and not of container file systems', async () => {
    const world = await makeWorld();
    const usage = (mountpoint: string) => messages.FilesystemUsage.create({ fsId: { mountpoint } });
    const asked: string[] = [];
    const imageFilesystems = ['/i', '/i', '/j'].map(usage);
    const cri = withCalls(world.cri, {
      imageFsInfo: async () => ({ imageFilesystems, containerFilesystems: [usage('/c')] }),
    });
    const disks = {
      async statfs(path: string) {
        asked.push(path);
        return { totalBytes: 100, availableBytes: 50 };
      },
    };
    await world.gc({}, { cri, disks }).garbageCollect(signal);
    expect(asked).toEqual(['/i', '/j']);
  });
});

describe('N4: images that are never removed', () => {
  it('keeps images of a dead container, an image volume and a sandbox, and a pinned image', async () => {
    const world = await makeWorld([...images('dead', 'volume', 'free'), { tags: ['pinned'], pinned: true }]);
    const id = await runPod(world, 'p', 'dead', 'volume');
    await world.cri.startContainer({ containerId: id });
    world.cri.killContainer(id);
    await world.clock.advance(1);
    const gc = world.gc({ minAgeMs: 0 });
    const freed = await gc.deleteUnusedImages(signal);
    expect(freed).toBeGreaterThanOrEqual(10 * GiB);
    expect(await world.present()).toEqual(['dead:latest', 'pinned:latest', PAUSE, 'volume:latest']);
  });

  it('keeps the image of a sandbox that the runtime does not pin', async () => {
    const world = await makeWorld();
    await runPod(world, 'p', 'busybox');
    const unpinned = withCalls(world.cri, {
      async listImages() {
        const { images: listed } = await world.cri.listImages({});
        return { images: listed.map((image) => ({ ...image, pinned: false })) };
      },
    });
    await world.gc({ minAgeMs: 0 }, { cri: unpinned }).deleteUnusedImages(signal);
    expect(await world.present()).toEqual(['busybox:latest', PAUSE]);
  });

  it('keeps an image that is being pulled', async () => {
    const world = await makeWorld(images('first', 'second'));
    await world.gc({ minAgeMs: 0 }, { demand: () => ['first'] }).deleteUnusedImages(signal);
    expect(await world.present()).toEqual(['first:latest', PAUSE]);
  });

  it('keeps an image for which a pull or container is requested between the survey and the removal', async () => {
    const world = await makeWorld(images('first'));
    const answers = [[], ['first', 'busybox']];
    const demand = () => answers.shift() ?? ['first', 'busybox'];
    expect(await world.gc({ minAgeMs: 0 }, { demand }).deleteUnusedImages(signal)).toBe(0);
    expect(await world.present()).toEqual(['busybox:latest', 'first:latest', PAUSE]);
  });

  it('keeps an image from which a container was created while other images were removed', async () => {
    const world = await makeWorld(images('x1', 'x2', 'x3'));
    let made = false;
    const cri = withCalls(world.cri, {
      async removeImage(request) {
        for (const one of made ? [] : ['x1', 'x2', 'x3', 'busybox']) {
          const { image } = await world.cri.imageStatus({ image: { image: one } });
          if (image?.id !== request.image?.image) await runPod(world, one, one);
        }
        made = true;
        return await world.cri.removeImage(request);
      },
    });
    await world.gc({ minAgeMs: 0 }, { cri }).deleteUnusedImages(signal);
    expect(await world.present()).toHaveLength(4);
  });

  it('does not remove an image without an ID, and reports it once per collection unless it is pinned', async () => {
    const world = await makeWorld(images('a'));
    const removed: unknown[] = [];
    const cri = withCalls(world.cri, {
      async removeImage(request) {
        removed.push(request.image?.image);
        return {};
      },
      async listImages(request) {
        const listed = await world.cri.listImages(request);
        const nameless = listed.images.map((image) =>
          image.repoTags[0]?.includes('/a:') ? image : { ...image, id: '' },
        );
        return { images: nameless };
      },
    });
    await world.gc({ minAgeMs: 0 }, { cri }).deleteUnusedImages(signal);
    expect(removed).toHaveLength(1);
    expect(removed).not.toContain('');
    expect(world.events).toEqual(['Warning InvalidImageID ImageID is not valid, skipping, image: ']);
  });

  it('removes nothing if the use of images cannot be determined', async () => {
    const world = await makeWorld(images('a'));
    await runPod(world, 'p', 'busybox');
    world.otherBytes = 95 * GiB;
    world.cri.faults.add({
      rpc: 'containerStatus',
      fault: { kind: 'error', code: 'UNAVAILABLE', message: 'it is ill' },
    });
    await expect(world.gc({ minAgeMs: 0 }).garbageCollect(signal)).rejects.toThrow('it is ill');
    expect(await world.present()).toContain('a:latest');
  });

  it('removes nothing if the runtime returns no status for a container, and requests the status again in the next collection', async () => {
    const world = await makeWorld(images('a', 'volume'));
    await runPod(world, 'p', 'busybox', 'volume');
    let isNil = true;
    const cri = withCalls(world.cri, {
      containerStatus: async (request) => {
        const answer = await world.cri.containerStatus(request);
        return isNil ? { ...answer, status: null } : answer;
      },
    });
    const gc = world.gc({ minAgeMs: 0 }, { cri });
    await expect(gc.deleteUnusedImages(signal)).rejects.toMatchObject({ code: 'Unavailable' });
    expect(await world.present()).toContain('a:latest');
    isNil = false;
    await gc.deleteUnusedImages(signal);
    expect(await world.present()).toEqual(['busybox:latest', PAUSE, 'volume:latest']);
  });

  it('keeps images younger than the minimum age, however full the disk is', async () => {
    const world = await makeWorld(images('a'));
    world.otherBytes = 95 * GiB;
    const gc = world.gc({ minAgeMs: 2 * MINUTE });
    await expect(gc.garbageCollect(signal)).rejects.toMatchObject({ code: 'InsufficientSpace' });
    expect(await world.present()).toContain('a:latest');
    await world.clock.advance(2 * MINUTE);
    await gc.garbageCollect(signal).catch(() => {});
    expect(await world.present()).not.toContain('a:latest');
  });
});

describe('ImageGc.plan', () => {
  it('plan returns the decisions that the next collection makes, and removes no image', async () => {
    const world = await makeWorld([...images('old', 'used', 'a', 'b'), { tags: ['pinned'], pinned: true }]);
    const gc = world.gc({ maxAgeMs: 10 * HOUR, minAgeMs: 2 * MINUTE });
    await runPod(world, 'p', 'used');
    await gc.plan(signal);
    await world.clock.advance(HOUR);
    const before = await world.present();
    const { disk, images: planned } = await gc.plan(signal);
    expect(disk).toMatchObject({ usagePercent: 41, bytesToFree: 0 });
    expect(planned.filter(({ verdict }) => verdict.goes)).toEqual([]);
    world.otherBytes = 50 * GiB;
    const then = await gc.plan(signal);
    const going = then.images.flatMap(({ image, verdict }) => (verdict.goes ? image.names[0] : []));
    const why = new Map(then.images.map(({ image, verdict }) => [image.names[0]?.replace(/.*\//, ''), verdict.why]));
    expect(why.get('used:latest')).toBe('used');
    expect(why.get('pinned:latest')).toBe('pinned');
    expect(await world.present()).toEqual(before);
    expect(world.events).toEqual([]);
    await gc.garbageCollect(signal);
    const left = await world.present();
    const gone = before.filter((name) => !left.includes(name));
    expect(gone).toEqual(going.map((name) => name?.replace('docker.io/library/', '')).sort());
    expect(gone.length).toBeGreaterThan(0);
  });

  it('plan throws an error for a disk with a size of 0, and reports no event', async () => {
    const world = await makeWorld();
    const gc = world.gc({}, { disks: { statfs: async () => ({ totalBytes: 0, availableBytes: 0 }) } });
    await expect(gc.plan(signal)).rejects.toMatchObject({ code: 'InvalidCapacity' });
    expect(world.events).toEqual([]);
  });
});

describe('maximum age of images', () => {
  it('removes an image that was unused for longer than the maximum age, regardless of disk usage', async () => {
    const world = await makeWorld(images('used', 'unused'));
    await runPod(world, 'p', 'used');
    const gc = world.gc({ maxAgeMs: HOUR });
    await gc.garbageCollect(signal);
    await world.clock.advance(HOUR);
    await gc.garbageCollect(signal);
    expect(await world.present()).toContain('unused:latest');
    await world.clock.advance(1);
    await gc.garbageCollect(signal);
    expect(await world.present()).toEqual([PAUSE, 'used:latest']);
    expect(world.metrics.text()).toContain('kubelet_image_garbage_collected_total{reason="age"} 2');
  });

  it('N4: the ages of images count across restarts of the process and of the machine', async () => {
    const world = await makeWorld(images('unused'));
    await world.gc({ maxAgeMs: HOUR }).garbageCollect(signal);
    await world.clock.advance(HOUR / 2);
    const rebooted = {
      now: () => world.clock.now(),
      monotonic: () => 5,
      setTimer: world.clock.setTimer.bind(world.clock),
    };
    await world.gc({ maxAgeMs: HOUR }, { clock: rebooted }).garbageCollect(signal);
    expect(await world.present()).toContain('unused:latest');
    await world.clock.advance(HOUR / 2 + 1000);
    await world.gc({ maxAgeMs: HOUR }).garbageCollect(signal);
    expect(await world.present()).not.toContain('unused:latest');
  });

  it('N4: the minimum age of images counts across restarts', async () => {
    const world = await makeWorld(images('a'));
    world.otherBytes = 75 * GiB;
    for (let start = 0; start < 3; start++) {
      await world
        .gc({ minAgeMs: 2 * MINUTE })
        .garbageCollect(signal)
        .catch(() => {});
      await world.clock.advance(MINUTE);
    }
    expect(await world.present()).not.toContain('a:latest');
  });

  it('removes temporary files of a killed process, and keeps the stored ages even if the removal fails', async () => {
    const world = await makeWorld(images('unused'));
    await world.gc({ maxAgeMs: HOUR }).garbageCollect(signal);
    await world.fs.writeFile('/root/image_gc/.tmp-7-1', '{');
    await world.clock.advance(HOUR / 2);
    const fault = world.fs.injectFault({ code: 'EPERM', operation: 'remove' });
    await world.gc({ maxAgeMs: HOUR }).garbageCollect(signal);
    expect(world.lines.map(({ level }) => level)).toEqual(['warn']);
    fault.remove();
    await world.clock.advance(HOUR / 2 + 1000);
    await world.gc({ maxAgeMs: HOUR }).garbageCollect(signal);
    expect(world.fs.paths()).not.toContain('/root/image_gc/.tmp-7-1');
    expect(await world.present()).not.toContain('unused:latest');
  });

  it('counts the ages of images from now, with a log message, if the stored times are unreadable or in the future', async () => {
    const world = await makeWorld(images('a'));
    await world.gc({ maxAgeMs: HOUR }).garbageCollect(signal);
    await world.clock.advance(2 * HOUR);
    await world.fs.writeFile('/root/image_gc/image_gc_state', '{"version":1,"images":{},"checksum":1}');
    await world.gc({ maxAgeMs: HOUR }).garbageCollect(signal);
    expect(await world.present()).toContain('a:latest');
    expect(world.lines).toEqual([
      expect.objectContaining({ level: 'error', message: 'Cannot read the ages of images: they count from now' }),
    ]);
    const back = {
      now: () => 5,
      monotonic: () => world.clock.monotonic(),
      setTimer: world.clock.setTimer.bind(world.clock),
    };
    await world.gc({ maxAgeMs: HOUR }, { clock: back }).garbageCollect(signal);
    expect(await world.present()).toContain('a:latest');
  });
});

describe('failed removals of images', () => {
  it('reports images that cannot be removed, removes the other images, and calls onRemoved once', async () => {
    const world = await makeWorld(images('a', 'b'));
    let pruned = 0;
    const { image: stuck } = await world.cri.imageStatus({ image: { image: 'a' } });
    const cri = withCalls(world.cri, {
      async removeImage(request) {
        if (request.image?.image === stuck?.id) throw new Error('read-only file system');
        return await world.cri.removeImage(request);
      },
    });
    const onRemoved = async (): Promise<void> => {
      pruned += 1;
    };
    await expect(world.gc({ minAgeMs: 0 }, { cri, onRemoved }).deleteUnusedImages(signal)).rejects.toMatchObject({
      code: 'RemovalFailed',
      message: expect.stringMatching(/^wanted to free .*errors in image deletion: read-only file system$/),
    });
    expect(await world.present()).toEqual(['a:latest', PAUSE]);
    expect(pruned).toBe(1);
  });

  it('reports failed removals in upstream’s wording, and each distinct cause once', async () => {
    const world = await makeWorld(images('a', 'b', 'c'));
    let calls = 0;
    const cri = withCalls(world.cri, {
      removeImage: () => Promise.reject(new Error(++calls % 3 === 0 ? 'in use' : 'read-only file system')),
    });
    const gc = world.gc({ minAgeMs: 0, maxAgeMs: 36 * HOUR }, { cri });
    await expect(gc.deleteUnusedImages(signal)).rejects.toMatchObject({
      message:
        'wanted to free 9223372036854775807 bytes, but freed 0 bytes space with errors in image deletion: [read-only file system, in use]',
    });
    await world.clock.advance(36 * HOUR + 1);
    await expect(gc.garbageCollect(signal)).rejects.toMatchObject({
      message:
        'wanted to free images older than 36h0m0s, encountered errors in image deletion: [read-only file system, in use]',
    });
  });

  it('tries to remove an image only once, even if the runtime still lists the image afterwards', async () => {
    const world = await makeWorld();
    let calls = 0;
    const cri = withCalls(world.cri, {
      async removeImage() {
        calls += 1;
        return {};
      },
    });
    await world.gc({ minAgeMs: 0 }, { cri }).deleteUnusedImages(signal);
    expect(calls).toBe(1);
  });

  it.each([Number.NaN, -1])('deleteUnusedImages rejects %s bytes and removes nothing', async (bytes) => {
    const world = await makeWorld();
    await expect(world.gc({ minAgeMs: 0 }).deleteUnusedImages(signal, bytes)).rejects.toMatchObject({
      name: 'ImageGcError',
      code: 'InvalidOptions',
      message: `bytes must be at least 0, not ${bytes}`,
    });
    expect(await world.present()).toEqual(['busybox:latest', PAUSE]);
  });

  it('deleteUnusedImages removes enough images to free the requested bytes', async () => {
    const world = await makeWorld(images('a', 'b', 'c'));
    const gc = world.gc({ minAgeMs: 0 });
    expect(await gc.deleteUnusedImages(signal, 15 * GiB)).toBeGreaterThanOrEqual(15 * GiB);
    expect((await world.present()).filter((name) => /^[abc]:/.test(name))).toHaveLength(1);
  });
});
