import { MemoryFileSystem } from '@node-agent/host/testing';
import { expect, test } from 'vitest';
import { MemoryMounter, type MountChange } from '../src/testing.ts';

async function setUp() {
  const fs = new MemoryFileSystem();
  for (const directory of ['/a', '/b', '/c']) await fs.mkdir(directory);
  const changes: MountChange[] = [];
  return { fs, changes, mounter: new MemoryMounter({ fs }, (change) => changes.push(change)) };
}

test('a mount hides the directory until it is unmounted', async () => {
  const { fs, changes, mounter } = await setUp();
  await fs.writeFile('/a/below', '');
  await mounter.mount('tmpfs', '/a', 'tmpfs');
  expect(fs.names('/a')).toEqual([]);
  expect([...(await mounter.mountPoints())]).toEqual([['/a', 'tmpfs']]);
  await mounter.unmount('/a');
  expect(fs.names('/a')).toEqual(['below']);
  expect([...(await mounter.mountPoints())]).toEqual([]);
  expect(changes).toEqual([
    { target: '/a', source: 'tmpfs' },
    { target: '/a', source: undefined },
  ]);
});

test('a bind mount shows the content of its source, and is listed with the other mounts of the same source', async () => {
  const { fs, mounter } = await setUp();
  await fs.writeFile('/a/file', 'text');
  await mounter.bind('/a', '/b');
  expect(fs.names('/b')).toEqual(['file']);
  await mounter.mount('/dev/sda', '/a', 'ext4');
  await mounter.bind('/a', '/c');
  expect(await mounter.mountsOfSame('/c')).toEqual(['/a', '/c']);
});

test('a reboot removes all mounts', async () => {
  const { fs, mounter } = await setUp();
  await mounter.mount('tmpfs', '/a', 'tmpfs');
  await mounter.bind('/a', '/b');
  mounter.reboot();
  expect([...(await mounter.mountPoints())]).toEqual([]);
  expect(fs.mountPoints()).toEqual([]);
});
