import type { Manifest } from '../workspace.ts';

/** The lock file's versions of the dependencies of each folder of the checkout: `packages/pleg` to names to versions. */
export type LockedVersions = ReadonlyMap<string, ReadonlyMap<string, string>>;

/** Reads the direct dependencies of each folder, with their versions, from `pnpm-lock.yaml`. Links within the checkout are left out. */
export function lockedVersions(lockFile: string): LockedVersions {
  const importers = lockFile.slice(lockFile.indexOf('\nimporters:\n'), lockFile.indexOf('\npackages:\n')).split('\n');
  const locked = new Map<string, Map<string, string>>();
  let versions = new Map<string, string>();
  let name = '';
  for (const line of importers) {
    const [, folder] = /^ {2}(\S+):$/.exec(line) ?? [];
    const [, dependency] = /^ {6}'?([^\s']+)'?:$/.exec(line) ?? [];
    const [, version] = /^ {8}version: (\d[^\s(]*)/.exec(line) ?? [];
    if (folder !== undefined) {
      versions = new Map();
      locked.set(folder, versions);
    }
    if (dependency !== undefined) name = dependency;
    if (version !== undefined) versions.set(name, version);
  }
  return locked;
}

/**
 * The exact versions of what a program uses of other projects, itself and by the packages of the checkout that it brings with it: a range
 * would take a newer one, which may want a newer Node.js than was tested. Peers stay ranges: their user chooses them.
 */
export function pinsOf(
  program: Manifest,
  packages: readonly { readonly directory: string; readonly manifest: Manifest }[],
  locked: LockedVersions,
): Readonly<Record<string, string>> {
  const pins: Record<string, string> = {};
  const seen = new Set<string>();
  const visit = (name: string): void => {
    const found = packages.find(({ manifest }) => manifest.name === name);
    if (found === undefined || seen.has(name)) return;
    seen.add(name);
    for (const dependency of Object.keys(found.manifest.dependencies ?? {})) {
      const version = locked.get(found.directory)?.get(dependency);
      if (version !== undefined) pins[dependency] ??= version;
      visit(dependency);
    }
  };
  visit(program.name);
  return pins;
}
