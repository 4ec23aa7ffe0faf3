import type { PackedPackage } from '../pack/pack.ts';

/** Registry operations that a release needs. */
export interface Registry {
  /** Returns the published versions of a package. */
  versions(name: string): Promise<ReadonlySet<string>>;
  publish(tarball: string): Promise<void>;
}

/**
 * Publishes the packages that the registry does not have yet, each after its dependencies. An installation during a
 * release, or after an interrupted release, therefore gets complete packages. A second run continues an interrupted
 * release.
 * @param packed in dependency order
 * @returns the names of the published packages, in this order
 * @throws Error if a package would be published before one of its dependencies
 */
export async function publishMissing(packed: readonly PackedPackage[], registry: Registry): Promise<readonly string[]> {
  const own = new Map(packed.map(({ published }) => [published.name, published.version]));
  const there = new Set<string>();
  const done: string[] = [];
  for (const { published, tarball } of packed) {
    const { name, version, dependencies = {} } = published;
    const lacking = Object.keys(dependencies).filter((each) => own.has(each) && !there.has(each));
    if (lacking.length > 0) throw new Error(`${name}: depends on ${lacking.join(', ')}, which must be published first`);
    if (!(await registry.versions(name)).has(version)) {
      await registry.publish(tarball);
      done.push(name);
    }
    there.add(name);
  }
  return done;
}
