import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Containerd, cannotRun } from '../src/index.ts';

test('a failed start reports the log and leaves nothing mounted or running', async (context) => {
  const reason = cannotRun();
  if (reason !== undefined) context.skip(reason);
  const parent = await mkdtemp(join(tmpdir(), 'na-'));
  try {
    const broken = join(parent, 'broken');
    await writeFile(broken, '#!/bin/sh\necho "cannot do that" >&2\nexit 3\n', { mode: 0o755 });
    const directory = join(parent, 'c');
    const binaries = { version: '1.6.20', containerd: broken, ctr: broken, runc: broken, cniBinDir: '/none' };
    const containerd = new Containerd({ binaries, directory });
    await expect(containerd.start()).rejects.toThrow(/start containerd: exited with 3\s+cannot do that/);
    expect(existsSync(directory)).toBe(false);
    expect(await readFile('/proc/self/mountinfo', 'utf8')).not.toContain(parent);
  } finally {
    await rm(parent, { recursive: true });
  }
});

test('kills a containerd that ignores SIGTERM, and concurrent stops wait for that', async (context) => {
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
    await expect(containerd.startProcess()).rejects.toThrow(/start containerd/);
    const { pid } = containerd;
    if (pid === undefined) throw new Error('not running');
    const first = containerd.stop();
    await containerd.stop();
    expect(existsSync(`/proc/${pid}/exe`)).toBe(false);
    expect(existsSync(directory)).toBe(false);
    await first;
  } finally {
    await rm(parent, { recursive: true });
  }
});

// The fake program never responds, so the start continues until it is stopped.
test.each([0, 1, 20, 60, 150, 400])(
  'stopping a start after %i ms rejects the start and leaves nothing behind',
  async (afterMs) => {
    const reason = cannotRun();
    if (reason !== undefined) return;
    const parent = await mkdtemp(join(tmpdir(), 'na-'));
    try {
      const mute = join(parent, 'mute');
      await writeFile(mute, `#!/bin/sh\necho $$ > ${parent}/pid\nexec sleep 60\n`, { mode: 0o755 });
      const directory = join(parent, 'c');
      const binaries = { version: '1.6.20', containerd: mute, ctr: mute, runc: mute, cniBinDir: '/none' };
      const containerd = new Containerd({ binaries, directory, subnet: '10.254.251.0/24' });
      const started = containerd.start().catch((error: Error) => error.message);
      if (afterMs > 0) await new Promise((resolve) => setTimeout(resolve, afterMs));
      await containerd.stop();
      expect(await started).toBe('containerd was stopped during its start');
      expect(containerd.pid).toBe(undefined);
      const pid = await readFile(join(parent, 'pid'), 'utf8').catch(() => undefined);
      expect(pid !== undefined && existsSync(`/proc/${pid.trim()}/exe`)).toBe(false);
      expect(existsSync(directory)).toBe(false);
      expect(await readFile('/proc/self/mountinfo', 'utf8')).not.toContain(parent);
      // Containerd can be started again, even while a stop is in progress.
      const stopping = containerd.stop();
      const again = containerd.start().catch((error: Error) => error.message);
      await containerd.stop();
      await stopping;
      expect(await again).toBe('containerd was stopped during its start');
      expect(existsSync(directory)).toBe(false);
    } finally {
      await rm(parent, { recursive: true });
    }
  },
);
