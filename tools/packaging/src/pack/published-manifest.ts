import type { Manifest } from '../workspace.ts';

/** What a manifest has for those who work in the checkout alone. */
const OF_THE_CHECKOUT = new Set(['nx', 'scripts', 'devDependencies']);
const GROUPS = new Set(['dependencies', 'peerDependencies', 'optionalDependencies']);
/** The condition by which the checkout's packages find each other's sources. */
const SOURCE_CONDITION = '@node-agent/source';

/**
 * A package.json as it is published: without what serves the checkout, and with a range where that says `workspace:`.
 * @param pinned exact versions that take the place of ranges, and are added to the dependencies: of a program, what it was tested with
 * @throws Error that names the field, where a dependency is on a package of the checkout that is not published
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
    if (version === undefined) throw new Error(`${name}: ${group}.${dependency}: is not published`);
    const wanted = range.slice('workspace:'.length);
    if (wanted === '*') return version;
    if (wanted === '^' || wanted === '~') return `${wanted}${version}`;
    throw new Error(`${name}: ${group}.${dependency}: want workspace:^, workspace:~ or workspace:*, not ${range}`);
  });
}

function mapValues<From, To>(
  values: Readonly<Record<string, From>>,
  map: (value: From, key: string) => To,
): Record<string, To> {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, map(value, key)]));
}
