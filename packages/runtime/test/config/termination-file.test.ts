import { FakeClock } from '@node-agent/async/testing';
import { MemoryFileSystem } from '@node-agent/host/testing';
import { describe, expect, it } from 'vitest';
import { createTerminationMessageFile } from '../../src/config/termination-file.ts';

describe('createTerminationMessageFile', () => {
  it('the termination message file is empty, writable for any user, and has a new name each time', async () => {
    const fs = new MemoryFileSystem({ clock: new FakeClock() });
    const numbers = [0.5, 0];
    const random = { next: () => numbers.shift() ?? 0 };
    const first = await createTerminationMessageFile(fs, random, '/root', 'uid-1', 'app');
    const second = await createTerminationMessageFile(fs, random, '/root', 'uid-1', 'app');
    expect([first, second]).toEqual([
      '/root/pods/uid-1/containers/app/80000000',
      '/root/pods/uid-1/containers/app/00000000',
    ]);
    expect(await fs.stat(first)).toMatchObject({ kind: 'file', sizeBytes: 0, mode: 0o666 });
    expect(await fs.stat('/root/pods/uid-1/containers/app')).toMatchObject({ mode: 0o750 });
  });
});
