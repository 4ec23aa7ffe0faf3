import type { Pod, VolumeMount } from '@node-agent/pod-spec';
import { silentLogger } from '@node-agent/telemetry';
import { describe, expect, it } from 'vitest';
import { SubPathMounts } from '../src/paths/sub-path-mounts.ts';
import { EMPTY_DIRS, errorOf, type Fixture, podOf, ROOT, setUp } from './helpers.ts';

const POD = `${ROOT}/pods/u1`;
const VOLUME = `${POD}/${EMPTY_DIRS}/data`;
const TARGET = `${POD}/volume-subpaths/data/main/0`;

function podMounting(mount: Partial<VolumeMount>, volume: object = { emptyDir: {} }): Pod {
  const volumeMounts = [{ name: 'data', mountPath: '/data', ...mount }];
  return podOf([{ name: 'data', ...volume }], 'u1', { containers: [{ name: 'main', volumeMounts }] });
}

async function show({ manager, signal }: Fixture, pod: Pod, environment = [{ name: 'NAME', value: 'n1' }]) {
  await manager.makePodDataDirs('u1');
  await manager.waitForAttachAndMount(pod, signal);
  const [container] = pod.spec.containers;
  if (container === undefined) throw new Error('no container');
  return (await manager.containerMounts(pod, container, environment, signal))[0]?.hostPath;
}

/** The subPath state of a new kubelet process. */
const restarted = (fixture: Fixture): Fixture => ({ ...fixture, manager: fixture.newManager() });
const left = ({ under }: Fixture): string[] => under('u1').filter((path) => path.startsWith('volume-subpaths'));

describe('subPath mounts', () => {
  it("a subPath gets the volume's permissions, is mounted for each container, and is unmounted with the volume", async () => {
    const fixture = setUp();
    const pod = podMounting({ subPath: 'a/b' });
    expect(await show(fixture, pod)).toBe(TARGET);
    expect((await fixture.fs.stat(`${VOLUME}/a/b`)).mode).toBe(0o777);
    await fixture.fs.writeFile(`${TARGET}/f`, 'x');
    expect(await fixture.fs.exists(`${VOLUME}/a/b/f`)).toBe(true);
    expect(await show(fixture, pod)).toBe(TARGET);
    expect(fixture.mounter.asked).toEqual(['bind']);
    await fixture.manager.waitForUnmount(pod, fixture.signal);
    expect(fixture.mounter.asked).toEqual(['bind', 'unmount']);
    expect(await fixture.manager.podVolumesExist('u1')).toBe(false);
    expect(left(fixture)).toEqual([]);
    expect(fixture.fs.heldPlaces).toBe(0);
  });

  it('a subPath may be a file; after a directory has replaced the file, the next container gets the directory', async () => {
    const fixture = setUp();
    const pod = podMounting({ subPath: 'conf' });
    await fixture.fs.mkdir(VOLUME);
    await fixture.fs.writeFile(`${VOLUME}/conf`, 'one');
    await show(fixture, pod);
    expect((await fixture.fs.stat(TARGET)).kind).toBe('file');
    await fixture.fs.remove(`${VOLUME}/conf`);
    await fixture.fs.mkdir(`${VOLUME}/conf`);
    await show(fixture, pod);
    expect((await fixture.fs.stat(TARGET)).kind).toBe('directory');
    expect(fixture.mounter.asked).toEqual(['bind', 'unmount', 'bind']);
  });

  it("a subPathExpr is expanded from the container's environment", async () => {
    const fixture = setUp();
    const pod = podMounting({ subPathExpr: 'logs/$(NAME)' });
    await show(fixture, pod);
    expect(await fixture.fs.exists(`${VOLUME}/logs/n1`)).toBe(true);
    const error = await errorOf(show(fixture, pod, []));
    expect(error).toMatchObject({ code: 'InvalidPath', message: 'missing value for NAME' });
  });

  it('a subPath may name a file of a downward API volume', async () => {
    const fixture = setUp();
    const items = [{ path: 'name', fieldRef: { fieldPath: 'metadata.name' } }];
    const pod = podMounting({ subPath: 'name' }, { downwardAPI: { items } });
    await show(fixture, pod);
    expect(Buffer.from(await fixture.fs.readFile(TARGET)).toString()).toBe('pod-u1');
  });

  it.each(['../../secret', '/etc/secret', 'loop'])(
    'W3: refuses a subPath if a symbolic link in it leads to %s',
    async (target) => {
      const fixture = setUp();
      await fixture.fs.mkdir('/etc/secret');
      await fixture.fs.mkdir(VOLUME);
      await fixture.fs.symlink(target, `${VOLUME}/loop`);
      const error = await errorOf(show(fixture, podMounting({ subPath: 'loop' })));
      expect(error.code).toBe('SubPathFailed');
      expect(error.message).toBe('failed to prepare subPath for volumeMount "data" of container "main"');
      expect(fixture.mounter.asked).toEqual([]);
      expect(left(fixture)).toEqual([]);
    },
  );

  it('W3: creates nothing if a subPath is a dangling symbolic link, and the error names no host path', async () => {
    const fixture = setUp();
    await fixture.fs.mkdir(VOLUME);
    await fixture.fs.symlink('missing', `${VOLUME}/link`);
    const error = await errorOf(show(fixture, podMounting({ subPath: 'link' })));
    expect(error.message).toBe('failed to create subPath directory for volumeMount "data" of container "main"');
    expect(await fixture.fs.exists(`${VOLUME}/missing`)).toBe(false);
  });

  it('W6: a subPath of a hanging host path fails at its deadline and delays no other pod', async () => {
    const fixture = setUp();
    await fixture.fs.mkdir('/nfs/x');
    const hang = fixture.fs.injectFault({ code: 'EIO', path: '/nfs/x', hangs: true });
    const failing = errorOf(show(fixture, podMounting({ subPath: 'x' }, { hostPath: { path: '/nfs' } })));
    await fixture.clock.settle();
    const other = podOf([{ name: 'scratch', emptyDir: {} }], 'u2');
    await fixture.manager.waitForAttachAndMount(other, fixture.signal);
    await fixture.clock.advance(10_000);
    expect((await failing).code).toBe('SubPathFailed');
    hang.remove();
  });
});

describe('subPaths after a crash', () => {
  it.each([
    ['before the mount, with a file as mount point of a directory', 'target'],
    ['after the mount', 'mounted'],
    ['with another directory mounted for the subPath', 'other'],
  ])('K1: after a crash %s, a restarted kubelet mounts the subPath', async (_name, state) => {
    const fixture = setUp();
    const pod = podMounting({ subPath: 'a' });
    await fixture.fs.mkdir(`${VOLUME}/a`);
    await fixture.fs.mkdir(`${VOLUME}/b`);
    await fixture.fs.mkdir(TARGET.replace(/\/0$/, ''));
    if (state === 'target') await fixture.fs.writeFile(TARGET, '');
    else {
      await fixture.fs.mkdir(TARGET);
      const place = await fixture.fs.holdBeneath(VOLUME, state === 'mounted' ? 'a' : 'b');
      await fixture.mounter.bind(place.handle, TARGET);
    }
    await show(restarted(fixture), pod);
    expect((await fixture.fs.stat(TARGET)).inode).toBe((await fixture.fs.stat(`${VOLUME}/a`)).inode);
    expect(fixture.mounter.asked.filter((asked) => asked === 'bind')).toHaveLength(1 + (state === 'other' ? 1 : 0));
  });

  it.each(['data', 'emptied', 'gone'])(
    'K1: subPath mounts of an orphaned pod are removed, with its volume %s',
    async (volume) => {
      const fixture = setUp();
      await fixture.fs.mkdir('/srv/x');
      await show(fixture, podMounting({ subPath: 'x' }, { hostPath: { path: '/srv' } }));
      if (volume === 'emptied') await fixture.fs.mkdir(`${POD}/volume-subpaths/other/main`);
      if (volume === 'gone') await fixture.mounter.unmount(TARGET);
      const { manager } = restarted(fixture);
      expect(await manager.podVolumesExist('u1')).toBe(true);
      await manager.cleanupOrphanedPodDirs(() => false);
      expect(await fixture.fs.exists(POD)).toBe(false);
      expect(fixture.fs.mountPoints()).toEqual([]);
      expect(await fixture.fs.exists('/srv/x')).toBe(true);
    },
  );

  describe('K1: a kill at any step of subPath mount and unmount', () => {
    const PART = { podUid: 'u1', container: 'main', volumeName: 'data', directoryName: 'data', index: 0, path: 'a/b' };

    /**
     * Mounts and unmounts a subPath in a process that is killed at its n-th call. @returns whether the process
     * finished
     */
    async function liveFor(fixture: Fixture, calls: number): Promise<boolean> {
      let left = calls;
      const mortal = <T extends object>(target: T): T =>
        new Proxy(target, {
          get(inner, name) {
            const value: unknown = Reflect.get(inner, name, inner);
            if (typeof value !== 'function') return value;
            return (...args: unknown[]) => (left-- > 0 ? Reflect.apply(value, inner, args) : new Promise(() => {}));
          },
        });
      const { paths, clock, signal } = fixture;
      const ports = { fs: mortal(fixture.fs), foreignFiles: fixture.foreignFiles, mounter: mortal(fixture.mounter) };
      const parts = new SubPathMounts({ ...ports, paths, logger: silentLogger });
      const volume = { hostPath: VOLUME, readOnly: false, selinuxRelabel: true };
      let ended = false;
      void parts
        .prepare({ ...PART, volume }, signal)
        .then(() => parts.clean('u1', 'data', signal))
        .then(() => {
          ended = true;
        });
      await clock.settle();
      return ended;
    }

    it.each(['the pod goes on', 'the pod is removed'])(
      'K1: after a kill at any step of a subPath mount or unmount, a restarted kubelet completes the mount or removes it, if %s',
      async (after) => {
        for (let calls = 0; ; calls++) {
          const fixture = setUp();
          const pod = podMounting({ subPath: 'a/b' });
          await fixture.manager.makePodDataDirs('u1');
          await fixture.manager.waitForAttachAndMount(pod, fixture.signal);
          const ended = await liveFor(fixture, calls);
          if (after === 'the pod goes on') {
            await show(restarted(fixture), pod);
            expect((await fixture.fs.stat(TARGET)).inode).toBe((await fixture.fs.stat(`${VOLUME}/a/b`)).inode);
            expect(fixture.fs.mountPoints()).toEqual([TARGET]);
          } else {
            await fixture.newManager().cleanupOrphanedPodDirs(() => false);
            expect(fixture.fs.mountPoints()).toEqual([]);
            expect(await fixture.fs.exists(POD)).toBe(false);
          }
          if (!ended) continue;
          expect(calls).toBeGreaterThan(12);
          return;
        }
      },
    );
  });

  it('K4: a subPath mount that is aborted during its lookup leaves no mount after the pod is removed', async () => {
    const fixture = setUp();
    const { clock, fs, manager, signal } = fixture;
    const pod = podMounting({ subPath: 'x' });
    await manager.makePodDataDirs('u1');
    await manager.waitForAttachAndMount(pod, signal);
    const hang = fs.injectFault({ code: 'EIO', path: `${VOLUME}/x`, hangs: true });
    const controller = new AbortController();
    const [container] = pod.spec.containers;
    if (container === undefined) throw new Error('no container');
    const given = manager.containerMounts(pod, container, [], controller.signal);
    await clock.settle();
    controller.abort(new Error('the pod is deleted'));
    await expect(given).rejects.toThrow('the pod is deleted');
    const gone = manager.waitForUnmount(pod, signal);
    await clock.settle();
    expect(await fs.exists(VOLUME)).toBe(true);
    hang.remove();
    await gone;
    await clock.settle();
    expect([left(fixture), fs.mountPoints(), fs.heldPlaces]).toEqual([[], [], 0]);
    expect(await manager.podVolumesExist('u1')).toBe(false);
  });

  it('a subPath that cannot be unmounted keeps its volume mounted, and the error is reported', async () => {
    const fixture = setUp();
    const pod = podMounting({ subPath: 'x' });
    await show(fixture, pod);
    const unmount = fixture.mounter.unmount.bind(fixture.mounter);
    fixture.mounter.unmount = async () => {
      throw new Error('target is busy');
    };
    const error = await errorOf(fixture.manager.waitForUnmount(pod, fixture.signal));
    expect(error).toMatchObject({ code: 'StillMounted', message: expect.stringContaining('target is busy') });
    expect(await fixture.fs.exists(`${VOLUME}/x`)).toBe(true);
    fixture.mounter.unmount = unmount;
    await fixture.clock.advance(1_000);
    await fixture.manager.waitForUnmount(pod, fixture.signal);
    expect(await fixture.manager.podVolumesExist('u1')).toBe(false);
  });
});
