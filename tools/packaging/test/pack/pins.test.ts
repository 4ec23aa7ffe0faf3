import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { lockedVersions, pinsOf } from '../../src/pack/pins.ts';
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
      yaml:
        specifier: ^2.9.1
        version: 2.9.1

packages:

  yaml@2.9.1:
`;
const locked = lockedVersions(LOCK);
const program = {
  ...{ name: '@node-agent/kubelet', version: '1.0.0', bin: { kubelet: './dist/main.js' } },
  dependencies: { '@kubernetes/client-node': '^2.0.1', '@node-agent/async': 'workspace:^' },
};
const library = { name: '@node-agent/async', version: '1.0.0', dependencies: { yaml: '^2.9.1' } };
const packages = [
  { directory: 'apps/kubelet', manifest: program },
  { directory: 'packages/async', manifest: library },
];

describe('locked versions', () => {
  it('dependency pins are read by directory, without links within the checkout', () => {
    expect(Object.fromEntries([...locked].map(([folder, versions]) => [folder, Object.fromEntries(versions)]))).toEqual(
      {
        '.': { nx: '24.0.6' },
        'apps/kubelet': { '@kubernetes/client-node': '2.0.1' },
        'packages/async': { yaml: '2.9.1' },
      },
    );
  });

  it("contain the dependencies of a packed program and of the checkout's packages that it depends on", () => {
    const pins = pinsOf(program, packages, locked);
    expect(pins).toEqual({ '@kubernetes/client-node': '2.0.1', yaml: '2.9.1' });
    expect(publishedManifest(program, new Map([['@node-agent/async', '1.0.0']]), pins).dependencies).toEqual({
      ...{ '@kubernetes/client-node': '2.0.1', '@node-agent/async': '^1.0.0', yaml: '2.9.1' },
    });
  });

  it("cover each dependency of this checkout's programs", () => {
    const all = publishedPackages();
    const versions = lockedVersions(fs.readFileSync(path.join(root, 'pnpm-lock.yaml'), 'utf8'));
    for (const { manifest } of all.filter((each) => each.manifest.bin !== undefined)) {
      const pins = pinsOf(manifest, all, versions);
      for (const name of Object.keys(manifest.dependencies ?? {}))
        if (!name.startsWith('@node-agent/')) expect(pins, `${manifest.name}: ${name}`).toHaveProperty([name]);
    }
  });
});

describe('a program of this checkout', () => {
  const bins = publishedPackages().flatMap(({ directory, manifest }) =>
    Object.values(manifest.bin ?? {}).map((target) =>
      path.join(directory, target.replace('dist', 'src').replace(/js$/, 'ts')),
    ),
  );

  it.each(bins)('%s checks the version of Node.js before it loads modules that an old Node.js cannot read', (file) => {
    const text = fs.readFileSync(path.join(root, file), 'utf8');
    const imports = [...text.matchAll(/^import .*? from '([^']+)';$/gm)].map(([, from = '']) => from);
    expect(imports).toContain('@node-agent/async/node-version');
    // A neighbouring file may import modules that every Node.js has.
    const others = imports.filter((from) => from !== '@node-agent/async/node-version' && !from.startsWith('node:'));
    for (const other of others) {
      const own = fs.readFileSync(path.join(root, path.dirname(file), other), 'utf8');
      const further = [...own.matchAll(/^import .*? from '([^']+)';$/gm)].map(([, from = '']) => from);
      expect(further.filter((from) => !from.startsWith('node:'))).toEqual([]);
    }
  });
});
