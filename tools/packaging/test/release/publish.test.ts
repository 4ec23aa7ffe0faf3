import { describe, expect, it } from 'vitest';
import type { PackedPackage } from '../../src/pack/pack.ts';
import { givesProvenance } from '../../src/release/provenance.ts';
import { publishMissing } from '../../src/release/publish.ts';

function packed(shortName: string, ...dependencies: string[]): PackedPackage {
  const name = `@node-agent/${shortName}`;
  const ranges = Object.fromEntries(dependencies.map((each) => [`@node-agent/${each}`, '^0.2.0']));
  const published = { name, version: '0.2.0', dependencies: { ...ranges, yaml: '^2.9.1' } };
  return { directory: '', shortName, manifest: published, published, tarball: `${shortName}.tgz`, sizeBytes: 1 };
}

/** Creates a registry with these versions that fails to publish one tarball. */
function registryWith(versions: Readonly<Record<string, readonly string[]>>, breaksAt?: string) {
  const published: string[] = [];
  return {
    published,
    versions: async (name: string) => new Set(versions[name]),
    publish: async (tarball: string) => {
      if (tarball === breaksAt) throw new Error('no space left');
      published.push(tarball);
    },
  };
}

describe('publishMissing', () => {
  const all = [packed('async'), packed('host', 'async'), packed('pleg', 'host', 'async')];

  it('publishMissing publishes each package after its dependencies', async () => {
    const registry = registryWith({});
    expect(await publishMissing(all, registry)).toEqual(all.map(({ published }) => published.name));
    expect(registry.published).toEqual(['async.tgz', 'host.tgz', 'pleg.tgz']);
  });

  it('publishMissing publishes no package before its dependencies', async () => {
    const registry = registryWith({});
    await expect(publishMissing(all.toReversed(), registry)).rejects.toThrow(
      '@node-agent/pleg: depends on @node-agent/host, @node-agent/async, which must be published first',
    );
    expect(registry.published).toEqual([]);
  });

  it('publishMissing continues an interrupted release', async () => {
    const broken = registryWith({}, 'host.tgz');
    await expect(publishMissing(all, broken)).rejects.toThrow('no space left');
    expect(broken.published).toEqual(['async.tgz']);

    const next = registryWith({ '@node-agent/async': ['0.1.0', '0.2.0'], '@node-agent/host': ['0.1.0'] });
    expect(await publishMissing(all, next)).toEqual(['@node-agent/host', '@node-agent/pleg']);
  });
});

describe('givesProvenance', () => {
  it.each([
    [{}, false],
    [{ GITHUB_ACTIONS: 'true' }, false],
    [{ GITHUB_ACTIONS: 'true', ACTIONS_ID_TOKEN_REQUEST_URL: 'https://token.example' }, true],
    [{ ACTIONS_ID_TOKEN_REQUEST_URL: 'https://token.example' }, false],
    [{ GITLAB_CI: 'true' }, false],
    [{ GITLAB_CI: 'true', SIGSTORE_ID_TOKEN: 'token' }, true],
  ])('publishing in the environment %j uses provenance: %s', (env, wanted) => {
    expect(givesProvenance(env)).toBe(wanted);
  });
});
