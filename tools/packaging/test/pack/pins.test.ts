import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { pinsOf, readLockFile } from '../../src/pack/pins.ts';
import { publishedManifest } from '../../src/pack/published-manifest.ts';
import { publishedPackages, root } from '../../src/workspace.ts';

const LOCK = `lockfileVersion: '9.0'

importers:

  .:
    devDependencies:
      nx:
        specifier: 24.0.6
        version: 24.0.6(debug@4.4.3)

  apps/kubelet:
    dependencies:
      '@kubernetes/client-node':
        specifier: ^2.0.1
        version: 2.0.1(bare-buffer@3.7.1)
      '@node-agent/async':
        specifier: workspace:^
        version: link:../../packages/async

  packages/async:
    dependencies:
      '@node-agent/kubelet':
        specifier: workspace:^
        version: link:../../apps/kubelet
      yaml:
        specifier: ^2.9.1
        version: 2.9.1

  packages/none: {}

snapshots:

  '@kubernetes/client-node@2.0.1(bare-buffer@3.7.1)':
    dependencies:
      undici: 8.12.4(peer@1.0.0)
      width-old: string-width@4.2.3
      yaml: 2.8.0
    optionalDependencies:
      fsevents: 2.0.0

  fsevents@2.0.0: {}

  string-width@4.2.3:
    dependencies:
      emoji: 8.0.0
      twice: 1.0.0

  undici@8.12.4(peer@1.0.0):
    dependencies:
      twice: 2.0.0
      undici-circle: 1.0.0

  undici-circle@1.0.0:
    dependencies:
      undici: 8.12.4(peer@1.0.0)

  yaml@2.9.1: {}
`;

describe('versions that a packed program pins', () => {
  const pins = pinsOf('apps/kubelet', readLockFile(LOCK));

  it('a packed program pins its dependencies, those of the checkout packages that it needs, and all indirect ones', () => {
    expect(pins).toEqual({
      '@kubernetes/client-node': '2.0.1',
      undici: '8.12.4',
      'undici-circle': '1.0.0',
      emoji: '8.0.0',
      yaml: '2.9.1',
    });
  });

  it("a packed program's pins are written into the published manifest beside the ranges of the checkout packages", () => {
    const program = {
      ...{ name: '@node-agent/kubelet', version: '1.0.0', bin: { kubelet: './dist/main.js' } },
      dependencies: { '@kubernetes/client-node': '^2.0.1', '@node-agent/async': 'workspace:^' },
    };
    expect(publishedManifest(program, new Map([['@node-agent/async', '1.0.0']]), pins).dependencies).toEqual({
      ...pins,
      '@node-agent/async': '^1.0.0',
    });
  });

  it('a program has no pins if there is no lock file, or if the lock file does not list its directory', () => {
    expect(pinsOf('apps/kubelet', readLockFile(''))).toEqual({});
    expect(pinsOf('packages/other', readLockFile(LOCK))).toEqual({});
  });

  const programs = publishedPackages().filter(({ manifest }) => manifest.bin !== undefined);

  it.each(programs)(
    'the pins cover all dependencies of $manifest.name, also the indirect ones undici and sonic-boom',
    ({ directory, manifest }) => {
      const own = pinsOf(directory, readLockFile(fs.readFileSync(path.join(root, 'pnpm-lock.yaml'), 'utf8')));
      for (const name of Object.keys(manifest.dependencies ?? {}))
        if (!name.startsWith('@node-agent/')) expect(own).toHaveProperty([name]);
      if ('@kubernetes/client-node' in own) expect(own).toHaveProperty('undici');
      if ('pino' in own) expect(own).toHaveProperty('sonic-boom');
    },
  );
});

describe('the start of the programs of this checkout', () => {
  const bins = publishedPackages().flatMap(({ directory, manifest }) =>
    Object.values(manifest.bin ?? {}).map((target) =>
      path.join(directory, target.replace('dist', 'src').replace(/js$/, 'ts')),
    ),
  );

  it.each(bins)('%s checks the version of Node.js before it loads modules that an old Node.js cannot read', (file) => {
    const text = fs.readFileSync(path.join(root, file), 'utf8');
    const imports = [...text.matchAll(/^import .*? from '([^']+)';$/gm)].map(([, from = '']) => from);
    expect(imports).toContain('@node-agent/async/node-version');
    // A module in the same directory may import modules that every Node.js has.
    const others = imports.filter((from) => from !== '@node-agent/async/node-version' && !from.startsWith('node:'));
    for (const other of others) {
      const own = fs.readFileSync(path.join(root, path.dirname(file), other), 'utf8');
      const further = [...own.matchAll(/^import .*? from '([^']+)';$/gm)].map(([, from = '']) => from);
      expect(further.filter((from) => !from.startsWith('node:'))).toEqual([]);
    }
  });
});
