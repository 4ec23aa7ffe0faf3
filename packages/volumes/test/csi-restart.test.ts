import type { Pod } from '@node-agent/pod-spec';
import { describe, expect, it } from 'vitest';
import { type CsiFixture, claimPod, csiFailure, DRIVER, inlinePod, makeCsi, STAGED } from './csi-helpers.ts';
import { errorOf, ROOT } from './helpers.ts';

const IN_POD = `${ROOT}/pods/u1/volumes/kubernetes.io~csi`;
const DATA = `{"driverName":"${DRIVER}","volumeHandle":"vol-1"}\n`;

/** Starts the next kubelet process. */
async function restart({ clock, newManager }: CsiFixture) {
  const life = new AbortController();
  const manager = newManager();
  const running = manager.start(life.signal);
  await clock.settle();
  const stop = async (): Promise<void> => {
    life.abort();
    await running;
  };
  return { manager, stop };
}

const pointsOf = async ({ mounter }: CsiFixture): Promise<string[]> => [...(await mounter.mountPoints()).keys()].sort();

describe('CSI volumes after a restart', () => {
  it('V4: after a restart, CSI volumes of unknown pods stay mounted, and are unpublished and unstaged when their pod terminates', async () => {
    const fixture = makeCsi();
    const { driver, clock, signal, manager: first } = fixture;
    await first.waitForAttachAndMount(claimPod('u1'), signal);
    await first.waitForAttachAndMount(inlinePod('u2'), signal);
    const before = await pointsOf(fixture);
    const { manager, stop } = await restart(fixture);
    await clock.advance(600_000);
    expect([driver.calls.length, await pointsOf(fixture)]).toEqual([3, before]);
    await manager.cleanupOrphanedPodDirs((uid) => uid === 'u1', signal);
    expect(driver.calls.slice(3)).toEqual([expect.stringMatching(/^unpublish csi-/)]);
    await manager.waitForUnmount(claimPod('u1'), signal);
    await clock.settle();
    expect(driver.calls.slice(4)).toEqual(['unpublish vol-1', 'unstage vol-1']);
    expect(await pointsOf(fixture)).toEqual([]);
    await stop();
  });

  it('V4: after a restart, CSI volumes of a pod that continues are staged and published again, which changes nothing', async () => {
    const fixture = makeCsi();
    const { driver, signal, manager: first } = fixture;
    await first.waitForAttachAndMount(claimPod('u1'), signal);
    const before = await pointsOf(fixture);
    const { manager, stop } = await restart(fixture);
    await manager.waitForAttachAndMount(claimPod('u1'), signal);
    expect(driver.calls.slice(2)).toEqual(['stage vol-1', 'publish vol-1']);
    expect([await pointsOf(fixture), driver.stages[1]]).toEqual([before, driver.stages[0]]);
    await stop();
  });

  it('V4: a CSI volume that is being staged keeps its directory while volumes of a former process are searched', async () => {
    const { manager, driver, fs, clock, events, signal } = makeCsi();
    const writing = fs.injectFault({ code: 'EIO', operation: 'rename', path: STAGED, hangs: true });
    const mounting = manager.waitForAttachAndMount(claimPod('u1'), signal);
    mounting.catch(() => undefined);
    await clock.settle();
    const life = new AbortController();
    const running = manager.start(life.signal);
    await clock.settle();
    expect(await fs.exists(`${STAGED}/globalmount`)).toBe(true);
    writing.remove();
    await mounting;
    expect([driver.calls, events]).toEqual([['stage vol-1', 'publish vol-1'], []]);
    expect(await fs.exists(`${STAGED}/vol_data.json`)).toBe(true);
    life.abort();
    await running;
  });

  it('V3: after a restart, a final failure for a CSI volume of an earlier process does not make the volume absent', async () => {
    const fixture = makeCsi();
    const { driver, clock, signal, manager: first } = fixture;
    await first.waitForAttachAndMount(claimPod('u1'), signal);
    const { manager, stop } = await restart(fixture);
    driver.before = () => {
      throw csiFailure('Internal', true);
    };
    await errorOf(manager.waitForAttachAndMount(claimPod('u1'), signal));
    driver.before = () => {};
    await manager.waitForUnmount(claimPod('u1'), signal);
    await clock.settle();
    expect([driver.calls.slice(-2), await pointsOf(fixture)]).toEqual([['unpublish vol-1', 'unstage vol-1'], []]);
    await stop();
  });

  it('V4: after a restart, a staged CSI volume that no pod uses is unstaged', async () => {
    const fixture = makeCsi();
    const { driver, fs, signal } = fixture;
    driver.before = (call) => (call.startsWith('publish') ? new Promise(() => {}) : undefined);
    void fixture.manager.waitForAttachAndMount(claimPod('u1'), signal).catch(() => undefined);
    await fixture.clock.settle();
    // The pod's directory is removed, as another program could do.
    await fs.removeAll(`${ROOT}/pods/u1`);
    const { stop } = await restart(fixture);
    expect([driver.calls.at(-1), await fs.exists(STAGED), await pointsOf(fixture)]).toEqual([
      'unstage vol-1',
      false,
      [],
    ]);
    await stop();
  });

  const garbage: [string, (fixture: CsiFixture, path: string) => void | Promise<void>][] = [
    ['is missing', () => {}],
    ['is empty', ({ fs }, path) => fs.writeFile(path, '')],
    ['is not UTF-8', ({ fs }, path) => fs.writeFile(path, new Uint8Array([0x22, 0xff, 0x22]))],
    ['is endless', ({ fs }, path) => fs.writeFile(path, new Uint8Array(1 << 20))],
    ['is a FIFO', ({ fs }, path) => fs.makeSpecial(path, 'fifo')],
    ['is a device', ({ fs }, path) => fs.makeSpecial(path, 'charDevice')],
    ['is a directory', ({ fs }, path) => fs.mkdir(path)],
    ['lacks the volume ID', ({ fs }, path) => fs.writeFile(path, `{"driverName":"${DRIVER}"}`)],
  ];
  it.each(garbage)(
    "V4: after a restart, a mounted CSI volume whose data file %s is kept until its pod's spec is known",
    async (_what, spoil) => {
      const fixture = makeCsi();
      const { driver, fs, signal, clock, manager: first, claims } = fixture;
      driver.can = { ...driver.can, stageUnstage: false };
      await first.waitForAttachAndMount(claimPod('u1'), signal);
      const path = `${IN_POD}/pv-1/vol_data.json`;
      await fs.remove(path);
      await spoil(fixture, path);
      claims.failure = new Error('no connection');
      const before = await pointsOf(fixture);
      const { manager, stop } = await restart(fixture);
      await errorOf(manager.cleanupOrphanedPodDirs(() => false, signal));
      await clock.settle();
      expect([await pointsOf(fixture), driver.calls.length]).toEqual([before, 1]);
      await stop();
      claims.failure = undefined;
      if ((await fs.exists(path)) && (await fs.lstat(path)).kind === 'directory') return;
      const next = await restart(fixture);
      await next.manager.waitForAttachAndMount(claimPod('u1'), signal);
      await next.manager.waitForUnmount(claimPod('u1'), signal);
      await clock.settle();
      expect([await pointsOf(fixture), await fs.exists(`${IN_POD}/pv-1`)]).toEqual([[], false]);
      await next.stop();
    },
  );

  it.each(garbage.filter(([what]) => what !== 'is a directory'))(
    'V4: a staged volume whose data file in the pod %s is unpublished and unstaged without an API server',
    async (_what, spoil) => {
      const fixture = makeCsi();
      const { driver, fs, signal, clock, claims } = fixture;
      await fixture.manager.waitForAttachAndMount(claimPod('u1'), signal);
      await fs.remove(`${IN_POD}/pv-1/vol_data.json`);
      await spoil(fixture, `${IN_POD}/pv-1/vol_data.json`);
      claims.failure = new Error('no connection');
      const { manager, stop } = await restart(fixture);
      await manager.cleanupOrphanedPodDirs(() => false, signal);
      await clock.settle();
      expect(driver.calls.slice(2)).toEqual(['unpublish vol-1', 'unstage vol-1']);
      expect(await pointsOf(fixture)).toEqual([]);
      await stop();
    },
  );

  it('V4: a volume that is not staged and has no data file is unpublished with the driver and volume ID of its PersistentVolume', async () => {
    const fixture = makeCsi();
    const { driver, fs, signal } = fixture;
    driver.can = { ...driver.can, stageUnstage: false };
    await fixture.manager.waitForAttachAndMount(claimPod('u1'), signal);
    await fs.remove(`${IN_POD}/pv-1/vol_data.json`);
    const { manager, stop } = await restart(fixture);
    await manager.waitForUnmount(claimPod('u1'), signal);
    expect([driver.calls, await pointsOf(fixture)]).toEqual([['publish vol-1', 'unpublish vol-1'], []]);
    await stop();
  });

  it('V4: an inline CSI volume whose vol_data.json is missing is unpublished with the driver that the pod names', async () => {
    const fixture = makeCsi();
    const { driver, fs, signal } = fixture;
    await fixture.manager.waitForAttachAndMount(inlinePod('u1'), signal);
    await fs.remove(`${IN_POD}/data/vol_data.json`);
    const { manager, stop } = await restart(fixture);
    await manager.waitForUnmount(inlinePod('u1'), signal);
    const [publish = '', unpublish] = driver.calls;
    expect([unpublish, await pointsOf(fixture)]).toEqual([publish.replace('publish', 'unpublish'), []]);
    await stop();
  });

  it.each(garbage.filter(([what]) => what !== 'is a directory'))(
    'V4: the directory of a CSI volume whose data file %s and that is not mounted is removed with its pod',
    async (_what, spoil) => {
      const fixture = makeCsi();
      const { driver, fs, signal } = fixture;
      await fs.mkdir(`${IN_POD}/pv-1/mount`);
      await spoil(fixture, `${IN_POD}/pv-1/vol_data.json`);
      const { manager, stop } = await restart(fixture);
      await manager.cleanupOrphanedPodDirs(() => false, signal);
      expect([driver.calls, await fs.exists(`${ROOT}/pods/u1`)]).toEqual([[], false]);
      await stop();
    },
  );

  it('V4: after a restart, a staged CSI volume whose data file names another volume is kept, and others are unstaged', async () => {
    const fixture = makeCsi();
    const { driver, fs } = fixture;
    const wrong = `${ROOT}/plugins/kubernetes.io/csi/other.example.com/${'0'.repeat(64)}`;
    for (const directory of [`${STAGED}/globalmount`, `${wrong}/globalmount`]) await fs.mkdir(directory);
    await fs.writeFile(`${wrong}/vol_data.json`, DATA);
    await fs.writeFile(`${STAGED}/vol_data.json`, DATA);
    // The directory `volumeDevices`, which upstream's kubelet uses for block volumes, must be ignored here.
    await fs.mkdir(`${ROOT}/plugins/kubernetes.io/csi/volumeDevices/pv-2/data`);
    const { stop } = await restart(fixture);
    expect(driver.calls).toEqual(['unstage vol-1']);
    expect([await fs.exists(STAGED), await fs.exists(wrong)]).toEqual([false, true]);
    await stop();
  });

  it("V4: CSI volumes that upstream's kubelet has mounted for a pod are used by that pod without being mounted again", async () => {
    const fixture = makeCsi();
    const { fs, mounter, signal, driver } = fixture;
    await fs.mkdir(`${STAGED}/globalmount`);
    await fs.writeFile(`${STAGED}/vol_data.json`, DATA);
    await mounter.mount('vol-1', `${STAGED}/globalmount`, 'csi', []);
    await fs.mkdir(`${IN_POD}/pv-1/mount`);
    const attachment = 'csi-f4c24cb450d8bb50ed94a9fe7498f9ee73f8350b12e34a249e60cba8d4711a1a';
    await fs.writeFile(
      `${IN_POD}/pv-1/vol_data.json`,
      `{"attachmentID":"${attachment}","driverName":"${DRIVER}","nodeName":"node-1","specVolID":"pv-1","volumeHandle":"vol-1","volumeLifecycleMode":"Persistent"}\n`,
    );
    await mounter.mount('vol-1', `${IN_POD}/pv-1/mount`, 'csi', []);
    const asked = mounter.asked.length;
    const inodes = async (): Promise<number[]> =>
      Promise.all(
        [`${STAGED}/vol_data.json`, `${IN_POD}/pv-1/vol_data.json`].map(async (path) => (await fs.stat(path)).inode),
      );
    const files = await inodes();
    const { manager, stop } = await restart(fixture);
    await manager.waitForAttachAndMount(claimPod('u1'), signal);
    expect([mounter.asked.length, await inodes(), driver.calls]).toEqual([
      asked,
      files,
      ['stage vol-1', 'publish vol-1'],
    ]);
    await stop();
  });
});

describe('a kubelet that is killed at any file or mount operation', () => {
  const pods: [string, (uid: string) => Pod][] = [
    ['persistent', (uid) => claimPod(uid, { securityContext: { fsGroup: 7 } })],
    ['inline', (uid) => inlinePod(uid, { fsType: 'ext4' }, { securityContext: { fsGroup: 7 } })],
  ];
  it.each(pods)(
    'K1, V4: after a kill at any file or mount operation and a restart, the %s CSI volume is mounted or completely removed',
    async (kind, podWith) => {
      for (const isWanted of [true, false]) {
        let killed = 0;
        for (let after = 0; after < 60; after++) {
          const fixture = makeCsi();
          const { fs, clock, manager, mounter, driver, signal } = fixture;
          const life = new AbortController();
          const fault = fs.injectFault({ code: 'EIO', skip: after, times: Number.POSITIVE_INFINITY });
          const isKilled = (): boolean => fault.hits > 0;
          mounter.isKilled = isKilled;
          driver.before = () => {
            if (isKilled()) throw new Error('killed');
          };
          const running = manager.start(life.signal);
          await manager
            .waitForAttachAndMount(podWith('u1'), AbortSignal.any([signal, life.signal]))
            .then(() => (isWanted ? undefined : manager.waitForUnmount(podWith('u1'), life.signal)))
            .catch(() => killed++);
          await clock.settle();
          life.abort();
          await clock.settle();
          mounter.isKilled = () => false;
          driver.before = () => {};
          fault.remove();
          await running;
          const next = await restart(fixture);
          const again = isWanted
            ? next.manager.waitForAttachAndMount(podWith('u1'), signal)
            : next.manager.waitForUnmount(podWith('u1'), signal);
          await clock.advance(5_000);
          await again;
          await clock.advance(5_000);
          const name = kind === 'inline' ? 'data' : 'pv-1';
          const mounted = [`${IN_POD}/${name}/mount`, ...(kind === 'inline' ? [] : [`${STAGED}/globalmount`])].sort();
          expect(await pointsOf(fixture), `after ${after} operations`).toEqual(isWanted ? mounted : []);
          expect(driver.faults).toEqual([]);
          if (!isWanted) {
            const left = fs.paths().filter((path) => path.startsWith(STAGED) || path.includes(`/${name}`));
            expect(left, `after ${after} operations`).toEqual([]);
          }
          await next.stop();
        }
        expect(killed).toBeGreaterThan(5);
      }
    },
  );
});
