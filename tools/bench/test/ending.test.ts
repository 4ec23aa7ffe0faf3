import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ClusterPods } from '../src/cluster/cluster-pods.ts';

const COMMAND = new URL('../src/command.ts', import.meta.url);

/** Runs a program that executes `work` with a temporary directory, whose name it prints first. */
async function ended(
  work: string,
  signal?: NodeJS.Signals,
): Promise<{ code: unknown; directory: string; error: string }> {
  const program = `
    import { inDirectoryOfItsOwn, runCommand } from ${JSON.stringify(COMMAND.href)};
    const work = (directory, signal) => new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => setTimeout(() => reject(signal.reason), 50));
      setTimeout(() => {}, 60_000).unref();
      const alive = setInterval(() => {}, 1000);
      signal.addEventListener('abort', () => clearInterval(alive));
      process.stdout.write(directory + '\\n');
      ${work}
    });
    runCommand(() => inDirectoryOfItsOwn('na-test-', work), (text) => process.stderr.write(text));`;
  const args = ['--conditions=@node-agent/source', '--disable-warning=ExperimentalWarning', '--input-type=module'];
  const child = spawn(process.execPath, [...args, '-e', program], { timeout: 30_000 });
  let directory = '';
  let error = '';
  child.stdout.on('data', (text: Buffer) => {
    directory += text;
    if (signal !== undefined) child.kill(signal);
  });
  child.stderr.on('data', (text: Buffer) => {
    error += text;
  });
  const [code] = await once(child, 'close');
  return { code, directory: directory.trim(), error };
}

test.each([
  ['a rejection', "Promise.reject(new Error('not handled'));"],
  ['an error of a stream', "setImmediate(() => process.stderr.emit('error', new Error('not handled')));"],
])('%s that is not handled aborts the work, and the temporary directory is removed', async (_what, work) => {
  const { code, directory, error } = await ended(work);
  expect(directory).toContain('na-test-');
  expect([code, error, existsSync(directory)]).toEqual([1, 'not handled', false]);
});

test('SIGTERM aborts the work, and the temporary directory is removed', async () => {
  const { code, directory, error } = await ended('', 'SIGTERM');
  expect([code, error, existsSync(directory)]).toEqual([1, 'ended by SIGTERM', false]);
});

test('aborting a ClusterPods rejects all waits for pods', async () => {
  const ending = new AbortController();
  const client = { list: () => {}, watch: () => {} } as unknown as ConstructorParameters<typeof ClusterPods>[0];
  const pods = new ClusterPods(client, 'n', ending.signal);
  const waits = [pods.ready('a'), pods.restarted('a')];
  ending.abort(new Error('ended by SIGTERM'));
  for (const wait of [...waits, pods.ready('b')]) await expect(wait).rejects.toThrow('ended by SIGTERM');
});
