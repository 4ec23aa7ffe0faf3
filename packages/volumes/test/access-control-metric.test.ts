import { expect, it } from 'vitest';
import { claimPod, DRIVER, makeCsi } from './csi-helpers.ts';

const CHANGED = `storage_operation_duration_seconds kubernetes.io/csi:${DRIVER} volume_apply_access_control success false`;

it.each([
  ['is measured if the group is changed', 'Always', [CHANGED]],
  ['is not measured if the root directory has the group', 'OnRootMismatch', []],
] as const)('the group change of a volume %s (recorded metrics: $2)', async (_what, fsGroupChangePolicy, expected) => {
  const { manager, fs, driver, durations, signal } = makeCsi();
  driver.after = async (call) => {
    const target = driver.publishes.at(-1)?.targetPath;
    if (!call.startsWith('publish') || target === undefined) return;
    await fs.chown(target, 0, 500);
    await fs.chmod(target, 0o2770);
  };
  await manager.waitForAttachAndMount(
    claimPod('u1', { securityContext: { fsGroup: 500, fsGroupChangePolicy } }),
    signal,
  );
  expect(durations.filter((name) => name.includes('access_control'))).toEqual(expected);
});
