import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Containerd, cannotRun } from '../src/index.ts';

test('a containerd that does not start says why, and leaves nothing mounted or running', async (context) => {
  const reason = cannotRun();
  if (reason !== undefined) context.skip(reason);
  const parent = await mkdtemp(join(tmpdir(), 'na-'));
  try {
    const broken = join(parent, 'broken');
    await writeFile(broken, '#!/bin/sh\necho "cannot do that" >&2\nexit 3\n', { mode: 0o755 });
    const directory = join(parent, 'c');
    const binaries = { version: '1.6.20', containerd: broken, ctr: broken, runc: broken, cniBinDir: '/none' };
    const containerd = new Containerd({ binaries, directory });
    await expect(containerd.start()).rejects.toThrow(/does not start: it ended with 3\s+cannot do that/);
    expect(existsSync(directory)).toBe(false);
    expect(await readFile('/proc/self/mountinfo', 'utf8')).not.toContain(parent);
  } finally {
    await rm(parent, { recursive: true });
  }
});
