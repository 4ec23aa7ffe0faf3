import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
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

test('a containerd that does not heed SIGTERM is killed, and whoever stops it meanwhile waits for that', async (context) => {
  const reason = cannotRun();
  if (reason !== undefined) context.skip(reason);
  const parent = await mkdtemp(join(tmpdir(), 'na-'));
  try {
    const deaf = join(parent, 'deaf');
    await writeFile(deaf, '#!/bin/sh\ntrap "" TERM\nexec sleep 60\n', { mode: 0o755 });
    const directory = join(parent, 'c');
    await mkdir(directory);
    const binaries = { version: '1.6.20', containerd: deaf, ctr: deaf, runc: deaf, cniBinDir: '/none' };
    const containerd = new Containerd({ binaries, directory, startTimeoutMs: 300, endTimeoutMs: 300 });
    await expect(containerd.startProcess()).rejects.toThrow(/does not start/);
    const { pid } = containerd;
    if (pid === undefined) throw new Error('it does not run');
    const first = containerd.stop();
    await containerd.stop();
    expect(existsSync(`/proc/${pid}/exe`)).toBe(false);
    expect(existsSync(directory)).toBe(false);
    await first;
  } finally {
    await rm(parent, { recursive: true });
  }
});
