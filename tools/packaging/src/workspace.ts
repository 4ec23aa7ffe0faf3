import fs from 'node:fs';
import path from 'node:path';

/** What a checkout's manifests are made of, as far as packaging looks at them. */
export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly private?: boolean;
  readonly bin?: Readonly<Record<string, string>>;
  /** A program that nobody imports exports its package.json alone. */
  readonly exports?: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/** A package of the checkout that is published. */
export interface WorkspacePackage {
  /** Relative to the root, as in `packages/pleg`. */
  readonly directory: string;
  /** The last part of its name, as in `pleg`: what commands take. */
  readonly shortName: string;
  readonly manifest: Manifest;
}

/** The checkout that this program is part of. */
export const root: string = path.resolve(import.meta.dirname, '../../..');

/**
 * The published packages of the checkout at `from`, each after all that it depends on: the order to publish in.
 * @throws Error where packages depend on each other in a ring
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

/** `packages`, each after those of them that it depends on, otherwise by name. */
export function inDependencyOrder(packages: readonly WorkspacePackage[]): readonly WorkspacePackage[] {
  const byName = new Map(packages.map((entry) => [entry.manifest.name, entry]));
  const ordered = new Set<WorkspacePackage>();
  const visit = (name: string, path: readonly string[]): void => {
    const entry = byName.get(name);
    if (entry === undefined || ordered.has(entry)) return;
    if (path.includes(name)) throw new Error(`packages depend on each other: ${[...path, name].join(' -> ')}`);
    for (const dependency of dependenciesOf(entry.manifest)) visit(dependency, [...path, name]);
    ordered.add(entry);
  };
  for (const name of [...byName.keys()].sort()) visit(name, []);
  return [...ordered];
}

/** The packages with these short names and all of the checkout that they bring with them, in dependency order. */
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
      throw new Error(`no package ${shortName}; there are: ${packages.map((each) => each.shortName).join(', ')}`);
    }
    visit(entry);
  }
  return packages.filter(({ manifest }) => wanted.has(manifest.name));
}

function dependenciesOf({ dependencies, peerDependencies, optionalDependencies }: Manifest): readonly string[] {
  return Object.keys({ ...dependencies, ...peerDependencies, ...optionalDependencies }).sort();
}

/** The package.json of a folder. */
function readManifest(directory: string): Manifest {
  return JSON.parse(fs.readFileSync(path.join(directory, 'package.json'), 'utf8'));
}

/** What others can import of a package: the subpaths with conditions, each with its declarations. */
export function entriesOf({ exports = {} }: Manifest): readonly { readonly subpath: string; readonly types: string }[] {
  return Object.entries(exports).flatMap(([subpath, target]) =>
    typeof target === 'string' ? [] : [{ subpath, types: target.types ?? '' }],
  );
}
