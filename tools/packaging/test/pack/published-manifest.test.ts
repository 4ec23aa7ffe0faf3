import { describe, expect, it } from 'vitest';
import { publishedManifest } from '../../src/pack/published-manifest.ts';

const versions = new Map([
  ['@node-agent/async', '0.1.0'],
  ['@node-agent/telemetry', '2.3.4'],
]);
const manifest = { name: '@node-agent/pleg', version: '0.1.0' };

describe('publishedManifest', () => {
  it('a published manifest omits the fields that only the checkout uses', () => {
    const inCheckout = {
      ...manifest,
      nx: { tags: ['layer:manager'] },
      scripts: { build: 'tsup' },
      devDependencies: { vitest: '5.1.1' },
      keywords: ['pleg'],
    };
    expect(publishedManifest(inCheckout, versions)).toEqual({ ...manifest, keywords: ['pleg'] });
  });

  it('a published manifest omits the export condition of the sources and keeps the order of the others', () => {
    const conditions = {
      '@node-agent/source': './src/index.ts',
      types: './dist/index.d.ts',
      default: './dist/index.js',
    };
    const { exports = {} } = publishedManifest({ ...manifest, exports: { '.': conditions } }, versions);
    expect(Object.entries(exports['.'] ?? {})).toEqual([
      ['types', './dist/index.d.ts'],
      ['default', './dist/index.js'],
    ]);
  });

  it.each([
    ['workspace:^', '^2.3.4'],
    ['workspace:~', '~2.3.4'],
    ['workspace:*', '2.3.4'],
    ['^2.0.0', '^2.0.0'],
  ])('the dependency range %s is published as %s', (range, wanted) => {
    for (const group of ['dependencies', 'peerDependencies', 'optionalDependencies'] as const) {
      const published = publishedManifest({ ...manifest, [group]: { '@node-agent/telemetry': range } }, versions);
      expect(published[group]).toEqual({ '@node-agent/telemetry': wanted });
    }
  });

  it('publishedManifest rejects a dependency on an unpublished package, naming package and field', () => {
    const dependencies = { '@node-agent/tools-ports': 'workspace:^' };
    expect(() => publishedManifest({ ...manifest, dependencies }, versions)).toThrow(
      '@node-agent/pleg: dependencies.@node-agent/tools-ports: package is not published',
    );
  });

  it('publishedManifest rejects a workspace range that could not be installed', () => {
    const dependencies = { '@node-agent/async': 'workspace:../async' };
    expect(() => publishedManifest({ ...manifest, dependencies }, versions)).toThrow(
      'dependencies.@node-agent/async: must be workspace:^, workspace:~ or workspace:*',
    );
  });
});
