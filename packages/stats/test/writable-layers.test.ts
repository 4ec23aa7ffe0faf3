import { describe, expect, it } from 'vitest';
import { upperDirectoryOfRoot } from '../src/overlay-root.ts';
import { StatsProvider } from '../src/stats-provider.ts';
import { CONTAINER, START_MS, UID, World } from './world.ts';

const PLACE = '/var/lib/layers';
const UPPER = `${PLACE}/snapshots/7/fs`;
const signal = new AbortController().signal;

const overlay = (upper: string, at = '/', type = 'overlay'): string =>
  `600 500 0:55 / ${at} rw,relatime - ${type} overlay rw,lowerdir=${PLACE}/1/fs:${PLACE}/2/fs,upperdir=${upper},workdir=/w`;

describe('upperDirectoryOfRoot', () => {
  it.each([
    ['returns the upper directory of the overlay', [overlay(UPPER)], UPPER],
    [
      'finds the root among other mounts',
      ['1 600 0:5 / /proc rw - proc proc rw', overlay(UPPER), overlay('/x', '/data')],
      UPPER,
    ],
    ['ignores an overlay mounted over the root', [overlay(UPPER), overlay(`${PLACE}/snapshots/8/fs`)], UPPER],
    [
      'decodes blanks, commas and backslashes',
      [overlay(`${PLACE}/a\\040b\\054c\\134d/diff`)],
      `${PLACE}/a b,c\\d/diff`,
    ],
    ['accepts the layout of CRI-O', [overlay(`${PLACE}/4711/diff`)], `${PLACE}/4711/diff`],
    [
      'accepts the layout of CRI-O below its storage root',
      [overlay(`${PLACE}/overlay/4711/diff`)],
      `${PLACE}/overlay/4711/diff`,
    ],
    ['accepts the layout of Docker', [overlay(`${PLACE}/overlay2/4711/diff`)], `${PLACE}/overlay2/4711/diff`],
    ['rejects a path inside a layer, which a container can replace by a link', [overlay(`${UPPER}/link`)], undefined],
    ['rejects a path inside a CRI-O layer', [overlay(`${PLACE}/4711/diff/diff`)], undefined],
    ['rejects a path below a link inside a layer', [overlay(`${UPPER}/link/fs`)], undefined],
    ['rejects the directory of all layers', [overlay(`${PLACE}/snapshots`)], undefined],
    ['accepts optional mount fields', [overlay(UPPER).replace(' - ', ' shared:5 master:7 - ')], UPPER],
    ['rejects a root that is not an overlay', [overlay(UPPER, '/', 'ext4')], undefined],
    ['finds the overlay below another mounted file system', [overlay(UPPER), overlay(UPPER, '/', 'tmpfs')], UPPER],
    ['rejects an overlay mounted over another file system', [overlay(UPPER, '/', 'tmpfs'), overlay(UPPER)], undefined],
    ['rejects an overlay that is not the root', [overlay(UPPER, '/data')], undefined],
    ['rejects a directory outside the runtime directory', [overlay('/etc')], undefined],
    ['rejects a sibling whose name starts like the runtime directory', [overlay(`${PLACE}-of-others/fs`)], undefined],
    ['rejects a path that leaves the runtime directory', [overlay(`${PLACE}/../../etc`)], undefined],
    ['rejects a layer-shaped path beside the runtime directory', [overlay(`${PLACE}/../fs`)], undefined],
    ['rejects a truncated line', ['600 500 0:55 / /'], undefined],
    [
      'rejects an option whose name only ends with upperdir',
      [overlay(UPPER).replace(',upperdir', ',notupperdir')],
      undefined,
    ],
    ['rejects a read-only overlay', ['600 500 0:55 / / ro - overlay overlay ro,lowerdir=/a:/b'], undefined],
    ['rejects a relative directory', [overlay('7/fs')], undefined],
    ['rejects malformed lines', ['', 'x', '1 2 3 4 /', ' - '], undefined],
  ])('upperDirectoryOfRoot: %s', (_what, lines, path) => {
    expect(upperDirectoryOfRoot(`${lines.join('\n')}\n`, PLACE)).toBe(path);
  });
});

describe.each([1, 2] as const)('measured writable layers, cgroup v%s', (version) => {
  const node = async (pids: readonly number[] = [112, 11, 12]) => {
    const world = new World(version);
    await world.writeMachine();
    await world.writeGroup('/', { cpuNs: 9_000_000_000, usage: 6000, inactiveFile: 2000, rss: 900 });
    await world.addPod({ cpuNs: 5_000_000_000, usage: 3000, inactiveFile: 1000, rss: 700, pids });
    await world.write(`${UPPER}/etc/hosts`, 'x'.repeat(10_000));
    await world.write('/proc/11/mountinfo', overlay(UPPER));
    const provider = new StatsProvider(
      { ...world.components, trees: world.fs },
      { nodeName: 'node-1', rootDirectory: '/var/lib/kubelet', podLogsDirectory: '/var/log/pods' },
    );
    const rootfs = async () => {
      const { pods } = await provider.summary({ fresh: true }, signal);
      return pods.find(({ podRef }) => podRef.uid === UID)?.containers[0]?.rootfs;
    };
    return { world, provider, rootfs };
  };
  const TOLD = { time: new Date(START_MS).toISOString(), usedBytes: 4096, inodesUsed: 3 };

  it('later summaries contain measured layer usage with the time of the measurement', async () => {
    const { world, provider, rootfs } = await node();
    expect(await rootfs()).toMatchObject(TOLD);
    await world.clock.advance(4000);
    await provider.measureLayers(signal);
    await world.clock.advance(1000);
    const { bytes, inodes } = await world.fs.usage(UPPER);
    expect(bytes).toBeGreaterThan(10_000);
    expect(await rootfs()).toMatchObject({
      ...{ time: new Date(START_MS + 4000).toISOString(), usedBytes: bytes, inodesUsed: inodes },
    });
  });

  it("measureLayers finds the layer by the container's oldest process, because later processes may have other mounts", async () => {
    const { world, provider, rootfs } = await node();
    await world.write(`${PLACE}/empty/fs/x`, '');
    await world.write('/proc/112/mountinfo', overlay(`${PLACE}/empty/fs`));
    await world.clock.advance(4000);
    await provider.measureLayers(signal);
    expect((await rootfs())?.usedBytes).toBeGreaterThan(10_000);
  });

  it.each<[string, (world: World) => unknown]>([
    ['its container has terminated', (world) => world.fs.removeAll('/proc/11')],
    ['the layer directory does not exist', (world) => world.fs.removeAll(UPPER)],
    [
      'the processes are in a child of the container cgroup',
      (world) => world.writeGroup(groupOf(CONTAINER), { ...NONE }),
    ],
    [
      'the runtime does not report the layer directory',
      (world) => world.stats.splice(0, 1, { attributes: { id: CONTAINER } }),
    ],
    ['the runtime does not know the container', (world) => world.stats.splice(0)],
  ])("a summary uses the runtime's layer usage if %s", async (_what, breaks) => {
    const { world, provider, rootfs } = await node();
    await world.clock.advance(4000);
    await breaks(world);
    const before = await rootfs();
    await provider.measureLayers(signal);
    expect(await rootfs()).toEqual(before);
  });

  it.each([false, true])(
    "a summary reports at least the runtime's layer usage if the measured usage is smaller; measurement complete: %s",
    async (complete) => {
      const { world } = await node();
      const usage = async () => ({ ...(await world.fs.usage(UPPER)), bytes: 5, inodes: 7, complete });
      const options = { nodeName: 'node-1', rootDirectory: '/var/lib/kubelet', podLogsDirectory: '/var/log/pods' };
      const provider = new StatsProvider({ ...world.components, trees: { usage } }, options);
      await world.clock.advance(4000);
      await provider.measureLayers(signal);
      const { pods } = await provider.summary({ fresh: true }, signal);
      expect(pods[0]?.containers[0]?.rootfs).toMatchObject({ usedBytes: 4096, inodesUsed: 7 });
    },
  );

  it('a summary uses a partial measurement of a layer if the measurement is aborted', async () => {
    const { world, rootfs } = await node();
    const given = new AbortController();
    const usage = async () => {
      given.abort(new Error('too late'));
      return await world.fs.usage(UPPER);
    };
    await world.writeGroup(`/kubepods/burstable/pod${UID}/${'d'.repeat(64)}`, { ...NONE, pids: [11] });
    const options = { nodeName: 'node-1', rootDirectory: '/var/lib/kubelet', podLogsDirectory: '/var/log/pods' };
    const provider = new StatsProvider({ ...world.components, trees: { usage } }, options);
    await world.clock.advance(4000);
    await expect(provider.measureLayers(given.signal)).rejects.toThrow('too late');
    expect((await rootfs())?.usedBytes).toBe(4096);
    const { pods } = await provider.summary({ fresh: true }, signal);
    expect(pods[0]?.containers[0]?.rootfs?.usedBytes).toBeGreaterThan(10_000);
  });

  it('a summary forgets the measured usage if the next measurement fails', async () => {
    const { world, provider, rootfs } = await node();
    await world.clock.advance(4000);
    await provider.measureLayers(signal);
    await world.fs.removeAll(UPPER);
    await provider.measureLayers(signal);
    expect(await rootfs()).toMatchObject(TOLD);
  });

  it('a summary prefers later runtime values over measured layer usage, even if the wall clock was set back', async () => {
    const { world, provider, rootfs } = await node();
    await world.clock.advance(4000);
    await provider.measureLayers(signal);
    world.clock.jumpWallClock(-3_600_000);
    await world.clock.advance(10_000);
    const timestamp = world.clock.now() * 1e6;
    const told = world.stats[0]?.writableLayer;
    expect(told).toBeDefined();
    world.stats.splice(0, 1, { ...world.stats[0], writableLayer: { ...told, timestamp } });
    expect(await rootfs()).toMatchObject({ usedBytes: 4096, inodesUsed: 3 });
  });

  it('measureLayers searches for no layers if there is no tree measuring port', async () => {
    const { world } = await node();
    world.calls.length = 0;
    const options = { nodeName: 'node-1', rootDirectory: '/var/lib/kubelet', podLogsDirectory: '/var/log/pods' };
    await new StatsProvider(world.components, options).measureLayers(signal);
    expect(world.calls).toEqual([]);
  });

  it('measureLayers rejects if its signal is aborted', async () => {
    const { provider } = await node();
    const given = new AbortController();
    given.abort(new Error('no more'));
    await expect(provider.measureLayers(given.signal)).rejects.toThrow('no more');
  });
});

const NONE = { cpuNs: 0, usage: 0, inactiveFile: 0, rss: 0, pids: [] };
const groupOf = (id: string): string => `/kubepods/burstable/pod${UID}/${id}`;
