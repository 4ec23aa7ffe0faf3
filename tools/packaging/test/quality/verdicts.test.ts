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
  it('publint reports nothing for a valid package of ES modules', async () => {
    expect(await publintFaults(tarball())).toEqual([]);
  });

  it('publint reports an entry that is missing from the tarball', async () => {
    const exports = { '.': { types: './dist/index.d.ts', default: './dist/main.js' } };
    expect(await publintFaults(tarball({ exports }))).toEqual([expect.stringContaining('./dist/main.js')]);
  });

  it('publint reports a types condition that comes after the conditions that match first', async () => {
    const exports = { '.': { default: './dist/index.js', types: './dist/index.d.ts' } };
    expect((await publintFaults(tarball({ exports }))).join('\n')).toContain('types');
  });
});

describe('arethetypeswrong for packages of ES modules only', () => {
  it('arethetypeswrong reports nothing if only require() fails', async () => {
    expect(await attwFaults(tarball(), true)).toEqual([]);
  });

  it('arethetypeswrong reports declarations with an import that cannot be resolved', async () => {
    const broken = { ...files, 'dist/index.d.ts': "export type { One } from './one.js';\n" };
    expect(await attwFaults(tarball({}, broken), true)).toContain(
      'attw: . (node16-esm): InternalResolutionError of ./one.js in /node_modules/sample/dist/index.d.ts',
    );
  });

  it('arethetypeswrong reports a package that has exports but no types, and accepts a package with only a command', async () => {
    const { LICENSE, 'dist/index.js': program } = files;
    const untyped = { LICENSE, 'dist/index.js': program };
    const exports = { '.': './dist/index.js' };
    expect(await attwFaults(tarball({ exports }, untyped), true)).toEqual(['attw: package has exports but no types']);
    const command = { exports: undefined, bin: { sample: './dist/index.js' } };
    expect(await attwFaults(tarball(command, untyped), false)).toEqual([]);
  });
});
