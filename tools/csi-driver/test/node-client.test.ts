import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { CsiVolumeCapability } from '@node-agent/contracts';
import { CsiNodeClient } from '@node-agent/csi';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { cannotMount, DriverProcess, loopDevicesBelow } from '../src/index.ts';
import { mountCapability } from './values.ts';

const exec = promisify(execFile);
const NAME = 'test.csi.example.com';
const { signal } = new AbortController();
const problem = await cannotMount(['xfs']);

describe.skipIf(problem !== undefined)(
  "CsiNodeClient of @node-agent/csi with this driver's process",
  { timeout: 60_000 },
  () => {
    let directory = '';
    let driver: DriverProcess;
    let client: CsiNodeClient;
    let targetPath = '';
    let stagingTargetPath = '';

    const clientOf = (timeoutMs: number) =>
      new CsiNodeClient({}, { name: NAME, socketPath: driver.socketPath, timeoutMs });

    beforeEach(async () => {
      directory = await mkdtemp('/tmp/na-csi-');
      [targetPath, stagingTargetPath] = [join(directory, 'target'), join(directory, 'staging')];
      driver = new DriverProcess({ directory, driverName: NAME, nodeId: 'n1', flags: ['--maxvolumespernode=5'] });
      await driver.start();
      client = clientOf(30_000);
    });
    afterEach(async () => {
      client.close();
      await driver.stop();
      await rm(directory, { recursive: true });
    });

    const requestFor = (volumeId: string, capability: CsiVolumeCapability) => {
      const common = { volumeId, capability, publishContext: {}, volumeContext: {}, secrets: {}, stagingTargetPath };
      return { common, publish: { ...common, targetPath, readOnly: false } };
    };

    test('CsiNodeClient stages, publishes, measures and grows a file system with this driver, and unpublishes and unstages it', async () => {
      expect(await client.nodeInfo(signal)).toMatchObject({ nodeId: 'n1' });
      expect(await client.capabilities(signal)).toEqual({
        ...{ stageUnstage: true, volumeStats: true, expandVolume: true, volumeCondition: true },
        ...{ singleNodeMultiWriter: true, volumeMountGroup: false },
      });
      const sizeBytes = 300 << 20;
      const volumeId = await driver.createVolume('v', { fsType: 'xfs', sizeBytes });
      const { common, publish } = requestFor(volumeId, mountCapability('xfs', 'SINGLE_NODE_MULTI_WRITER', ['noatime']));
      await client.stageVolume(common, signal);
      await client.publishVolume(publish, signal);
      await writeFile(join(targetPath, 'f'), 'content');
      const { stdout } = await exec('findmnt', ['-n', '-o', 'FSTYPE,OPTIONS', '--mountpoint', targetPath]);
      expect(stdout).toMatch(/^xfs\s.*noatime/);
      const before = await client.volumeStats(volumeId, targetPath, stagingTargetPath, signal);
      expect(before.condition).toEqual({ abnormal: false, message: 'the volume is healthy' });
      const requiredBytes = BigInt(2 * sizeBytes);
      const grown = {
        volumeId,
        volumePath: targetPath,
        stagingTargetPath,
        requiredBytes,
        capability: common.capability,
        secrets: {},
      };
      expect(await client.expandVolume(grown, signal)).toBe(requiredBytes);
      const after = await client.volumeStats(volumeId, targetPath, stagingTargetPath, signal);
      const totalOf = ({ usage }: typeof after) => Number(usage.find(({ unit }) => unit === 'bytes')?.total);
      expect(totalOf(after)).toBeGreaterThan(1.5 * totalOf(before));
      await client.unpublishVolume(volumeId, targetPath, signal);
      await client.unstageVolume(volumeId, stagingTargetPath, signal);
      await expect.poll(() => loopDevicesBelow(directory)).toEqual([]);
    });

    test('CsiNodeClient distinguishes final failures of this driver from failures after which the volume may be staged', async () => {
      const volumeId = await driver.createVolume('v');
      const { common } = requestFor(volumeId, mountCapability());
      const failure = async (fault: object, caller = client) => {
        await driver.control({ faults: [{ rpc: 'NodeStageVolume', times: 1, ...fault }] });
        const error: unknown = await caller.stageVolume(common, signal).catch((thrown: unknown) => thrown);
        const { code, isFinal, message } = error as { code: string; isFinal: boolean; message: string };
        return [code, isFinal, message];
      };
      expect(await failure({ code: 'INTERNAL', message: 'broken' })).toEqual([
        ...['INTERNAL', true, 'rpc error: code = Internal desc = broken'],
      ]);
      expect((await failure({ at: 'after', code: 'ABORTED' })).slice(0, 2)).toEqual(['ABORTED', false]);
      expect((await failure({ garbage: true })).slice(1, 2)).toEqual([false]);
      const hasty = clientOf(1_500);
      expect((await failure({ at: 'after', delayMs: 2_500 }, hasty)).slice(0, 2)).toEqual(['DEADLINE_EXCEEDED', false]);
      hasty.close();
      // The volume is still busy, because the call that timed out has not ended in the driver.
      expect((await failure({ rpc: 'Probe' })).slice(0, 2)).toEqual(['ABORTED', false]);
      await expect.poll(async () => (await driver.calls('NodeStageVolume')).at(-1)?.durationMs).toBeGreaterThan(2_400);
      await client.stageVolume(common, signal);
      expect((await failure({ die: true })).slice(0, 2)).toEqual(['UNAVAILABLE', false]);
      await driver.start();
      await client.stageVolume(common, signal);
      expect(await readFile('/proc/self/mountinfo', 'utf8')).toContain(` ${stagingTargetPath} `);
    });
  },
);
