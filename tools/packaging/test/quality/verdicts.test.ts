import { describe, expect, it } from 'vitest';
import { attwFaults, publintFaults } from '../../src/quality/verdicts.ts';
import { tarballOf } from '../tarballs.ts';

const manifest = {
  name: 'sample',
  version: '1.0.0',
  license: 'Apache-2.0',
  type: 'module',
  sideEffects: false,
  engines: { node: '>=22.18' },
  files: ['dist'],
  repository: { type: 'git', url: 'git+https://github.com/node-agent/node-agent.git' },
  exports: { '.': { types: './dist/index.d.ts', default: './dist/index.js' } },
};
const files = {
  LICENSE: 'Apache-2.0',
  'dist/index.js': 'export const one = 1;\n',
  'dist/index.d.ts': 'export declare const one: number;\n',
};
const tarball = (changed: object = {}, changedFiles: Readonly<Record<string, string>> = files) =>
  tarballOf({ ...changedFiles, 'package.json': JSON.stringify({ ...manifest, ...changed }) });

describe('publint', () => {
  it('has nothing to say of a package of modules', async () => {
    expect(await publintFaults(tarball())).toEqual([]);
  });

  it('tells of an entry that is not in the tarball', async () => {
    const exports = { '.': { types: './dist/index.d.ts', default: './dist/main.js' } };
    expect(await publintFaults(tarball({ exports }))).toEqual([expect.stringContaining('./dist/main.js')]);
  });

  it('tells of types that come too late to be found', async () => {
    const exports = { '.': { default: './dist/index.js', types: './dist/index.d.ts' } };
    expect((await publintFaults(tarball({ exports }))).join('\n')).toContain('types');
  });
});

describe('arethetypeswrong, for packages of modules alone', () => {
  it('has nothing to say where only require() fails', async () => {
    expect(await attwFaults(tarball(), true)).toEqual([]);
  });

  it('tells of declarations that import what is not there', async () => {
    const broken = { ...files, 'dist/index.d.ts': "export type { One } from './one.js';\n" };
    expect(await attwFaults(tarball({}, broken), true)).toContain(
      'attw: . (node16-esm): InternalResolutionError of ./one.js in /node_modules/sample/dist/index.d.ts',
    );
  });

  it('tells of a package that exports something and has no types, and lets a mere command be', async () => {
    const { LICENSE, 'dist/index.js': program } = files;
    const untyped = { LICENSE, 'dist/index.js': program };
    const exports = { '.': './dist/index.js' };
    expect(await attwFaults(tarball({ exports }, untyped), true)).toEqual(['attw: package has exports but no types']);
    const command = { exports: undefined, bin: { sample: './dist/index.js' } };
    expect(await attwFaults(tarball(command, untyped), false)).toEqual([]);
  });
});
