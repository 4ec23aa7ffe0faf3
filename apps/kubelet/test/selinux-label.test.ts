import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { labelForContainers } from '../src/node/selinux-label.ts';

test('sets the SELinux label for containers on a directory of any name', async () => {
  const runs: unknown[] = [];
  await labelForContainers('/var/lib/kubelet/device-plugins', async (...run) => void runs.push(run));
  await labelForContainers('--reference=/', async (...run) => void runs.push(run));
  const label = 'system_u:object_r:container_file_t:s0';
  expect(runs).toEqual([
    ['chcon', [label, '--', '/var/lib/kubelet/device-plugins']],
    ['chcon', [label, '--', '--reference=/']],
  ]);
});

test('setting an SELinux label fails with the error output of chcon', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'selinux-'));
  try {
    await expect(labelForContainers(join(directory, 'missing'))).rejects.toThrow(/chcon: .*missing/);
  } finally {
    await rm(directory, { recursive: true });
  }
});
