import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { buildImage } from '../src/index.ts';
import { tar } from '../src/tar.ts';

let directory = '';
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'na-image-'));
});
afterAll(() => rm(directory, { recursive: true }));

test('tar(1) can read a generated image archive', () => {
  const archive = tar([
    { path: 'dir', mode: 0o755 },
    { path: 'dir/file', mode: 0o640, data: new TextEncoder().encode('hello') },
    { path: 'dir/link', mode: 0o777, link: 'file' },
  ]);
  const listing = execFileSync('tar', ['-tv', '--numeric-owner'], { input: archive, encoding: 'utf8' });
  expect(listing).toMatch(/^drwxr-xr-x 0\/0 +0 1970-01-01 00:00 dir\/$/m);
  expect(listing).toMatch(/^-rw-r----- 0\/0 +5 1970-01-01 00:00 dir\/file$/m);
  expect(listing).toMatch(/^lrwxrwxrwx 0\/0 +0 1970-01-01 00:00 dir\/link -> file$/m);
  expect(execFileSync('tar', ['-xO', 'dir/file'], { input: archive, encoding: 'utf8' })).toBe('hello');
});

test('splits a long path and rejects a path that cannot be split', () => {
  const path = `${'d'.repeat(90)}/${'f'.repeat(90)}`;
  const archive = tar([{ path, mode: 0o644, data: new TextEncoder().encode('x') }]);
  expect(execFileSync('tar', ['-t'], { input: archive, encoding: 'utf8' })).toBe(`${path}\n`);
  expect(() => tar([{ path: 'x'.repeat(101), mode: 0o644, data: new Uint8Array() }])).toThrow(RangeError);
});

test('builds an image with tag, command and busybox, and the same bytes each time', async (context) => {
  if (!existsSync('/bin/busybox')) context.skip('/bin/busybox is missing');
  const [one, two] = [join(directory, 'one.tar'), join(directory, 'two.tar')];
  for (const file of [one, two]) await buildImage({ tag: 'node-agent.local/x:1', file, command: ['true'] });
  expect((await readFile(one)).equals(await readFile(two))).toBe(true);
  const read = (name: string): string => execFileSync('tar', ['-xOf', one, name], { encoding: 'utf8' });
  const [{ Config, RepoTags }] = JSON.parse(read('manifest.json'));
  expect(RepoTags).toEqual(['node-agent.local/x:1']);
  expect(JSON.parse(read(Config)).config.Cmd).toEqual(['true']);
  const layer = execFileSync('tar', ['-xOf', one, 'layer.tar'], { maxBuffer: 1e8 });
  const names = execFileSync('tar', ['-t'], { input: layer, encoding: 'utf8' }).split('\n');
  expect(names).toEqual(expect.arrayContaining(['bin/busybox', 'bin/sh', 'bin/sleep', 'etc/passwd', 'tmp/']));
});
