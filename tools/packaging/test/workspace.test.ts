import { describe, expect, it } from 'vitest';
import { inDependencyOrder, publishedPackages, type WorkspacePackage, withDependencies } from '../src/workspace.ts';

function workspacePackage(shortName: string, ...dependencies: string[]): WorkspacePackage {
  const ranges = Object.fromEntries(dependencies.map((name) => [`@node-agent/${name}`, 'workspace:^']));
  const manifest = { name: `@node-agent/${shortName}`, version: '0.1.0', dependencies: ranges };
  return { directory: `packages/${shortName}`, shortName, manifest };
}
const names = (packages: readonly WorkspacePackage[]) => packages.map(({ shortName }) => shortName);

describe('the order of packages', () => {
  it('inDependencyOrder puts each package after its dependencies', () => {
    const packages = [workspacePackage('a', 'z', 'm'), workspacePackage('m', 'z'), workspacePackage('z')];
    expect(names(inDependencyOrder(packages))).toEqual(['z', 'm', 'a']);
  });

  it('inDependencyOrder fails for a dependency cycle and names its packages', () => {
    const ring = [workspacePackage('a', 'b'), workspacePackage('b', 'c'), workspacePackage('c', 'a')];
    expect(() => inDependencyOrder(ring)).toThrow('@node-agent/a -> @node-agent/b -> @node-agent/c -> @node-agent/a');
  });

  it('each published package of this checkout comes after the packages that it depends on', () => {
    const seen = new Set<string>();
    for (const { manifest } of publishedPackages()) {
      for (const dependency of Object.keys(manifest.dependencies ?? {})) {
        if (dependency.startsWith('@node-agent/')) expect(seen, manifest.name).toContain(dependency);
      }
      seen.add(manifest.name);
    }
    expect(seen).toContain('@node-agent/kubelet');
  });
});

describe('withDependencies', () => {
  const packages = [
    workspacePackage('z'),
    workspacePackage('m', 'z'),
    workspacePackage('other'),
    workspacePackage('a', 'm'),
  ];

  it('withDependencies returns the named packages and their dependencies', () => {
    expect(names(withDependencies(packages, ['a']))).toEqual(['z', 'm', 'a']);
  });

  it('withDependencies lists the known packages if a name is unknown', () => {
    expect(() => withDependencies(packages, ['b'])).toThrow('unknown package b; known packages: z, m, other, a');
  });
});
