import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { nodeFileSystem as fs } from '@node-agent/host';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type DirectoryFile, planApply, planDelete } from '../src/manifests/plan.ts';
import { StaticDirectory } from '../src/manifests/static-directory.ts';

const file = (name: string, pods: readonly string[], text = name): DirectoryFile => ({
  ...{ name, pods, bytes: Buffer.from(text) },
});
const manifest = (pods: readonly string[], text = 'new') => ({ bytes: Buffer.from(text), pods, fileName: 'd_a.yaml' });

describe('planApply', () => {
  it.each([
    ['creates a file for pods that no file defines', [file('b.yaml', ['d/b'])], { action: 'create', file: 'd_a.yaml' }],
    ['replaces the file of the pods', [file('mine.yaml', ['d/a'])], { action: 'replace', file: 'mine.yaml' }],
    ['keeps a file with the same content', [file('mine.yaml', ['d/a'], 'new')], { action: 'keep', file: 'mine.yaml' }],
    ['replaces a broken file of its name', [file('d_a.yaml', [])], { action: 'replace', file: 'd_a.yaml' }],
  ])('planApply %s', (_title, files, plan) => {
    expect(planApply(manifest(['d/a']), files)).toEqual(plan);
  });

  it.each([
    [[file('two.yaml', ['d/a', 'd/b'])], 'two.yaml also defines d/b, which would be removed'],
    [[file('d_a.yaml', ['d/other'])], 'd_a.yaml also defines d/other, which would be removed'],
    [[file('x', ['d/a']), file('y', ['d/a'])], 'several files define these pods: x, y; apply each by itself'],
  ])('planApply refuses to remove other pods or to leave duplicates: %j', (files, because) => {
    expect(planApply(manifest(['d/a']), files)).toEqual({ action: 'refuse', because });
  });
});

describe('planDelete', () => {
  it('planDelete removes the file of a pod, and refuses a file with other pods and an unknown pod', () => {
    const files = [file('a', ['d/a']), file('two', ['d/b', 'd/c'])];
    expect(planDelete(['d/a'], files)).toEqual([{ action: 'remove', file: 'a' }]);
    expect(planDelete(['d/b'], files)).toMatchObject([{ action: 'refuse' }]);
    expect(planDelete(['d/b', 'd/c'], files)).toEqual([{ action: 'remove', file: 'two' }]);
    expect(planDelete(['d/z'], files)).toMatchObject([{ action: 'refuse', isMissing: true }]);
  });

  it('no plan removes or replaces a pod that was not named', () => {
    const pods = fc.uniqueArray(fc.constantFrom<string>('d/a', 'd/b', 'd/c', 'd/d'), { minLength: 1 });
    const directory = fc.array(pods).map((lists) => lists.map((list, index) => file(`f${index}`, list)));
    fc.assert(
      fc.property(pods, directory, (wanted, files) => {
        for (const plan of [planApply(manifest(wanted), files), ...planDelete(wanted, files)]) {
          if (plan.action === 'refuse') continue;
          const lost = files.find(({ name }) => name === plan.file)?.pods ?? [];
          expect(lost.filter((pod) => !wanted.includes(pod))).toEqual([]);
        }
      }),
    );
  });
});

describe('the static pod directory', () => {
  let path = '';
  let directory: StaticDirectory;
  const yaml = (name: string, more = ''): Buffer =>
    Buffer.from(
      `apiVersion: v1\nkind: Pod\nmetadata: {name: ${name}}\nspec:\n  containers: [{name: main, image: web}]\n${more}`,
    );

  beforeEach(async () => {
    path = await mkdtemp(join(tmpdir(), 'static-'));
    directory = new StaticDirectory(fs, { path, nodeName: 'n1' });
  });
  afterEach(() => rm(path, { recursive: true }));

  it("a new manifest file is named after namespace and pod, and validated by the kubelet's rules", () => {
    expect(directory.check(yaml('web'), 'web.yaml')).toMatchObject({
      manifest: { pods: ['default/web-n1'], fileName: 'default_web.yaml' },
      warnings: [],
    });
    expect(directory.check(yaml('web', '  typo: 1\n'), 'web.yaml').warnings[0]).toMatch(/^web\.yaml:6:3: spec\.typo: /);
  });

  it.each([
    ['kind: Deployment\napiVersion: apps/v1\n', /kind: is "Deployment"/],
    [
      'apiVersion: v1\nkind: Pod\nmetadata: {name: UPPER}\nspec: {containers: [{name: a, image: b}]}\n',
      /metadata\.name/,
    ],
    ['apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: []}\n', /spec\.containers/],
    ['a: [', /web\.yaml:/],
    ['', /holds no pod/],
  ])('nodectl refuses the manifest %j with the position of the problem', (text, words) => {
    const check = () => directory.check(Buffer.from(text), '/elsewhere/web.yaml');
    expect(check).toThrow(expect.objectContaining({ exitCode: 6, message: expect.stringMatching(words) }));
  });

  it('nodectl refuses a manifest that defines a pod twice', () => {
    const twice = Buffer.concat([yaml('web'), Buffer.from('---\n'), yaml('web')]);
    expect(() => directory.check(twice, 'web.yaml')).toThrow('defines default/web-n1 twice');
  });

  it('the list of manifests contains the files that the kubelet reads: no hidden files, directories or dangling links', async () => {
    await writeFile(join(path, 'web.yaml'), yaml('web'));
    await writeFile(join(path, '.hidden.yaml'), yaml('hidden'));
    await writeFile(join(path, 'broken.yaml'), 'a: [');
    await mkdir(join(path, 'sub'));
    await symlink('nowhere', join(path, 'link.yaml'));
    expect((await directory.files()).map(({ name, pods }) => [name, pods])).toEqual([
      ['broken.yaml', []],
      ['web.yaml', ['default/web-n1']],
    ]);
  });

  it('F2: the static pod directory writes atomically with mode 0600, and leaves no temporary file', async () => {
    await directory.write('default_web.yaml', yaml('web'));
    expect(await readdir(path)).toEqual(['default_web.yaml']);
    expect((await stat(join(path, 'default_web.yaml'))).mode & 0o777).toBe(0o600);
  });

  it('W3: the static pod directory replaces a link instead of the file that the link names', async () => {
    const outside = await mkdtemp(join(tmpdir(), 'outside-'));
    await writeFile(join(outside, 'target'), 'kept');
    await symlink(join(outside, 'target'), join(path, 'default_web.yaml'));
    await directory.write('default_web.yaml', yaml('web'));
    expect(await readFile(join(outside, 'target'), 'utf8')).toBe('kept');
    await rm(outside, { recursive: true });
  });

  it.each(['../up.yaml', 'a/b.yaml', '.hidden', ''])(
    'W3: the static pod directory writes and removes nothing at %j',
    async (name) => {
      await expect(directory.write(name, yaml('web'))).rejects.toThrow('must be a file name');
      await expect(directory.remove(name)).rejects.toThrow('must be a file name');
      expect(await readdir(path)).toEqual([]);
    },
  );
});
