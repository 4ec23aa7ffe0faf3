import { describe, expect, it } from 'vitest';
import { EMPTY_DIRS, errorOf, type Fixture, podOf, ROOT, setUp } from './helpers.ts';

const scratch = { name: 'scratch', emptyDir: {} };

describe('volumes of a pod', () => {
  // Counting all volumes for each volume would exceed the test's timeout.
  it('W6: setup time of a pod with many volumes grows linearly', async () => {
    const { manager, signal } = setUp();
    const names = Array.from({ length: 30_000 }, (_, index) => `etc-${index}`);
    const pod = podOf(names.map((name) => ({ name, hostPath: { path: '/etc' } })));
    await manager.waitForAttachAndMount(pod, signal);
    const [main] = pod.spec.containers;
    if (main === undefined) throw new Error('there is one');
    const mounts = await manager.containerMounts(pod, main, [], signal);
    expect(mounts.map(({ containerPath }) => containerPath)).toEqual(names.map((name) => `/mnt/${name}`));
  });

  it("emptyDir volumes are directories at upstream's paths with upstream's modes", async () => {
    const { manager, fs, signal, under } = setUp();
    await manager.makePodDataDirs('u1');
    await manager.waitForAttachAndMount(podOf([scratch]), signal);
    expect(under('u1')).toEqual([
      'plugins',
      'plugins/kubernetes.io~empty-dir',
      'plugins/kubernetes.io~empty-dir/scratch',
      'plugins/kubernetes.io~empty-dir/scratch/ready',
      'volumes',
      'volumes/kubernetes.io~empty-dir',
      'volumes/kubernetes.io~empty-dir/scratch',
    ]);
    const modes = ['/..', '', '/volumes', '/plugins', `/${EMPTY_DIRS}`, `/${EMPTY_DIRS}/scratch`].map(
      async (path) => (await fs.stat(`${ROOT}/pods/u1${path}`)).mode,
    );
    expect(await Promise.all(modes)).toEqual([0o750, 0o750, 0o750, 0o750, 0o755, 0o777]);
  });

  it('parent directories of volumes are created once, and created again after a sweep removed them', async () => {
    const { manager, fs, clock, under } = setUp();
    const made: string[] = [];
    const mkdir = fs.mkdir.bind(fs);
    fs.mkdir = async (path, options) => {
      made.push(path);
      await mkdir(path, options);
    };
    for (let minute = 0; minute < 5; minute++) {
      await manager.makePodDataDirs('u1');
      await manager.cleanupOrphanedPodDirs(() => true);
      await clock.advance(60_000);
    }
    expect(made).toEqual([`${ROOT}/pods/u1/volumes`, `${ROOT}/pods/u1/plugins`]);
    // The directory is removed here as another program could do.
    await fs.removeAll(`${ROOT}/pods/u1`);
    await manager.cleanupOrphanedPodDirs(() => true);
    await manager.makePodDataDirs('u1');
    expect(under('u1')).toEqual(['plugins', 'volumes']);
    // A sweep does not detect the missing directory `volumes`, because it does not read the directories of pods.
    await fs.removeAll(`${ROOT}/pods/u1/volumes`);
    await clock.advance(600_000);
    await manager.makePodDataDirs('u1');
    expect(under('u1')).toEqual(['plugins', 'volumes']);
  });

  it("containerMounts returns a pod's volumes only after they are ready", async () => {
    const { manager, signal } = setUp();
    const pod = podOf([scratch, { name: 'etc', hostPath: { path: '/etc' } }]);
    const [container] = pod.spec.containers;
    if (container === undefined) throw new Error('no container');
    expect((await errorOf(manager.containerMounts(pod, container, [], signal))).code).toBe('NotMounted');
    await manager.waitForAttachAndMount(pod, signal);
    const mounts = await manager.containerMounts(pod, container, [], signal);
    expect(mounts.map(({ hostPath, containerPath }) => `${hostPath} ${containerPath}`)).toEqual([
      `${ROOT}/pods/u1/${EMPTY_DIRS}/scratch /mnt/scratch`,
      '/etc /mnt/etc',
    ]);
  });

  it('a volume is set up only if a container mounts it', async () => {
    const { manager, signal, under } = setUp();
    await manager.waitForAttachAndMount(podOf([scratch], 'u1', { containers: [{ name: 'main' }] }), signal);
    expect(under('u1')).toEqual([]);
  });

  it('K1: volumes keep their content through syncs and kubelet restarts', async () => {
    const { manager, newManager, fs, signal } = setUp();
    const file = `${ROOT}/pods/u1/${EMPTY_DIRS}/scratch/file`;
    await manager.waitForAttachAndMount(podOf([scratch]), signal);
    await fs.writeFile(file, 'kept');
    await fs.chmod(`${ROOT}/pods/u1/${EMPTY_DIRS}/scratch`, 0o700);
    await manager.waitForAttachAndMount(podOf([scratch]), signal);
    const next = newManager();
    expect(await next.podVolumesExist('u1')).toBe(true);
    await next.waitForAttachAndMount(podOf([scratch]), signal);
    expect(new TextDecoder().decode(await fs.readFile(file))).toBe('kept');
    // The container may change the mode; the kubelet leaves it.
    expect((await fs.stat(`${ROOT}/pods/u1/${EMPTY_DIRS}/scratch`)).mode).toBe(0o700);
  });

  it("an emptyDir volume belongs to the pod's fsGroup", async () => {
    const { manager, fs, signal } = setUp();
    await manager.waitForAttachAndMount(podOf([scratch], 'u1', { securityContext: { fsGroup: 2000 } }), signal);
    expect(await fs.stat(`${ROOT}/pods/u1/${EMPTY_DIRS}/scratch`)).toMatchObject({ gid: 2000, mode: 0o2777 });
  });

  it('an emptyDir of medium Memory is a tmpfs of the smallest declared size, mounted once, and unmounted when the pod is removed', async () => {
    const { manager, newManager, mounter, signal, under } = setUp();
    const limit = (memory: string) => ({ resources: { limits: { memory } } });
    const volume = { name: 'mem', emptyDir: { medium: 'Memory', sizeLimit: '64Mi' } };
    const pod = podOf([volume]);
    await manager.waitForAttachAndMount(pod, signal);
    await newManager().waitForAttachAndMount(pod, signal);
    await newManager().waitForUnmount(pod, signal);
    expect(mounter.asked).toEqual(['mount tmpfs size=67108864', 'unmount']);
    expect(under('u1').filter((path) => path.includes('mem'))).toEqual([]);
    const containers = [{ name: 'main', volumeMounts: [{ name: 'mem', mountPath: '/m' }], ...limit('32Mi') }];
    await manager.waitForAttachAndMount(podOf([volume], 'u2', { containers }), signal);
    await manager.waitForAttachAndMount(podOf([{ name: 'mem', emptyDir: { medium: 'Memory' } }], 'u3'), signal);
    expect(mounter.asked.slice(2)).toEqual(['mount tmpfs size=33554432', 'mount tmpfs size=1073741824']);
  });
});

describe('volumes that cannot be set up', () => {
  const refused: [string, object, string][] = [
    ['an unknown type', { configMap: { name: 'c' } }, 'volume v: type configMap is not supported by this kubelet'],
    [
      'huge pages',
      { emptyDir: { medium: 'HugePages-2Mi' } },
      'medium HugePages-2Mi: hugePages storage requested, but there is no resource request for huge pages',
    ],
    [
      'a host path of another type',
      { hostPath: { path: '/nope', type: 'Directory' } },
      'hostPath type check failed: /nope is not a directory',
    ],
  ];
  it.each(refused)(
    "an event and the error name an unsupported %s volume, and the pod's other volumes are set up",
    async (_name, source, message) => {
      const { manager, events, signal, under } = setUp();
      const pod = podOf([{ name: 'v', ...source }, scratch]);
      const error = await errorOf(manager.waitForAttachAndMount(pod, signal));
      const unprocessed = message.includes('configMap') ? 'v' : '';
      expect(error.message).toBe(
        `unmounted volumes=[v], unattached volumes=[], failed to process volumes=[${unprocessed}]: ${message}`,
      );
      expect(error.explanation).toBe(`v: ${message}`);
      expect(events).toEqual([`FailedMount: MountVolume.SetUp failed for volume "v" : ${message}`]);
      expect(under('u1')).toContain(`${EMPTY_DIRS}/scratch`);
    },
  );

  it('a volume setup that fails on a full disk emits an event, and a later sync completes the setup', async () => {
    const { manager, fs, events, signal, clock } = setUp();
    fs.injectFault({ code: 'ENOSPC', operation: 'mkdir' });
    const error = await errorOf(manager.waitForAttachAndMount(podOf([scratch]), signal));
    expect(error.message).toContain('unmounted volumes=[scratch]');
    expect(events).toHaveLength(1);
    await clock.advance((error.retryAtMs ?? 0) - clock.monotonic());
    await manager.waitForAttachAndMount(podOf([scratch]), signal);
    expect(events).toHaveLength(1);
  });

  it('admission reports an unsupported volume type before the pod starts', () => {
    const { manager } = setUp();
    expect(manager.unsupported(podOf([scratch]))).toEqual([]);
    expect(manager.unsupported(podOf([scratch, { name: 'c', csi: { driver: 'd' } }]))).toEqual([
      'volume c: type csi is not supported by this kubelet',
    ]);
  });

  it.each(['../../etc', '..', '', 'a/b', 'a\0b', 'x'.repeat(256)])(
    'W3: refuses the pod UID %j because it cannot be a directory name',
    async (uid) => {
      const { manager, fs, signal } = setUp();
      expect((await errorOf(manager.makePodDataDirs(uid))).code).toBe('InvalidPath');
      expect((await errorOf(manager.waitForAttachAndMount(podOf([scratch], uid), signal))).code).toBe('NotMounted');
      expect(fs.paths().filter((path) => path !== '/tmp')).toEqual([]);
    },
  );
});

describe('removal of volumes', () => {
  it('removes all volumes of a removed pod and no volume of another pod', async () => {
    const { manager, signal, under, fs } = setUp();
    for (const uid of ['u1', 'u2']) await manager.waitForAttachAndMount(podOf([scratch], uid), signal);
    await fs.writeFile(`${ROOT}/pods/u1/${EMPTY_DIRS}/scratch/file`, 'x');
    await manager.waitForUnmount(podOf([scratch]), signal);
    expect([await manager.podVolumesExist('u1'), await manager.podVolumesExist('u2')]).toEqual([false, true]);
    expect(under('u1').filter((path) => path.includes('scratch'))).toEqual([]);
    expect(under('u2')).toContain(`${EMPTY_DIRS}/scratch`);
  });

  it('W3: removal of a volume never follows a symbolic link out of the volume', async () => {
    const { manager, signal, fs } = setUp();
    await fs.mkdir('/precious');
    await fs.writeFile('/precious/file', 'x');
    await manager.waitForAttachAndMount(podOf([scratch]), signal);
    const volume = `${ROOT}/pods/u1/${EMPTY_DIRS}/scratch`;
    await fs.symlink('/precious', `${volume}/link`);
    await fs.mkdir(`${volume}/deep`);
    await fs.symlink('/precious', `${volume}/deep/link`);
    await manager.waitForUnmount(podOf([scratch]), signal);
    expect(await fs.exists('/precious/file')).toBe(true);
    expect(await fs.exists(volume)).toBe(false);
  });

  it('W3: removal of a volume never deletes files of a mount inside the volume, and reports that mount', async () => {
    const { manager, signal, fs, mounter } = setUp();
    await manager.waitForAttachAndMount(podOf([scratch]), signal);
    const inside = `${ROOT}/pods/u1/${EMPTY_DIRS}/scratch/inside`;
    await fs.mkdir(inside);
    fs.mount(inside);
    await fs.writeFile(`${inside}/file`, 'x');
    expect((await errorOf(manager.waitForUnmount(podOf([scratch]), signal))).message).toContain('EBUSY');
    expect(await manager.podVolumesExist('u1')).toBe(true);
    expect(fs.paths().filter((path) => path.endsWith('/inside/file'))).toHaveLength(1);
    expect(mounter.asked).toEqual([]);
  });

  it.each(['', '/u1/volumes'])(
    'the volume manager starts although the directory pods%s cannot be read',
    async (below) => {
      const { manager, newManager, signal, fs } = setUp();
      await manager.waitForAttachAndMount(podOf([scratch]), signal);
      fs.injectFault({ code: 'EIO', operation: 'readdir', path: `${ROOT}/pods${below}`, times: 1 });
      const controller = new AbortController();
      const next = newManager();
      const ended = next.start(controller.signal);
      await next.waitForAttachAndMount(podOf([scratch]), signal);
      controller.abort();
      await expect(ended).resolves.toBeUndefined();
    },
  );

  it('K1: removal renames a volume in one step before deleting it, and a restarted kubelet finishes an interrupted removal', async () => {
    const { manager, newManager, signal, fs, under } = setUp();
    await manager.waitForAttachAndMount(podOf([scratch]), signal);
    await fs.writeFile(`${ROOT}/pods/u1/${EMPTY_DIRS}/scratch/file`, 'x');
    const killed = fs.injectFault({
      code: 'EIO',
      operation: 'remove',
      path: (path) => path.includes('deleting~'),
      times: Number.POSITIVE_INFINITY,
    });
    await errorOf(manager.waitForUnmount(podOf([scratch]), signal));
    expect(under('u1').filter((path) => path.includes('scratch'))).toEqual([
      `${EMPTY_DIRS}/deleting~scratch`,
      `${EMPTY_DIRS}/deleting~scratch/file`,
    ]);
    killed.remove();
    const controller = new AbortController();
    await manager.waitForAttachAndMount(podOf([scratch], 'alive'), signal);
    const next = newManager();
    expect(await next.podVolumesExist('u1')).toBe(true);
    const ended = next.start(controller.signal);
    await new Promise((resolve) => setImmediate(resolve));
    expect(await next.podVolumesExist('u1')).toBe(false);
    expect(under('alive')).toContain(`${EMPTY_DIRS}/scratch`);
    controller.abort();
    await ended;
  });

  it('volumes of a pod count as possibly present if the pods directory cannot be read', async () => {
    const { manager, fs } = setUp();
    await manager.makePodDataDirs('u1');
    fs.injectFault({ code: 'EIO', operation: 'readdir' });
    expect(await manager.podVolumesExist('u1')).toBe(true);
  });
});

describe('directories of orphaned pods', () => {
  it('a sweep removes the volumes and directories of orphaned pods, including tmpfs, and nothing of known pods', async () => {
    const { manager, newManager, signal, fs, mounter } = setUp();
    for (const uid of ['gone', 'known']) {
      await manager.makePodDataDirs(uid);
      await manager.waitForAttachAndMount(
        podOf([scratch, { name: 'mem', emptyDir: { medium: 'Memory' } }], uid),
        signal,
      );
      await fs.writeFile(`${ROOT}/pods/${uid}/etc-hosts`, '');
    }
    const before = fs.paths().filter((path) => path.includes('/known'));
    await newManager().cleanupOrphanedPodDirs((uid) => uid === 'known');
    expect(fs.paths().filter((path) => path.includes('/gone'))).toEqual([]);
    expect(fs.paths().filter((path) => path.includes('/known'))).toEqual(before);
    expect(mounter.asked.filter((what) => what === 'unmount')).toHaveLength(1);
  });

  it('W3: the directory of an orphaned pod is kept completely if it contains a mount of another program', async () => {
    const { manager, fs, mounter, signal } = setUp();
    await manager.makePodDataDirs('gone');
    await fs.mkdir(`${ROOT}/pods/gone/containers/x`);
    await mounter.mount('x', `${ROOT}/pods/gone/containers/x`, 'nfs', []);
    const before = fs.paths();
    const error = await errorOf(manager.cleanupOrphanedPodDirs(() => false, signal));
    expect(error.message).toBe(
      `orphaned pod "gone" found, but volumes are still mounted: ${ROOT}/pods/gone/containers/x`,
    );
    expect(fs.paths()).toEqual(before);
  });

  it("W3: the files of an orphaned pod's volume without a plugin are kept, and other orphaned pods are removed", async () => {
    const { manager, fs } = setUp();
    await fs.mkdir(`${ROOT}/pods/a/volumes/kubernetes.io~nfs/share`);
    await fs.writeFile(`${ROOT}/pods/a/volumes/kubernetes.io~nfs/share/precious`, 'x');
    await manager.makePodDataDirs('b');
    const error = await errorOf(manager.cleanupOrphanedPodDirs(() => false));
    expect(error.message).toMatch(
      /^mounted volumes of pod a: .*kubernetes.io~nfs\/share: no volume plugin matched, and it is not empty$/,
    );
    expect(await fs.exists(`${ROOT}/pods/a/volumes/kubernetes.io~nfs/share/precious`)).toBe(true);
    expect(await fs.exists(`${ROOT}/pods/b`)).toBe(false);
  });

  it("empty directories of an orphaned pod's volumes without a plugin are removed", async () => {
    const { manager, fs } = setUp();
    await fs.mkdir(`${ROOT}/pods/a/volumes/kubernetes.io~nfs/share`);
    await manager.cleanupOrphanedPodDirs(() => false);
    expect(await fs.exists(`${ROOT}/pods/a`)).toBe(false);
  });

  it('a pod that requests its directories during a sweep no longer counts as orphaned', async () => {
    const { manager, fs } = setUp();
    for (const uid of ['a', 'b']) await manager.makePodDataDirs(uid);
    const asked: Promise<void>[] = [];
    const sweep = manager.cleanupOrphanedPodDirs((uid) => {
      // Pod `b` requests its directories while pod `a` is checked; pod `a` requests its own after its removal has
      // started.
      if (uid === 'a') {
        asked.push(manager.makePodDataDirs('b'));
        queueMicrotask(() => asked.push(manager.makePodDataDirs('a')));
      }
      return false;
    });
    await sweep;
    await Promise.all(asked);
    expect(asked).toHaveLength(2);
    for (const uid of ['a', 'b']) expect(await fs.exists(`${ROOT}/pods/${uid}/volumes`)).toBe(true);
  });

  it('W6: orphaned pods are removed in parallel: a hanging removal delays no other and is not started twice', async () => {
    const { manager, fs, clock, signal } = setUp();
    for (const uid of ['a', 'stuck', 'z']) {
      await manager.makePodDataDirs(uid);
      await manager.waitForAttachAndMount(podOf([scratch], uid), signal);
    }
    const hang = fs.injectFault({ code: 'EIO', operation: 'rename', path: `${ROOT}/pods/stuck`, hangs: true });
    const first = manager.cleanupOrphanedPodDirs(() => false);
    await clock.settle();
    expect((await fs.readdir(`${ROOT}/pods`)).map(({ name }) => name)).toEqual(['stuck']);
    await fs.mkdir(`${ROOT}/pods/late/volumes`);
    await manager.cleanupOrphanedPodDirs(() => false);
    expect((await fs.readdir(`${ROOT}/pods`)).map(({ name }) => name)).toEqual(['stuck']);
    expect(hang.hits).toBe(1);
    hang.remove();
    await first;
    expect(await fs.readdir(`${ROOT}/pods`)).toEqual([]);
  });

  it('each orphaned pod is checked again immediately before its directory is removed', async () => {
    const { manager, fs } = setUp();
    for (let n = 0; n < 100; n++) await manager.makePodDataDirs(`p${n}`);
    let asked = 0;
    // The callback reports the first pod as orphaned, and all others as known.
    await manager.cleanupOrphanedPodDirs(() => ++asked > 1);
    expect([asked, (await fs.readdir(`${ROOT}/pods`)).length]).toEqual([100, 99]);
  });

  it("a sweep never deletes a file of an orphaned pod's volume without a plugin", async () => {
    const { manager, fs } = setUp();
    await fs.mkdir(`${ROOT}/pods/a/volumes/kubernetes.io~nfs`);
    await fs.writeFile(`${ROOT}/pods/a/volumes/kubernetes.io~nfs/image`, 'precious');
    await errorOf(manager.cleanupOrphanedPodDirs(() => false));
    expect(await fs.exists(`${ROOT}/pods/a/volumes/kubernetes.io~nfs/image`)).toBe(true);
  });

  it('a missing pods directory means that there are no orphaned pods', async () => {
    await expect(setUp().manager.cleanupOrphanedPodDirs(() => false)).resolves.toBeUndefined();
  });
});

describe('K1: a kill at any operation', () => {
  const volumes = [scratch, { name: 'mem', emptyDir: { medium: 'Memory' } }];
  const kill = (fs: Fixture['fs'], after: number) =>
    fs.injectFault({ code: 'EIO', skip: after, times: Number.POSITIVE_INFINITY });

  it('K1: after a kill at any operation of a volume setup, the restarted kubelet completes the setup', async () => {
    let killed = 0;
    for (let after = 0; after < 60; after++) {
      const { manager, newManager, fs, mounter, signal, under } = setUp();
      const fault = kill(fs, after);
      await Promise.all([manager.makePodDataDirs('u1'), manager.waitForAttachAndMount(podOf(volumes), signal)]).catch(
        () => killed++,
      );
      fault.remove();
      await newManager().waitForAttachAndMount(podOf(volumes), signal);
      expect(under('u1')).toEqual(expect.arrayContaining([`${EMPTY_DIRS}/mem`, `${EMPTY_DIRS}/scratch`]));
      expect(mounter.asked.filter((what) => what.startsWith('mount'))).toHaveLength(1);
    }
    expect(killed).toBeGreaterThan(10);
  });

  it('K1: after a kill at any operation of a volume removal, the restarted kubelet leaves no file', async () => {
    let killed = 0;
    for (let after = 0; after < 60; after++) {
      const { manager, newManager, fs, signal, under } = setUp();
      await manager.makePodDataDirs('u1');
      await manager.waitForAttachAndMount(podOf(volumes), signal);
      await fs.writeFile(`${ROOT}/pods/u1/${EMPTY_DIRS}/scratch/file`, 'x');
      const fault = kill(fs, after);
      await manager
        .waitForUnmount(podOf(volumes), signal)
        .then(() => manager.cleanupOrphanedPodDirs(() => false))
        .catch(() => killed++);
      fault.remove();
      await newManager().cleanupOrphanedPodDirs(() => false);
      expect(under('u1')).toEqual([]);
      expect(await fs.exists(`${ROOT}/pods/u1`)).toBe(false);
    }
    expect(killed).toBeGreaterThan(10);
  });
});
