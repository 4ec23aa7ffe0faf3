import { existsSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { builtImage } from '../src/disk.ts';
import { runInMachine } from '../src/machine.ts';
import { fillShare, suiteCommand } from '../src/share.ts';

/** Time limit in ms; the suite takes half a minute on an idle machine. */
const TIMEOUT_MS = 600_000;
const NAME = 'runs the suite for memory pressure, eviction and external cgroup changes on cgroup v2 with systemd';

const image = builtImage();
const hasEmulator = (process.env.PATH ?? '').split(':').some((path) => existsSync(join(path, 'qemu-system-x86_64')));
const missing = [
  ...(hasEmulator ? [] : ['no qemu-system-x86_64']),
  ...(image === undefined ? ['no virtual machine (build one with `npm run test-v2 -- build`)'] : []),
];

if (image === undefined || !hasEmulator) test(NAME, (context) => context.skip(missing.join(', ')));
else {
  test(NAME, { timeout: TIMEOUT_MS }, async () => {
    const share = join(import.meta.dirname, '../.run', `test-${process.pid}`);
    let output = '';
    const onOutput = (bytes: Buffer): void => {
      output += bytes;
    };
    await mkdir(share, { recursive: true });
    try {
      await fillShare(share, ['pressure'], () => undefined);
      const status = await runInMachine(image, suiteCommand(['pressure']), { share, timeoutMs: TIMEOUT_MS, onOutput });
      expect(status, output).toBe(0);
      expect(output).toMatch(/tests [1-9]\d*\r?\n/);
      expect(output).toMatch(/fail 0\r?\n/);
    } finally {
      await rm(share, { recursive: true, force: true });
    }
  });
}
