import { describe, expect, it } from 'vitest';
import { upperDirectoryOfRoot } from '../src/overlay-root.ts';
import { StatsProvider } from '../src/stats-provider.ts';
import { CONTAINER, START_MS, UID, World } from './world.ts';

const PLACE = '/var/lib/layers';
const UPPER = `${PLACE}/snapshots/7/fs`;
const signal = new AbortController().signal;

const overlay = (upper: string, at = '/', type = 'overlay'): string =>
  `600 500 0:55 / ${at} rw,relatime - ${type} overlay rw,lowerdir=${PLACE}/1/fs:${PLACE}/2/fs,upperdir=${upper},workdir=/w`;

describe('where an overlay that is the root of a process keeps what is written', () => {
  it.each([
    ['its upper directory', [overlay(UPPER)], UPPER],
    ['beside other mounts', ['1 600 0:5 / /proc rw - proc proc rw', overlay(UPPER), overlay('/x', '/data')], UPPER],
    ['not what was mounted over it', [overlay(UPPER), overlay(`${PLACE}/snapshots/8/fs`)], UPPER],
    ['with blanks, commas and backslashes', [overlay(`${PLACE}/a\\040b\\054c\\134d/diff`)], `${PLACE}/a b,c\\d/diff`],
    ['as CRI-O has it', [overlay(`${PLACE}/4711/diff`)], `${PLACE}/4711/diff`],
    [
      'as CRI-O has it, where all of its storage is the place',
      [overlay(`${PLACE}/overlay/4711/diff`)],
      `${PLACE}/overlay/4711/diff`,
    ],
    ['as Docker has it', [overlay(`${PLACE}/overlay2/4711/diff`)], `${PLACE}/overlay2/4711/diff`],
    ['not something in one, which a container can make a link', [overlay(`${UPPER}/link`)], undefined],
    ['nor that of CRI-O', [overlay(`${PLACE}/4711/diff/diff`)], undefined],
    ['nor something in what a link leads to', [overlay(`${UPPER}/link/fs`)], undefined],
    ['not that of all layers', [overlay(`${PLACE}/snapshots`)], undefined],
    ['with optional fields', [overlay(UPPER).replace(' - ', ' shared:5 master:7 - ')], UPPER],
    ['not of another file system', [overlay(UPPER, '/', 'ext4')], undefined],
    ['though another file system is mounted over it', [overlay(UPPER), overlay(UPPER, '/', 'tmpfs')], UPPER],
    ['not of what is mounted over another file system', [overlay(UPPER, '/', 'tmpfs'), overlay(UPPER)], undefined],
    ['not that of a mount elsewhere', [overlay(UPPER, '/data')], undefined],
    ['not outside of where the runtime has its layers', [overlay('/etc')], undefined],
    ['nor beside that', [overlay(`${PLACE}-of-others/fs`)], undefined],
    ['nor out of it', [overlay(`${PLACE}/../../etc`)], undefined],
    ['nor beside it, with the shape of a layer', [overlay(`${PLACE}/../fs`)], undefined],
    ['nor of a line that is cut off', ['600 500 0:55 / /'], undefined],
    ['nor by a name like that of the option', [overlay(UPPER).replace(',upperdir', ',notupperdir')], undefined],
    ['not one that is read only', ['600 500 0:55 / / ro - overlay overlay ro,lowerdir=/a:/b'], undefined],
    ['not one relative to who mounted it', [overlay('7/fs')], undefined],
    ['not of nonsense', ['', 'x', '1 2 3 4 /', ' - '], undefined],
  ])('is %s', (_what, lines, path) => {
    expect(upperDirectoryOfRoot(`${lines.join('\n')}\n`, PLACE)).toBe(path);
  });
});

describe.each([1, 2] as const)('writable layers, measured where groups are of version %s', (version) => {
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

  it('are told by summaries that are asked for later, with the time of their measuring', async () => {
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

  it('are found by the process that began first, since others may see something else', async () => {
    const { world, provider, rootfs } = await node();
    await world.write(`${PLACE}/empty/fs/x`, '');
    await world.write('/proc/112/mountinfo', overlay(`${PLACE}/empty/fs`));
    await world.clock.advance(4000);
    await provider.measureLayers(signal);
    expect((await rootfs())?.usedBytes).toBeGreaterThan(10_000);
  });

  it.each<[string, (world: World) => unknown]>([
    ['its container has ended', (world) => world.fs.removeAll('/proc/11')],
    ['it is not there', (world) => world.fs.removeAll(UPPER)],
    ['its container runs in a group below its own', (world) => world.writeGroup(groupOf(CONTAINER), { ...NONE })],
    [
      'the runtime does not tell where it has layers',
      (world) => world.stats.splice(0, 1, { attributes: { id: CONTAINER } }),
    ],
    ['the runtime does not know its container', (world) => world.stats.splice(0)],
  ])('are as the runtime tells where %s', async (_what, breaks) => {
    const { world, provider, rootfs } = await node();
    await world.clock.advance(4000);
    await breaks(world);
    const before = await rootfs();
    await provider.measureLayers(signal);
    expect(await rootfs()).toEqual(before);
  });

  it.each([false, true])(
    'take no less than what the runtime tells, as it may be another one that was measured, or not all of it: %s',
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

  it('count as far as they were measured when that is given up', async () => {
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

  it('are forgotten when they are measured the next time, and cannot be', async () => {
    const { world, provider, rootfs } = await node();
    await world.clock.advance(4000);
    await provider.measureLayers(signal);
    await world.fs.removeAll(UPPER);
    await provider.measureLayers(signal);
    expect(await rootfs()).toMatchObject(TOLD);
  });

  it('are older than what the runtime tells later, though the wall clock was set back', async () => {
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

  it('are not looked for without somebody who measures trees', async () => {
    const { world } = await node();
    world.calls.length = 0;
    const options = { nodeName: 'node-1', rootDirectory: '/var/lib/kubelet', podLogsDirectory: '/var/log/pods' };
    await new StatsProvider(world.components, options).measureLayers(signal);
    expect(world.calls).toEqual([]);
  });

  it('reject when they are not wanted any more', async () => {
    const { provider } = await node();
    const given = new AbortController();
    given.abort(new Error('no more'));
    await expect(provider.measureLayers(given.signal)).rejects.toThrow('no more');
  });
});

const NONE = { cpuNs: 0, usage: 0, inactiveFile: 0, rss: 0, pids: [] };
const groupOf = (id: string): string => `/kubepods/burstable/pod${UID}/${id}`;
