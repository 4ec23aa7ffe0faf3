import { FakeClock } from '@node-agent/async/testing';
import { MemoryFileSystem } from '@node-agent/host/testing';
import { expect, test, vi } from 'vitest';
import { LastGoodDirectory } from '../src/last-good-store.ts';

const STORE = '/last-good';

test('retain removes other manifests and temporary files of killed processes, and keeps the file of a concurrent save', async () => {
  const fs = new MemoryFileSystem({ clock: new FakeClock() });
  const store = new LastGoodDirectory({ fs }, { path: STORE });
  const written = Promise.withResolvers<void>();
  const rename = fs.rename.bind(fs);
  fs.rename = async (from, to) => {
    await written.promise;
    await rename(from, to);
  };
  const names = async (): Promise<readonly string[]> => (await fs.readdir(STORE)).map(({ name }) => name);
  await fs.mkdir(STORE);
  for (const name of ['removed-manifest', '.tmp-99-0']) await fs.writeFile(`${STORE}/${name}`, '');

  const saving = store.save('/manifests/web.json', Buffer.from('web'));
  await vi.waitFor(async () => expect(await names()).toHaveLength(3));
  await store.retain(['/manifests/web.json']);
  written.resolve();
  await saving;

  expect(Buffer.from((await store.load('/manifests/web.json')) ?? []).toString()).toBe('web');
  expect(await names()).toHaveLength(1);
});
