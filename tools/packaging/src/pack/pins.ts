import type { Manifest } from '../workspace.ts';

/** Locked versions of dependencies, by directory of the checkout (`packages/pleg`) and dependency name. */
export type LockedVersions = ReadonlyMap<string, ReadonlyMap<string, string>>;

/**
 * Reads the direct dependencies of each directory, with their versions, from `pnpm-lock.yaml`. Links within the
 * checkout are omitted.
 */
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
 * Returns the exact versions of a program's external dependencies, including those of the checkout's packages that it
 * depends on. With ranges, an installation could get newer versions, which might need a newer Node.js than the tested
 * ones. Peer dependencies stay ranges, because the user chooses their versions.
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
