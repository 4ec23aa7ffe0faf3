import fs from 'node:fs';
import path from 'node:path';

/** Fields of a package.json that packaging uses. */
export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly private?: boolean;
  readonly bin?: Readonly<Record<string, string>>;
  /** Entries that the package exports. A program that is not imported exports only its package.json. */
  readonly exports?: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/** Published package of the checkout. */
export interface WorkspacePackage {
  /** Directory relative to the root, for example `packages/pleg`. */
  readonly directory: string;
  /** Last part of the package's name, for example `pleg`. Commands take this name. */
  readonly shortName: string;
  readonly manifest: Manifest;
}

/** Root of the checkout that contains this program. */
export const root: string = path.resolve(import.meta.dirname, '../../..');

/**
 * Returns the published packages of the checkout at `from`, each after its dependencies: the order in which to publish.
 * @throws Error if packages depend on each other in a cycle
 */
export function publishedPackages(from: string = root): readonly WorkspacePackage[] {
  const found = ['apps', 'packages']
    .flatMap((group) => fs.readdirSync(path.join(from, group)).map((name) => `${group}/${name}`))
    .filter((directory) => fs.existsSync(path.join(from, directory, 'package.json')))
    .map((directory) => ({ directory, manifest: readManifest(path.join(from, directory)) }))
    .filter(({ manifest }) => !manifest.private)
    .map((entry) => ({ ...entry, shortName: path.posix.basename(entry.manifest.name) }));
  return inDependencyOrder(found);
}

/** Sorts packages so that each comes after its dependencies, and otherwise by name. */
export function inDependencyOrder(packages: readonly WorkspacePackage[]): readonly WorkspacePackage[] {
  const byName = new Map(packages.map((entry) => [entry.manifest.name, entry]));
  const ordered = new Set<WorkspacePackage>();
  const visit = (name: string, path: readonly string[]): void => {
    const entry = byName.get(name);
    if (entry === undefined || ordered.has(entry)) return;
    if (path.includes(name)) throw new Error(`dependency cycle: ${[...path, name].join(' -> ')}`);
    for (const dependency of dependenciesOf(entry.manifest)) visit(dependency, [...path, name]);
    ordered.add(entry);
  };
  for (const name of [...byName.keys()].sort()) visit(name, []);
  return [...ordered];
}

/** Returns the packages with these short names and their dependencies in the checkout, in dependency order. */
export function withDependencies(
  packages: readonly WorkspacePackage[],
  shortNames: readonly string[],
): readonly WorkspacePackage[] {
  const wanted = new Set<string>();
  const visit = (entry: WorkspacePackage | undefined): void => {
    if (entry === undefined || wanted.has(entry.manifest.name)) return;
    wanted.add(entry.manifest.name);
    for (const name of dependenciesOf(entry.manifest)) visit(packages.find(({ manifest }) => manifest.name === name));
  };
  for (const shortName of shortNames) {
    const entry = packages.find((candidate) => candidate.shortName === shortName);
    if (entry === undefined) {
      throw new Error(
        `unknown package ${shortName}; known packages: ${packages.map((each) => each.shortName).join(', ')}`,
      );
    }
    visit(entry);
  }
  return packages.filter(({ manifest }) => wanted.has(manifest.name));
}

function dependenciesOf({ dependencies, peerDependencies, optionalDependencies }: Manifest): readonly string[] {
  return Object.keys({ ...dependencies, ...peerDependencies, ...optionalDependencies }).sort();
}

/** Reads the package.json of a directory. */
function readManifest(directory: string): Manifest {
  return JSON.parse(fs.readFileSync(path.join(directory, 'package.json'), 'utf8'));
}

/** Returns the importable entries of a package: the subpaths with conditions, each with its declaration file. */
export function entriesOf({ exports = {} }: Manifest): readonly { readonly subpath: string; readonly types: string }[] {
  return Object.entries(exports).flatMap(([subpath, target]) =>
    typeof target === 'string' ? [] : [{ subpath, types: target.types ?? '' }],
  );
}
