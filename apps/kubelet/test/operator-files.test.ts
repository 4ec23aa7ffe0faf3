import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ConfigError, loadKubeletConfig } from '@node-agent/config';
import { loadKubeconfig } from '@node-agent/kube-client';
import { ClientCaFile } from '@node-agent/server';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { operatorFiles as fs } from '../src/process/operator-files.ts';

const MI = 1024 * 1024;
let directory = '';
let fifo = '';
let large = '';

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'operator-files-'));
  await mkdir(join(directory, 'conf.d'));
  fifo = join(directory, 'conf.d/10.conf');
  large = join(directory, 'large');
  await promisify(execFile)('mkfifo', [fifo]);
  await writeFile(large, '');
  await truncate(large, MI + 1);
});
afterAll(async () => {
  await rm(directory, { recursive: true });
});

describe('operatorFiles', () => {
  test("reads an operator's file of exactly 1 MiB", async () => {
    const path = join(directory, 'full');
    await writeFile(path, new Uint8Array(MI));
    expect((await fs.readFile(path)).length).toBe(MI);
  });

  test.each([
    ['a FIFO without a writer', () => fifo, 'is not a regular file'],
    ['an endless device', () => '/dev/zero', 'is not a regular file'],
    ['a file of more than 1 MiB', () => large, 'is larger than 1 MiB'],
  ])('refuses to read %s, with an error that names the path', async (_name, path, problem) => {
    await expect(fs.readFile(path())).rejects.toThrow(`${path()} ${problem}`);
  });

  test('reading a missing file fails with ENOENT', async () => {
    await expect(fs.readFile(join(directory, 'none'))).rejects.toMatchObject({ code: 'ENOENT' });
  });
});

describe('a FIFO in place of a file that the kubelet reads', () => {
  const configuration = (argv: readonly string[]) =>
    loadKubeletConfig({ argv, fs, workingDirectory: directory }).then(
      () => undefined,
      (error: unknown) => (ConfigError.is(error) ? error.issues.map(({ message }) => message) : error),
    );

  test('refuses a configuration whose file or drop-in file is a FIFO or larger than 1 MiB', async () => {
    const problem = [`cannot be read: ${fifo} is not a regular file`];
    expect(await configuration(['--config', fifo])).toEqual(problem);
    expect(await configuration(['--config-dir', join(directory, 'conf.d')])).toEqual(problem);
    expect(await configuration(['--config', large])).toEqual([`cannot be read: ${large} is larger than 1 MiB`]);
  });

  test('refuses a kubeconfig or a client CA bundle that is a FIFO', async () => {
    await expect(loadKubeconfig({ fs }, fifo)).rejects.toThrow(`${fifo} is not a regular file`);
    await expect(new ClientCaFile({ fs }, fifo).load()).rejects.toThrow(`${fifo} is not a regular file`);
  });
});
