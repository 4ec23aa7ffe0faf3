import { expect, test } from 'vitest';
import { nodeWarnings } from '../src/node/node-warnings.ts';

test.each([
  [{ cgroupVersion: 2, swapOn: false }, false, []],
  [{ cgroupVersion: 2, swapOn: true }, true, []],
  [{ cgroupVersion: 2, swapOn: true }, false, ['PossibleMemoryBackedVolumesOnDisk']],
  [{ cgroupVersion: 1, swapOn: false }, false, ['CgroupV1']],
  [{ cgroupVersion: 1, swapOn: true }, false, ['CgroupV1', 'PossibleMemoryBackedVolumesOnDisk']],
] as const)('warnings of a node with %j and tmpfs noswap support %s: %j', async (machine, noswap, reasons) => {
  const warnings = await nodeWarnings(machine, async () => noswap);
  expect(warnings.map(({ reason }) => reason)).toEqual(reasons);
});
