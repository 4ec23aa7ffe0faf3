import { FakeClock } from '@node-agent/async/testing';
import { MemoryFileSystem } from '@node-agent/host/testing';
import { expect, test } from 'vitest';
import { userNamespaceSettings } from '../src/node/user-namespaces.ts';

const { signal } = new AbortController();
const K64 = 65_536;
const KERNEL = { '/proc/sys/user/max_user_namespaces': '95892\n' };
const LINE = '0: kubelet 131072 13107200\n';

type Outputs = Readonly<Record<string, { exitCode: number; stdout: string; stderr: string } | undefined>>;
const said = (stdout: string, exitCode = 0) => ({ exitCode, stdout, stderr: exitCode === 0 ? '' : 'it is away' });

async function settingsOf(files: Readonly<Record<string, string>>, outputs: Outputs, idsPerPod?: number) {
  const fs = new MemoryFileSystem({ clock: new FakeClock() });
  for (const [path, text] of Object.entries(files)) {
    await fs.mkdir(path.slice(0, path.lastIndexOf('/')));
    await fs.writeFile(path, text);
  }
  const configuration = { maxPods: 110, ...(idsPerPod !== undefined && { userNamespaces: { idsPerPod } }) };
  const run = async (program: string, args: readonly string[]) => outputs[[program, ...args].join(' ')];
  return await userNamespaceSettings(configuration, { fs, run }, signal);
}

test('reports why the kernel does not provide user namespaces', async () => {
  const path = '/proc/sys/user/max_user_namespaces';
  expect(await settingsOf({}, {})).toEqual({
    unavailable: `the kernel does not support user namespaces: ${path} does not exist`,
  });
  expect(await settingsOf({ [path]: '0\n' }, {})).toEqual({
    unavailable: `user namespaces are disabled: ${path} is 0`,
  });
});

test("without a user named kubelet, user namespaces of pods use all IDs except the host's first 65,536", async () => {
  const all = { range: { firstId: K64, length: 2 ** 32 - K64 }, idsPerPod: K64, maxPods: 110 };
  expect(await settingsOf(KERNEL, { 'getent passwd kubelet': said('', 2) })).toEqual(all);
  expect(await settingsOf({ ...KERNEL, '/etc/passwd': 'root:x:0:0\nkubelets:x:9:9\n' }, {})).toEqual(all);
});

test('with a user named kubelet, user namespaces of pods use the range that getsubids prints, in blocks of the configured size', async () => {
  const outputs = { 'getsubids kubelet': said(LINE), 'getsubids -g kubelet': said(LINE) };
  const range = { firstId: 131_072, length: 13_107_200 };
  const known = { ...outputs, 'getent passwd kubelet': said('kubelet:x:9:9::/:\n') };
  expect(await settingsOf(KERNEL, known, 2 * K64)).toEqual({ range, idsPerPod: 2 * K64, maxPods: 110 });
  const files = { ...KERNEL, '/etc/passwd': 'kubelet:x:9:9\n' };
  expect(await settingsOf(files, outputs)).toEqual({ range, idsPerPod: K64, maxPods: 110 });
});

test('the kubelet fails to start if getsubids cannot query the user database', async () => {
  await expect(settingsOf(KERNEL, { 'getent passwd kubelet': said('', 3) })).rejects.toThrow(
    'getent passwd kubelet: exit code 3: it is away',
  );
  const known = { 'getent passwd kubelet': said('kubelet:x:9:9'), 'getsubids -g kubelet': said(LINE) };
  await expect(settingsOf(KERNEL, { ...known, 'getsubids kubelet': said('', 1) })).rejects.toThrow('exit code 1');
});
