import { describe, expect, it } from 'vitest';
import type { LocalDevices } from '../src/claims/local-staging.ts';
import { driverStatus } from '../src/flexvolume/driver-status.ts';
import type { FlexPrograms } from '../src/flexvolume/flex-driver.ts';
import { FlexVolumePlugins } from '../src/flexvolume/flex-plugins.ts';
import { driverOptions } from '../src/flexvolume/flex-source.ts';
import type { SecretData } from '../src/projected/sources.ts';
import { errorOf, type Fixture, MemoryClaims, type MemoryMounter, podOf, ROOT, setUp } from './helpers.ts';

const PLUGINS = '/plugins/exec';
const POD_DIR = `${ROOT}/pods/u1/volumes/vendor~disk`;
const DEVICES = `${ROOT}/plugins/kubernetes.io/flexvolume/vendor/disk/mounts`;
const OK = '{"status": "Success"}';
const NOT_SUPPORTED = '{"status": "Not supported"}';
const LOCAL = '{"status": "Success", "capabilities": {"attach": false}}';

/** Programs of drivers in memory: the responses by command, and the recorded calls. */
class MemoryPrograms implements FlexPrograms {
  readonly calls: (readonly string[])[] = [];
  responses: Record<string, string | (() => Promise<string>)> = { init: LOCAL };
  exitCode = 0;
  readonly #mounter: Fixture['mounter'];

  constructor(mounter: Fixture['mounter']) {
    this.#mounter = mounter;
  }

  async run(path: string, args: readonly string[]): Promise<{ readonly exitCode: number; readonly output: string }> {
    const [command = '', target = ''] = args;
    this.calls.push([path.slice(PLUGINS.length + 1), ...args]);
    const given = this.responses[command] ?? OK;
    const output = typeof given === 'string' ? given : await given();
    if (output === OK && (command === 'mount' || command === 'mountdevice')) {
      await this.#mounter.mount('disk', target, 'flex', []);
    }
    if (output === OK && (command === 'unmount' || command === 'unmountdevice')) await this.#mounter.unmount(target);
    return { exitCode: this.exitCode, output };
  }

  commands(): readonly (string | undefined)[] {
    return this.calls.map(([, command]) => command);
  }
}

/** A node with the driver `vendor/disk`. */
async function makeFlex(hasController = true) {
  const claims = new MemoryClaims();
  const secrets = new Map<string, SecretData>();
  const devicePaths = new Map<string, string>();
  const status = { attached: [] as string[] };
  const grown: string[] = [];
  let programs: MemoryPrograms | undefined;
  const fixture = setUp({}, {}, claims, ({ fs, foreignFiles, mounter, paths, clock, recorder }) => {
    programs ??= new MemoryPrograms(mounter as MemoryMounter);
    const devices: LocalDevices = {
      formatAndMount: (device, target, fsType, options) => mounter.formatAndMount(device, target, fsType, options),
      grow: async (device, target) => void grown.push(`${device} ${target}`),
    };
    return {
      morePlugins: new FlexVolumePlugins(
        {
          ...{ fs, foreignFiles, mounter, paths, clock, recorder, programs, devices },
          hasController,
          devicePath: (name) => devicePaths.get(name),
          secrets: async (namespace, name) => secrets.get(`${namespace}/${name}`),
        },
        { directory: PLUGINS },
      ),
      attachments: { attachedVolumes: () => status.attached },
    };
  });
  if (programs === undefined) throw new Error('no programs');
  await fixture.fs.mkdir(`${PLUGINS}/vendor~disk`);
  await fixture.fs.writeFile(`${PLUGINS}/vendor~disk/disk`, '#!/bin/sh');
  return { ...fixture, claims, secrets, devicePaths, status, grown, programs };
}

const flexPod = (uid = 'u1', flex: object = {}, spec: object = {}) =>
  podOf([{ name: 'data', flexVolume: { driver: 'vendor/disk', ...flex } }], uid, spec);

describe('the response of a flexVolume driver', () => {
  const status = (output: string, exitCode = 0) => driverStatus('vendor/disk', 'mount', { exitCode, output });

  it("capabilities in a flexVolume driver's response default to upstream's values, and their keys may have any case", () => {
    const byDefault = {
      ...{ attach: true, selinuxRelabel: true, supportsMetrics: false, fsGroup: true },
      requiresFsResize: true,
    };
    expect(status(OK)).toEqual({ device: '', capabilities: byDefault });
    expect(status('{"Status":"Success","Capabilities":{"ATTACH":false,"fsGroup":"no"},"device":"/dev/sdx"}')).toEqual({
      ...{ device: '/dev/sdx', capabilities: { ...byDefault, attach: false } },
    });
    expect(status('{"status":"Success","capabilities":null}')).toEqual({ device: '', capabilities: byDefault });
  });

  it("a flexVolume driver's response may say that the command is not supported, with any exit code", () => {
    expect([status(NOT_SUPPORTED), status(NOT_SUPPORTED, 1)]).toEqual(['Not supported', 'Not supported']);
  });

  it.each([
    ['{"status":"Failure","message":"disk is gone"}', 1, 'mount command failed, status: Failure, reason: disk is gone'],
    ['{"status":"Failure"}', 0, 'mount command failed, status: Failure, reason: '],
    ['{}', 0, 'mount command failed, status: , reason: '],
    [OK, 3, 'exit status 3'],
    ['', 127, 'output must be a JSON object, but is: empty (exit code 127)'],
    ['sh: not found', 127, 'output must be a JSON object, but is: sh: not found (exit code 127)'],
    ['[]', 0, 'output must be a JSON object, but is: [] (exit code 0)'],
  ])('the flexVolume driver response %s with exit code %i is the failure: %s', (output, exitCode, why) => {
    expect(() => status(output, exitCode)).toThrow(why);
  });
});

it('options of a flexVolume replace those of the kubelet, and are sorted JSON as Go writes it', () => {
  const source = { driver: 'd', name: 'v', fsType: 'ext4', readOnly: true };
  expect(driverOptions({ ...source, options: { share: 'a<b', 'kubernetes.io/fsType': 'xfs' } })).toBe(
    '{"kubernetes.io/fsType":"xfs","kubernetes.io/pvOrVolumeName":"v","kubernetes.io/readwrite":"ro","share":"a\\u003cb"}',
  );
});

describe('a flexVolume whose driver does not attach volumes', () => {
  it("a flexVolume without attach is mounted by its driver at upstream's path with the pod's data, and unmounted with its pod", async () => {
    const { manager, programs, fs, mounter, signal } = await makeFlex();
    const pod = flexPod('u1', { fsType: 'ext4', options: { share: 'a' } }, { serviceAccountName: 'web' });
    await manager.waitForAttachAndMount(pod, signal);
    await manager.waitForAttachAndMount(pod, signal);
    expect(programs.calls).toEqual([
      ['vendor~disk/disk', 'init'],
      ['vendor~disk/disk', 'mount', `${POD_DIR}/data`, expect.any(String)],
    ]);
    expect(JSON.parse(programs.calls[1]?.[3] ?? '')).toEqual({
      ...{ 'kubernetes.io/fsType': 'ext4', 'kubernetes.io/readwrite': 'rw', 'kubernetes.io/pvOrVolumeName': 'data' },
      ...{ 'kubernetes.io/pod.name': 'pod-u1', 'kubernetes.io/pod.namespace': 'default' },
      ...{ 'kubernetes.io/pod.uid': 'u1', 'kubernetes.io/serviceAccount.name': 'web', share: 'a' },
    });
    await manager.waitForUnmount(pod, signal);
    expect(programs.calls.at(-1)).toEqual(['vendor~disk/disk', 'unmount', `${POD_DIR}/data`]);
    expect([(await mounter.mountPoints()).size, await fs.exists(`${POD_DIR}/data`)]).toEqual([0, false]);
  });

  it('a flexVolume of a read-only PVC is named after the PersistentVolume and read-only', async () => {
    const { manager, programs, claims, signal } = await makeFlex();
    claims.bind('c', 'pv-1', { flexVolume: { driver: 'vendor/disk' } });
    const pod = podOf([{ name: 'data', persistentVolumeClaim: { claimName: 'c', readOnly: true } }]);
    await manager.waitForAttachAndMount(pod, signal);
    expect(JSON.parse(programs.calls.at(-1)?.[3] ?? '')).toMatchObject({
      ...{ 'kubernetes.io/readwrite': 'ro', 'kubernetes.io/pvOrVolumeName': 'pv-1' },
    });
    const [container] = pod.spec.containers;
    expect(container && (await manager.containerMounts(pod, container, [], signal))).toMatchObject([
      { hostPath: `${POD_DIR}/pv-1`, readOnly: true, selinuxRelabel: false },
    ]);
  });

  it.each([
    ['of the type of the driver', { type: 'vendor/disk', data: { key: 'dmFsdWU=' } }, undefined],
    [
      'of another type',
      { type: 'Opaque', data: {} },
      "couldn't get secret default/s err: cannot get secret of type Opaque",
    ],
    ['that does not exist', undefined, `couldn't get secret default/s err: secrets "s" not found`],
  ])(
    'a flexVolume with a secret %s is mounted by its driver, or fails to mount with the error: $2',
    async (_what, secret, why) => {
      const { manager, programs, secrets, fs, signal } = await makeFlex();
      if (secret) secrets.set('default/s', secret);
      const mounting = manager.waitForAttachAndMount(flexPod('u1', { secretRef: { name: 's' } }), signal);
      if (why === undefined) {
        await mounting;
        expect(JSON.parse(programs.calls.at(-1)?.[3] ?? '')).toMatchObject({ 'kubernetes.io/secret/key': 'dmFsdWU=' });
        return;
      }
      expect((await errorOf(mounting)).message).toContain(why);
      expect([programs.commands(), await fs.exists(`${POD_DIR}/data`)]).toEqual([['init'], false]);
    },
  );

  it('a flexVolume gets the fsGroup of its pod, unless the pod mounts it read-only', async () => {
    const { manager, programs, fs, signal } = await makeFlex();
    const securityContext = { fsGroup: 7 };
    await manager.waitForAttachAndMount(flexPod('u1', {}, { securityContext }), signal);
    expect((await fs.stat(`${POD_DIR}/data`)).gid).toBe(7);
    expect(programs.calls.at(-1)?.[3]).toContain('"kubernetes.io/mounterArgs.FsGroup":"7"');
    await manager.waitForAttachAndMount(flexPod('u2', { readOnly: true }, { securityContext }), signal);
    expect((await fs.stat(`${ROOT}/pods/u2/volumes/vendor~disk/data`)).gid).toBe(0);
  });

  it('a flexVolume is measured if the driver says that its file system can be read', async () => {
    const { manager, programs, signal } = await makeFlex();
    programs.responses = { init: LOCAL.replace('false', 'false, "supportsMetrics": true') };
    await manager.waitForAttachAndMount(flexPod(), signal);
    expect(await manager.volumeUsage(flexPod(), signal)).toMatchObject([{ name: 'data', complete: true }]);
  });

  it('a flexVolume that its driver fails to mount leaves no directory; its pod gets the reason, and the mount is retried', async () => {
    const { manager, programs, fs, events, clock, signal } = await makeFlex();
    programs.responses = { init: LOCAL, mount: '{"status":"Failure","message":"no such disk"}' };
    await errorOf(manager.waitForAttachAndMount(flexPod(), signal));
    expect(events).toEqual([
      'FailedMount: MountVolume.SetUp failed for volume "data" : mount command failed, status: Failure, reason: no such disk',
    ]);
    expect(await fs.exists(`${POD_DIR}/data`)).toBe(false);
    programs.responses = { init: LOCAL };
    await clock.advance(500);
    expect(programs.commands()).toEqual(['init', 'mount', 'mount']);
  });

  it('V4: a flexVolume that a former kubelet process mounted is unmounted by its driver after the pod is gone', async () => {
    const { manager, newManager, programs, mounter, signal } = await makeFlex();
    await manager.waitForAttachAndMount(flexPod(), signal);
    const next = newManager();
    const life = new AbortController();
    const running = next.start(life.signal);
    await next.cleanupOrphanedPodDirs(() => false, signal);
    expect([programs.commands().at(-1), (await mounter.mountPoints()).size]).toEqual(['unmount', 0]);
    life.abort();
    await running;
  });

  it('W6: a flexVolume driver that does not answer delays only the pod of its volume, and the pod shows what it waits for', async () => {
    const { manager, programs, clock, signal } = await makeFlex();
    await manager.waitForAttachAndMount(flexPod('u1'), signal);
    programs.responses = { init: LOCAL, mount: () => new Promise(() => {}) };
    const waiting = errorOf(manager.waitForAttachAndMount(flexPod('u2'), signal));
    await clock.advance(42_000);
    expect(manager.volumeWaits('u2')).toMatchObject([
      { what: 'mount of flexVolume driver vendor/disk has not answered for 42 s' },
    ]);
    programs.responses = { init: LOCAL };
    await manager.waitForAttachAndMount(flexPod('u3'), signal);
    await clock.advance(81_000);
    expect((await waiting).message).toContain('mount of flexVolume driver vendor/disk has not answered for 123 s');
  });
});

describe('the drivers of flexVolumes', () => {
  it('a pod waits for a flexVolume driver that is not installed, and its volume is mounted after the driver was installed', async () => {
    const { manager, programs, fs, clock, signal } = await makeFlex();
    const pod = podOf([{ name: 'data', flexVolume: { driver: 'late' } }]);
    expect(manager.unsupported(pod)).toEqual([]);
    const { message } = await errorOf(manager.waitForAttachAndMount(pod, signal));
    expect(message).toContain(`no volume plugin matched: flexVolume driver late is not in ${PLUGINS}`);
    await fs.mkdir(`${PLUGINS}/.late`);
    await fs.writeFile(`${PLUGINS}/.late/late`, '');
    await fs.rename(`${PLUGINS}/.late`, `${PLUGINS}/late`);
    await clock.advance(500);
    await manager.waitForAttachAndMount(pod, signal);
    expect(programs.calls).toEqual([
      ['late/late', 'init'],
      ['late/late', 'mount', `${ROOT}/pods/u1/volumes/late/data`, expect.any(String)],
    ]);
  });

  it('a flexVolume driver whose init failed is called again, and its pods get the reason', async () => {
    const { manager, programs, clock, signal } = await makeFlex();
    programs.responses = { init: '{"status":"Failure","message":"no module"}' };
    const { message } = await errorOf(manager.waitForAttachAndMount(flexPod(), signal));
    expect(message).toContain('init command failed, status: Failure, reason: no module');
    programs.responses = { init: LOCAL };
    await clock.advance(500);
    await manager.waitForAttachAndMount(flexPod(), signal);
    expect(programs.commands()).toEqual(['init', 'init', 'mount']);
  });

  it('init of a flexVolume driver is called again after its program was replaced', async () => {
    const { manager, programs, fs, signal } = await makeFlex();
    await manager.waitForAttachAndMount(flexPod('u1'), signal);
    await manager.waitForAttachAndMount(flexPod('u2'), signal);
    await fs.writeFile(`${PLUGINS}/vendor~disk/disk`, '#!/bin/sh\n# version 2');
    await manager.waitForAttachAndMount(flexPod('u3'), signal);
    expect(programs.commands()).toEqual(['init', 'mount', 'mount', 'init', 'mount']);
  });

  it('a flexVolume command that the driver does not support is not called again', async () => {
    const { manager, programs, signal, mounter } = await makeFlex();
    programs.responses = { init: LOCAL, unmount: NOT_SUPPORTED };
    for (const uid of ['u1', 'u2']) {
      await manager.waitForAttachAndMount(flexPod(uid), signal);
      await manager.waitForUnmount(flexPod(uid), signal);
    }
    expect(programs.commands()).toEqual(['init', 'mount', 'unmount', 'mount']);
    expect((await mounter.mountPoints()).size).toBe(0);
  });
});

describe('a flexVolume whose driver attaches volumes', () => {
  it('a flexVolume whose driver attaches volumes is refused on a node without an API server', async () => {
    const { manager, programs, signal } = await makeFlex(false);
    programs.responses = {};
    const error = await errorOf(manager.waitForAttachAndMount(flexPod(), signal));
    expect(error.message).toContain(
      'flexVolume of driver vendor/disk: its driver attaches volumes, which needs an API server',
    );
  });

  const UNIQUE = 'vendor/disk/data';

  /** Starts the manager; the controller attaches each volume that is reported in use. */
  async function makeAttaching() {
    const fixture = await makeFlex();
    const { manager, clock, status, devicePaths } = fixture;
    fixture.programs.responses = { init: OK };
    devicePaths.set(UNIQUE, '/dev/sdx');
    const life = new AbortController();
    const running = manager.start(life.signal);
    await clock.settle();
    const mount = async (pod: ReturnType<typeof flexPod>): Promise<void> => {
      const mounting = manager.waitForAttachAndMount(pod, fixture.signal);
      await clock.settle();
      status.attached = [...(manager.volumesInUse() ?? [])];
      manager.volumesReported(status.attached);
      await mounting;
    };
    const stop = async (): Promise<void> => {
      life.abort();
      await running;
    };
    return { ...fixture, mount, stop };
  }

  it('V5: a flexVolume whose driver attaches volumes is mounted once for the node after it was attached, then for each pod, and unmounted after the last', async () => {
    const { manager, programs, mounter, clock, signal, mount, stop, fs } = await makeAttaching();
    await mount(flexPod('u1'));
    await mount(flexPod('u2'));
    expect(programs.calls.map(([, ...rest]) => rest.filter((arg) => !arg.startsWith('{')))).toEqual([
      ['init'],
      ['getvolumename'],
      ['waitforattach', '/dev/sdx'],
      ['mountdevice', `${DEVICES}/data`, ''],
      ['mount', `${POD_DIR}/data`],
      ['getvolumename'],
      ['mount', `${ROOT}/pods/u2/volumes/vendor~disk/data`],
    ]);
    await manager.waitForUnmount(flexPod('u1'), signal);
    await clock.settle();
    expect(programs.commands().at(-1)).toBe('unmount');
    await manager.waitForUnmount(flexPod('u2'), signal);
    await clock.settle();
    expect(programs.calls.at(-1)).toEqual(['vendor~disk/disk', 'unmountdevice', `${DEVICES}/data`]);
    expect([(await mounter.mountPoints()).size, await fs.exists(`${DEVICES}/data`)]).toEqual([0, false]);
    await stop();
  });

  it('the kubelet formats, mounts and bind-mounts a flexVolume whose driver supports attach but not mount', async () => {
    const { manager, programs, mounter, clock, signal, mount, stop } = await makeAttaching();
    programs.responses = {
      init: OK,
      ...Object.fromEntries(
        ['getvolumename', 'waitforattach', 'mountdevice', 'unmountdevice', 'mount', 'unmount'].map((command) => [
          command,
          NOT_SUPPORTED,
        ]),
      ),
    };
    await mount(flexPod('u1', { fsType: 'xfs' }));
    expect(mounter.asked).toEqual(['disk /dev/sdx xfs rw', 'bind']);
    await manager.waitForUnmount(flexPod('u1'), signal);
    await clock.settle();
    expect((await mounter.mountPoints()).size).toBe(0);
    await stop();
  });

  it('V4: a flexVolume that an earlier kubelet process staged is unmounted if no pod uses it', async () => {
    const { newManager, programs, mounter, mount, stop, fs, clock } = await makeAttaching();
    await mount(flexPod('u1'));
    await stop();
    await mounter.unmount(`${POD_DIR}/data`);
    await fs.removeAll(`${ROOT}/pods/u1`);
    const life = new AbortController();
    const running = newManager().start(life.signal);
    await clock.settle();
    expect([programs.commands().at(-1), (await mounter.mountPoints()).size]).toEqual(['unmountdevice', 0]);
    life.abort();
    await running;
  });
});

it('W3: a driver whose name is not a directory name is refused', async () => {
  const { manager, programs, signal } = await makeFlex();
  const pod = podOf([{ name: 'data', flexVolume: { driver: '../disk' } }]);
  expect((await errorOf(manager.waitForAttachAndMount(pod, signal))).message).toContain('no volume plugin matched');
  expect(programs.calls).toEqual([]);
});

it('a directory whose program is no file, or whose name is no driver name, is no flexVolume driver', async () => {
  const { fs, paths, foreignFiles, mounter } = await makeFlex();
  await fs.mkdir(`${PLUGINS}/a~..`);
  await fs.mkdir(`${PLUGINS}/b~b/b`);
  const programs = { run: async () => ({ exitCode: 0, output: LOCAL }) };
  const plugins = new FlexVolumePlugins({ fs, paths, foreignFiles, mounter, programs }, { directory: PLUGINS });
  await plugins.find();
  expect(plugins.plugins().map(({ name }) => name)).toEqual(['vendor/disk', 'kubernetes.io/flexvolume']);
});

describe('a flexVolume of a PVC that a controller has expanded', () => {
  const ATTACH = '{"status": "Success", "device": "/dev/sdx"}';

  /** A node with a pod's volume of 1 GiB that a controller has expanded to 2 GiB. */
  async function makeExpanded(responses: Record<string, string>) {
    const fixture = await makeFlex();
    const { claims, programs, status } = fixture;
    programs.responses = { waitforattach: ATTACH, ...responses };
    status.attached = ['vendor/disk/pv-1'];
    const spec = { flexVolume: { driver: 'vendor/disk' }, capacity: { storage: '2Gi' } };
    claims.bind('c', 'pv-1', spec, { status: { phase: 'Bound', capacity: { storage: '1Gi' } } });
    claims.acceptPatches();
    const pod = podOf([{ name: 'data', persistentVolumeClaim: { claimName: 'c' } }]);
    void fixture.manager.start(fixture.signal);
    fixture.manager.volumesReported(['vendor/disk/pv-1']);
    const ready = fixture.manager.waitForAttachAndMount(pod, fixture.signal);
    for (let turn = 0; turn < 20; turn++) {
      await fixture.clock.settle();
      fixture.manager.volumesReported(['vendor/disk/pv-1']);
    }
    await ready;
    return { ...fixture, expansions: programs.calls.filter(([, command]) => command === 'expandfs') };
  }

  it('a flexVolume is expanded by its driver, which gets device, path, new and former size', async () => {
    const { expansions, grown, claims } = await makeExpanded({});
    const sizes = [`${2 ** 31}`, `${2 ** 30}`];
    expect(expansions).toEqual([
      ['vendor~disk/disk', 'expandfs', expect.any(String), '/dev/sdx', `${POD_DIR}/pv-1`, ...sizes],
    ]);
    expect(JSON.parse(expansions[0]?.[2] ?? '')).toMatchObject({ 'kubernetes.io/pvOrVolumeName': 'pv-1' });
    expect([grown, claims.claims.get('default/c')?.status?.capacity]).toEqual([[], { storage: '2Gi' }]);
  });

  it('a flexVolume that is not attached is expanded although a larger PersistentVolume of the same name was used before', async () => {
    const { manager, programs, claims, signal } = await makeFlex();
    claims.acceptPatches();
    const pod = podOf([{ name: 'data', persistentVolumeClaim: { claimName: 'c' } }]);
    for (const storage of ['20Gi', '2Gi']) {
      const spec = { flexVolume: { driver: 'vendor/disk' }, capacity: { storage } };
      claims.bind('c', 'pv-1', spec, { status: { phase: 'Bound', capacity: { storage: '1Gi' } } });
      await manager.waitForAttachAndMount(pod, signal);
      await manager.waitForUnmount(pod, signal);
    }
    const expansions = programs.calls.filter(([, command]) => command === 'expandfs');
    expect(expansions.map((call) => call.at(-2))).toEqual([`${20 * 2 ** 30}`, `${2 ** 31}`]);
  });

  it('a flexVolume stays in use while its device is open on the machine, so that no controller detaches it', async () => {
    const { manager, fs, clock, signal } = await makeExpanded({});
    fs.devicesInUse.add('/dev/sdx');
    await manager.waitForUnmount(podOf([]), signal);
    await clock.advance(5_000);
    const before = manager.volumesInUse();
    fs.devicesInUse.delete('/dev/sdx');
    await clock.advance(10_000);
    expect([before, manager.volumesInUse()]).toEqual([['vendor/disk/pv-1'], []]);
  });

  it('the kubelet expands the file system of a flexVolume if the driver does not support expandfs', async () => {
    const { grown } = await makeExpanded({ expandfs: NOT_SUPPORTED });
    expect(grown).toEqual([`/dev/sdx ${POD_DIR}/pv-1`]);
  });
});
