import type { Manifest } from '../workspace.ts';

/** Manifest fields that are used only in the checkout. */
const OF_THE_CHECKOUT = new Set(['nx', 'scripts', 'devDependencies']);
const GROUPS = new Set(['dependencies', 'peerDependencies', 'optionalDependencies']);
/** Export condition by which the checkout's packages import each other's sources. */
const SOURCE_CONDITION = '@node-agent/source';

/**
 * Converts a package.json to its published form: without the fields for the checkout, and with version ranges instead
 * of `workspace:`.
 * @param pinned exact versions that replace ranges and are added to the dependencies: the versions with which a program
 * was tested
 * @throws Error naming the field if a dependency is a package of the checkout that is not published
 */
export function publishedManifest(
  manifest: Manifest,
  versions: ReadonlyMap<string, string>,
  pinned: Readonly<Record<string, string>> = {},
): Manifest {
  const entries = Object.entries(manifest)
    .filter(([key]) => !OF_THE_CHECKOUT.has(key))
    .map(([key, value]) => {
      if (key === 'exports') return [key, withoutSources(value)];
      return [key, GROUPS.has(key) ? withRanges(manifest.name, key, value, versions) : value];
    });
  const published: Manifest = Object.fromEntries(entries);
  if (Object.keys(pinned).length === 0) return published;
  return { ...published, dependencies: sorted({ ...published.dependencies, ...pinned }) };
}

function sorted(dependencies: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(dependencies).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function withoutSources(exports: NonNullable<Manifest['exports']>): Manifest['exports'] {
  return mapValues(exports, (target) =>
    typeof target === 'string'
      ? target
      : Object.fromEntries(Object.entries(target).filter(([condition]) => condition !== SOURCE_CONDITION)),
  );
}

function withRanges(
  name: string,
  group: string,
  ranges: Readonly<Record<string, string>>,
  versions: ReadonlyMap<string, string>,
): Readonly<Record<string, string>> {
  return mapValues(ranges, (range, dependency) => {
    if (!range.startsWith('workspace:')) return range;
    const version = versions.get(dependency);
    if (version === undefined) throw new Error(`${name}: ${group}.${dependency}: package is not published`);
    const wanted = range.slice('workspace:'.length);
    if (wanted === '*') return version;
    if (wanted === '^' || wanted === '~') return `${wanted}${version}`;
    throw new Error(`${name}: ${group}.${dependency}: must be workspace:^, workspace:~ or workspace:*, not ${range}`);
  });
}

function mapValues<From, To>(
  values: Readonly<Record<string, From>>,
  map: (value: From, key: string) => To,
): Record<string, To> {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, map(value, key)]));
}
