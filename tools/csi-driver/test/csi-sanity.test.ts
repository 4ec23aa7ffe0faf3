import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { cannotMount, DriverProcess, findCsiSanity, loopDevicesBelow } from '../src/index.ts';

const exec = promisify(execFile);
const MIB = 1 << 20;

const found = await findCsiSanity((text) => void process.stderr.write(`${text}\n`));
const problem = 'reason' in found ? found.reason : await cannotMount(['ext4']);

/** Flags with which the driver offers everything that csi-sanity tests. */
const FLAGS = [
  ...['--enable-attach', '--attach-limit=4', '--maxvolumespernode=4', '--check-volume-lifecycle'],
  ...['--enable-controller-modify-volume', '--accepted-mutable-parameter-names=e2eVacTest'],
];

describe('csi-sanity', { timeout: 120_000 }, () => {
  test.for<readonly [string, readonly string[]]>([
    ['directories', []],
    ['block devices', ['--csi.testvolumeaccesstype=block']],
    ['file systems on loop devices', ['--csi.testvolumeparameters=ext4.yaml']],
  ])(
    'the driver passes all 91 specs of csi-sanity with %s, and leaves neither mounts nor loop devices',
    async ([, args], context) => {
      if (problem !== undefined || 'reason' in found) return context.skip(problem);
      const directory = await mkdtemp('/tmp/na-csi-');
      const driver = new DriverProcess({ directory, driverName: 'test.csi.example.com', nodeId: 'n1', flags: FLAGS });
      try {
        await writeFile(join(directory, 'mutable.yaml'), 'e2eVacTest: test-value\n');
        await writeFile(join(directory, 'ext4.yaml'), 'fsType: ext4\n');
        await driver.start();
        const { stdout } = await exec(
          found.binaries.program,
          [
            ...[`--csi.endpoint=unix://${driver.socketPath}`, '--csi.testvolumemutableparameters=mutable.yaml'],
            ...[`--csi.mountdir=${directory}/target`, `--csi.stagingdir=${directory}/staging`],
            ...[`--csi.testvolumesize=${10 * MIB}`, `--csi.testvolumeexpandsize=${20 * MIB}`],
            ...['--csi.testnodevolumeattachlimit', '--ginkgo.no-color', ...args],
          ],
          { cwd: directory, maxBuffer: 16 * MIB },
        ).catch((error: { readonly stdout?: string }) => ({ stdout: error.stdout ?? String(error) }));
        // The pending spec is switched off in csi-sanity itself.
        expect(stdout).toContain('91 Passed | 0 Failed | 1 Pending | 0 Skipped');
        expect((await exec('findmnt', ['-l', '-o', 'TARGET'])).stdout).not.toContain(directory);
        await expect.poll(() => loopDevicesBelow(directory)).toEqual([]);
      } finally {
        await driver.stop();
        await rm(directory, { recursive: true });
      }
    },
  );
});
