import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { GrpcError } from '@node-agent/grpc';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { cannotGrowExt, cannotMount, controllerRpcs, DriverProcess, loopDevicesBelow, nodeRpcs } from '../src/index.ts';

const exec = promisify(execFile);
const MIB = 1 << 20;
const TIMEOUT_MS = 60_000;
const accessMode = { mode: 1 as const };
const problem = await cannotMount(['ext4']);
const cannotGrow = { ext4: await cannotGrowExt(), xfs: await cannotMount(['xfs']) };

/** Returns type and options of the mount at a path; `undefined` if nothing is mounted. */
async function mountAt(path: string): Promise<{ type: string; options: string } | undefined> {
  const found = await exec('findmnt', ['-n', '-o', 'FSTYPE,OPTIONS', '--mountpoint', path]).catch(() => undefined);
  const [type = '', options = ''] = found?.stdout.trim().split(/\s+/) ?? [];
  return type === '' ? undefined : { type, options };
}

const failure = async (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'OK',
    (error: unknown) => GrpcError.from(error).code,
  );

describe.skipIf(problem !== undefined)('CSI driver as a process', { timeout: TIMEOUT_MS }, () => {
  let directory = '';
  let driver: DriverProcess;
  let target = '';
  let staging = '';

  beforeAll(async () => {
    directory = await mkdtemp('/tmp/na-csi-');
    driver = new DriverProcess({ directory, driverName: 'test.csi.example.com', nodeId: 'n1' });
    await driver.start();
  }, TIMEOUT_MS);
  let serial = 0;
  beforeEach(() => {
    serial += 1;
    [target, staging] = [join(directory, `target-${serial}`), join(directory, `staging-${serial}`)];
  });
  afterAll(async () => {
    await driver?.stop();
    expect(await loopDevicesBelow(directory)).toEqual([]);
    await rm(directory, { recursive: true, force: true });
  }, TIMEOUT_MS);

  const mount = (fsType = '', more: object = {}) => ({ mount: { fsType, ...more }, accessMode });
  const stage = (volumeId: string, volumeCapability: object, timeoutMs?: number) =>
    driver.call(nodeRpcs.nodeStageVolume, { volumeId, stagingTargetPath: staging, volumeCapability }, timeoutMs);
  const publish = (volumeId: string, volumeCapability: object, more: object = {}) =>
    driver.call(nodeRpcs.nodePublishVolume, {
      ...{ volumeId, stagingTargetPath: staging, targetPath: target, volumeCapability },
      ...more,
    });
  const unpublish = (volumeId: string, targetPath = target) =>
    driver.call(nodeRpcs.nodeUnpublishVolume, { volumeId, targetPath });
  const unstage = (volumeId: string) =>
    driver.call(nodeRpcs.nodeUnstageVolume, { volumeId, stagingTargetPath: staging });
  const stats = async (volumeId: string) => {
    const { usage, volumeCondition } = await driver.call(nodeRpcs.nodeGetVolumeStats, { volumeId, volumePath: target });
    return { totals: usage.map(({ total }) => total), volumeCondition };
  };
  const remove = async (volumeId: string) => {
    await unpublish(volumeId);
    await unstage(volumeId);
    await driver.call(controllerRpcs.deleteVolume, { volumeId });
  };

  test('the driver bind-mounts a directory at the staging and the target path, with mount flags and read-only', async () => {
    const volumeId = await driver.createVolume('directory');
    await stage(volumeId, mount('', { mountFlags: ['noexec'] }));
    await writeFile(join(staging, 'f'), 'content');
    await publish(volumeId, mount(), { readonly: true });
    expect(await readFile(join(target, 'f'), 'utf8')).toBe('content');
    expect((await mountAt(staging))?.options).toContain('noexec');
    expect((await mountAt(target))?.options).toMatch(/\bro\b/);
    await expect(writeFile(join(target, 'g'), '')).rejects.toThrow('EROFS');
    // Repeating the call changes nothing.
    await publish(volumeId, mount(), { readonly: true });
    expect(await failure(publish(volumeId, mount()))).toBe('ALREADY_EXISTS');
    expect((await stats(volumeId)).volumeCondition).toMatchObject({ abnormal: false });
    await remove(volumeId);
    expect([existsSync(target), existsSync(driver.contentOf(volumeId, 'data'))]).toEqual([false, false]);
  });

  test.for(['ext4', 'xfs'] as const)(
    'the driver makes %s on a loop device and grows it while it is mounted; its content stays',
    async (fsType, context) => {
      if (cannotGrow[fsType] !== undefined) return context.skip(cannotGrow[fsType]);
      const sizeBytes = (fsType === 'xfs' ? 300 : 16) * MIB;
      const volumeId = await driver.createVolume(`on ${fsType}`, { fsType, sizeBytes });
      await stage(volumeId, mount(fsType));
      await publish(volumeId, mount(fsType));
      await writeFile(join(target, 'f'), 'content');
      expect((await mountAt(target))?.type).toBe(fsType);
      const [before = 0] = (await stats(volumeId)).totals;
      const capacityRange = { requiredBytes: 2 * sizeBytes };
      const expanded = await driver.call(controllerRpcs.controllerExpandVolume, { volumeId, capacityRange });
      expect(expanded).toEqual({ capacityBytes: 2 * sizeBytes, nodeExpansionRequired: true });
      await driver.call(nodeRpcs.nodeExpandVolume, { volumeId, volumePath: target, capacityRange });
      expect((await stats(volumeId)).totals[0]).toBeGreaterThan(1.5 * before);
      await unpublish(volumeId);
      await unstage(volumeId);
      await expect.poll(() => loopDevicesBelow(directory)).toEqual([]);
      await stage(volumeId, mount(fsType));
      expect(await readFile(join(staging, 'f'), 'utf8')).toBe('content');
      await remove(volumeId);
    },
  );

  test('the driver publishes a block device and grows it', async () => {
    const volumeId = await driver.createVolume('block', { isBlock: true });
    const block = { block: {}, accessMode };
    await stage(volumeId, block);
    await publish(volumeId, block);
    expect((await stat(target)).isBlockDevice()).toBe(true);
    await exec('dd', ['if=/dev/zero', `of=${target}`, 'bs=4096', 'count=1', 'conv=notrunc']);
    const capacityRange = { requiredBytes: 32 * MIB };
    await driver.call(controllerRpcs.controllerExpandVolume, { volumeId, capacityRange });
    await driver.call(nodeRpcs.nodeExpandVolume, { volumeId, volumePath: target, capacityRange });
    expect((await exec('blockdev', ['--getsize64', target])).stdout.trim()).toBe(String(32 * MIB));
    expect(await failure(driver.call(nodeRpcs.nodeUnstageVolume, { volumeId, stagingTargetPath: staging }))).toBe(
      'FAILED_PRECONDITION',
    );
    await remove(volumeId);
    await expect.poll(() => loopDevicesBelow(directory)).toEqual([]);
  });

  test('a volume from a snapshot has the content of the snapshot, and its file system fills the larger image', async () => {
    const sourceVolumeId = await driver.createVolume('source', { fsType: 'ext4' });
    await stage(sourceVolumeId, mount('ext4'));
    await writeFile(join(staging, 'f'), 'old');
    const snapshotOf = () => driver.call(controllerRpcs.createSnapshot, { name: 'snap', sourceVolumeId });
    // A mounted file system cannot be copied.
    expect(await failure(snapshotOf())).toBe('FAILED_PRECONDITION');
    await unstage(sourceVolumeId);
    const { snapshot } = await snapshotOf();
    await stage(sourceVolumeId, mount('ext4'));
    await writeFile(join(staging, 'f'), 'new');
    await unstage(sourceVolumeId);
    const { volume } = await driver.call(controllerRpcs.createVolume, {
      name: 'copy',
      capacityRange: { requiredBytes: 64 * MIB },
      volumeCapabilities: [mount('ext4')],
      volumeContentSource: { snapshot: { snapshotId: snapshot?.snapshotId ?? '' } },
    });
    const volumeId = volume?.volumeId ?? '';
    await stage(volumeId, mount('ext4'));
    await publish(volumeId, mount('ext4'));
    expect(await readFile(join(target, 'f'), 'utf8')).toBe('old');
    expect((await stats(volumeId)).totals[0]).toBeGreaterThan(48 * MIB);
    await remove(volumeId);
    await driver.call(controllerRpcs.deleteVolume, { volumeId: sourceVolumeId });
  });

  test('an inline volume is created when it is published, and deleted when it is unpublished', async () => {
    const volumeContext = { 'csi.storage.k8s.io/ephemeral': 'true', size: '1Mi' };
    const inline = { volumeContext, stagingTargetPath: '' };
    await publish('csi-inline', mount(), inline);
    await writeFile(join(target, 'f'), '');
    expect(await readdir(driver.contentOf('csi-inline', 'data'))).toEqual(['f']);
    expect((await driver.call(controllerRpcs.listVolumes, {})).entries).toEqual([]);
    await unpublish('csi-inline');
    expect(existsSync(driver.contentOf('csi-inline', 'data'))).toBe(false);
    // The call is repeated, as a caller does whose response was lost.
    await unpublish('csi-inline');
    expect(await failure(publish('csi-other', mount(), { stagingTargetPath: '' }))).toBe('NOT_FOUND');
  });

  test('a killed driver has its volumes again after a restart, and their mounts stay', async () => {
    const volumeId = await driver.createVolume('kept', { fsType: 'ext4' });
    await stage(volumeId, mount('ext4'));
    await publish(volumeId, mount('ext4'));
    await driver.kill('SIGKILL');
    expect((await mountAt(target))?.type).toBe('ext4');
    await driver.start();
    await publish(volumeId, mount('ext4'));
    expect((await readFile('/proc/self/mountinfo', 'utf8')).split(` ${target} `)).toHaveLength(2);
    await remove(volumeId);
  });

  describe('faults on demand', () => {
    test('a fault rule fails a call with a code and message, as often as the rule says', async () => {
      await driver.control({ faults: [{ rpc: 'NodeGetInfo', code: 'UNAVAILABLE', message: 'not now', times: 2 }] });
      const info = () => driver.call(nodeRpcs.nodeGetInfo, {});
      await expect(info()).rejects.toThrow('rpc error: code = Unavailable desc = not now');
      await expect(info()).rejects.toThrow('not now');
      expect((await info()).nodeId).toBe('n1');
    });

    test('a fault rule delays a call', async () => {
      await driver.control({ faults: [{ rpc: '*', delayMs: 300 }] });
      const startedAt = performance.now();
      await driver.call(nodeRpcs.nodeGetInfo, {});
      expect(performance.now() - startedAt).toBeGreaterThan(290);
      await driver.control({});
    });

    test('a hanging call keeps its volume busy until its fault rule is removed, and is then executed', async () => {
      const [volumeId, other] = [await driver.createVolume('hangs'), await driver.createVolume('free')];
      await driver.control({ faults: [{ rpc: 'NodeStageVolume', volumeId, at: 'middle', hang: true }] });
      expect(await failure(stage(volumeId, mount(), 300))).toBe('DEADLINE_EXCEEDED');
      expect(await failure(stage(volumeId, mount()))).toBe('ABORTED');
      expect((await driver.call(nodeRpcs.nodeGetCapabilities, {})).capabilities).not.toEqual([]);
      expect(await failure(driver.call(controllerRpcs.deleteVolume, { volumeId: other }))).toBe('OK');
      expect(await mountAt(staging)).toBeUndefined();
      await driver.control({});
      await expect.poll(() => mountAt(staging)).toBeDefined();
      await remove(volumeId);
    });

    test('hitsLeft does not count a call that already hangs', async () => {
      const volumeId = await driver.createVolume('counted');
      await driver.control({ faults: [{ rpc: 'NodeStageVolume', at: 'middle', hang: true, times: 2 }] });
      expect(await driver.hitsLeft()).toBe(2);
      expect(await failure(stage(volumeId, mount(), 300))).toBe('DEADLINE_EXCEEDED');
      expect(await driver.hitsLeft()).toBe(1);
      await driver.control({});
      expect(await driver.hitsLeft()).toBe(0);
      await expect.poll(() => mountAt(staging)).toBeDefined();
      await remove(volumeId);
    });

    test('a driver that dies in the middle of NodeStageVolume completes the repeated call after its restart', async () => {
      const volumeId = await driver.createVolume('dies', { fsType: 'ext4' });
      await driver.control({ faults: [{ rpc: 'NodeStageVolume', at: 'middle', die: true, times: 1 }] });
      expect(await failure(stage(volumeId, mount('ext4')))).toBe('UNAVAILABLE');
      await expect.poll(() => driver.isRunning).toBe(false);
      // The loop device is attached, and nothing is mounted.
      expect([(await loopDevicesBelow(directory)).length, await mountAt(staging)]).toEqual([1, undefined]);
      await driver.start();
      await stage(volumeId, mount('ext4'));
      expect((await mountAt(staging))?.type).toBe('ext4');
      expect(await loopDevicesBelow(directory)).toHaveLength(1);
      await remove(volumeId);
    });

    test('a call that fails after it has taken effect succeeds when it is repeated', async () => {
      const volumeId = await driver.createVolume('late');
      await driver.control({ faults: [{ rpc: 'NodeStageVolume', at: 'after', code: 'DEADLINE_EXCEEDED', times: 1 }] });
      expect(await failure(stage(volumeId, mount()))).toBe('DEADLINE_EXCEEDED');
      expect(await mountAt(staging)).toBeDefined();
      await stage(volumeId, mount());
      await remove(volumeId);
    });

    test('a fault rule makes the driver respond with bytes that are not a message', async () => {
      await driver.control({ faults: [{ rpc: 'NodeGetInfo', garbage: true, times: 1 }] });
      expect(await failure(driver.call(nodeRpcs.nodeGetInfo, {}))).toBe('INTERNAL');
      expect((await driver.call(nodeRpcs.nodeGetInfo, {})).nodeId).toBe('n1');
    });

    test("the control file sets a volume's condition to abnormal, and another volume limit", async () => {
      const volumeId = await driver.createVolume('ill');
      await driver.control({ unhealthy: { [volumeId]: 'disk failing' }, maxVolumesPerNode: 7 });
      await stage(volumeId, mount());
      await publish(volumeId, mount());
      expect((await stats(volumeId)).volumeCondition).toEqual({ abnormal: true, message: 'disk failing' });
      expect((await driver.call(nodeRpcs.nodeGetInfo, {})).maxVolumesPerNode).toBe(7);
      await driver.control({});
      await remove(volumeId);
    });
  });

  test('the call log has the keys of secrets and not their values', async () => {
    const volumeId = await driver.createVolume('secret');
    const secrets = { user: 'xyzzy' };
    await driver.call(nodeRpcs.nodeStageVolume, {
      volumeId,
      stagingTargetPath: staging,
      volumeCapability: mount(),
      secrets,
    });
    const call = (await driver.calls('NodeStageVolume')).at(-1);
    expect(call).toMatchObject({ code: 'OK', request: { volumeId, secrets: ['user'] } });
    expect(JSON.stringify(await driver.calls()) + (await readFile(driver.logFile, 'utf8'))).not.toContain('xyzzy');
    await unstage(volumeId);
    await driver.call(controllerRpcs.deleteVolume, { volumeId });
  });
});

describe.skipIf(problem !== undefined)('CSI driver without NodeStageVolume', { timeout: TIMEOUT_MS }, () => {
  test('a driver without NodeStageVolume mounts a file system at the first publication with the group of the capability, and unmounts it after the last', async () => {
    const directory = await mkdtemp('/tmp/na-csi-');
    const flags = ['--omit-stage', '--enable-volume-mount-group'];
    const driver = new DriverProcess({ directory, driverName: 'test.csi.example.com', nodeId: 'n1', flags });
    try {
      await driver.start();
      const volumeId = await driver.createVolume('v', { fsType: 'ext4' });
      const volumeCapability = {
        mount: { fsType: 'ext4', volumeMountGroup: '4321' },
        accessMode: { mode: 7 as const },
      };
      const targets = ['t1', 't2'].map((name) => join(directory, name));
      for (const targetPath of targets) {
        await driver.call(nodeRpcs.nodePublishVolume, { volumeId, targetPath, volumeCapability });
        const { gid, mode } = await stat(targetPath);
        expect([gid, mode & 0o2070]).toEqual([4321, 0o2070]);
      }
      const { capabilities } = await driver.call(nodeRpcs.nodeGetCapabilities, {});
      expect(capabilities.map(({ rpc }) => rpc?.type)).toEqual(expect.arrayContaining([6]));
      expect(capabilities.map(({ rpc }) => rpc?.type)).not.toContain(1);
      for (const targetPath of targets) {
        expect(await loopDevicesBelow(directory)).toHaveLength(1);
        await driver.call(nodeRpcs.nodeUnpublishVolume, { volumeId, targetPath });
      }
      await expect.poll(() => loopDevicesBelow(directory)).toEqual([]);
    } finally {
      await driver.stop();
      await rm(directory, { recursive: true });
    }
  });
});
