import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { kernelFileSystem } from '../src/kernel-file-system.ts';
import { nodeKernelFiles } from '../src/kernel-files.ts';
import { mountIdOf } from '../src/mount-id.ts';
import { nodeFileSystem } from '../src/node-file-system.ts';
import { codeOf } from './compliance.ts';

// The files in /proc and cgroups exist only on Linux.
describe.skipIf(!existsSync('/proc/self/fd'))('synchronous reads of kernel files', () => {
  it('synchronous and asynchronous reads of kernel files return the same', async () => {
    const bytes = await nodeFileSystem.readFile('/proc/self/limits');
    expect(nodeKernelFiles.readFile('/proc/self/limits')).toBe(new TextDecoder().decode(bytes));
    const entries = nodeKernelFiles.readdir('/proc/sys/kernel');
    expect([...entries].sort((a, b) => (a.name < b.name ? -1 : 1))).toEqual(
      await nodeFileSystem.readdir('/proc/sys/kernel'),
    );
    expect(nodeKernelFiles.readlink('/proc/self/exe')).toBe(process.execPath);
    expect(nodeKernelFiles.stat('/proc/self/limits').kind).toBe('file');
  });

  it('nodeKernelFiles reads a kernel file completely if it needs several reads', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'kernel-files-'));
    try {
      const text = '0123456789'.repeat(10_000);
      await writeFile(join(directory, 'long'), text);
      expect(nodeKernelFiles.readFile(join(directory, 'long'))).toBe(text);
    } finally {
      await rm(directory, { recursive: true });
    }
  });

  it('nodeKernelFiles finds files with any bytes in their names, because a container may create cgroups of any name', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'kernel-files-'));
    try {
      const named = Buffer.concat([Buffer.from(`${directory}/`), Buffer.from([0x67, 0xff])]);
      await mkdir(named);
      await writeFile(Buffer.concat([named, Buffer.from('/procs')]), '7');
      const [group] = nodeKernelFiles.readdir(directory);
      expect(nodeKernelFiles.readFile(`${directory}/${group?.name}/procs`)).toBe('7');
      await expect(kernelFileSystem.readFile(`${directory}/${group?.name}/procs`)).resolves.toEqual(Buffer.from('7'));
    } finally {
      await rm(directory, { recursive: true });
    }
  });

  it('a read of an endless kernel file fails with EFBIG', async () => {
    expect(() => nodeKernelFiles.readFile('/dev/zero')).toThrow(
      expect.objectContaining({ code: 'EFBIG', syscall: 'read', path: '/dev/zero' }),
    );
  });

  it('reading kernel files and mount IDs leaves no file descriptor open', () => {
    const held = () => nodeKernelFiles.readdir('/proc/self/fd').length;
    const before = held();
    for (let n = 0; n < 10; n++) {
      nodeKernelFiles.readFile('/proc/self/limits');
      mountIdOf(0);
    }
    expect(held()).toBe(before);
  });

  it('mountIdOf returns the mount ID of an open file', () => {
    const told = ['/proc', '/'].map((path) => {
      const fd = openSync(path, 'r');
      try {
        const [, id] = /mnt_id:\s*(\d+)/.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'latin1')) ?? [];
        return [mountIdOf(fd), id];
      } finally {
        closeSync(fd);
      }
    });
    for (const [mine, its] of told) expect(mine).toBe(its);
    expect(told[0]?.[0]).not.toBe(told[1]?.[0]);
  });

  it("errors of kernel file reads have the system's code", async () => {
    for (const look of ['readFile', 'readdir', 'readlink', 'stat'] as const) {
      await expect(codeOf(Promise.resolve().then(() => nodeKernelFiles[look]('/proc/none')))).resolves.toBe('ENOENT');
    }
    await expect(codeOf(Promise.resolve().then(() => nodeKernelFiles.readFile('/proc')))).resolves.toBe('EISDIR');
  });
});
