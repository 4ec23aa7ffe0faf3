import type { PackedPackage } from '../pack/pack.ts';

/** A registry, as far as a release needs it. */
export interface Registry {
  /** The versions of a package that are there. */
  versions(name: string): Promise<ReadonlySet<string>>;
  publish(tarball: string): Promise<void>;
}

/**
 * Publishes what is not there yet, each package after those that it depends on: whoever installs while this goes on, or after it
 * was broken off, gets packages that are whole. Run again, it goes on where it ended.
 * @param packed in dependency order
 * @returns the names of those that were published, in this order
 * @throws Error where a package would go out before what it depends on
 */
export async function publishMissing(packed: readonly PackedPackage[], registry: Registry): Promise<readonly string[]> {
  const own = new Map(packed.map(({ published }) => [published.name, published.version]));
  const there = new Set<string>();
  const done: string[] = [];
  for (const { published, tarball } of packed) {
    const { name, version, dependencies = {} } = published;
    const lacking = Object.keys(dependencies).filter((each) => own.has(each) && !there.has(each));
    if (lacking.length > 0)
      throw new Error(`${name}: depends on ${lacking.join(', ')}, which the registry has not got`);
    if (!(await registry.versions(name)).has(version)) {
      await registry.publish(tarball);
      done.push(name);
    }
    there.add(name);
  }
  return done;
}
