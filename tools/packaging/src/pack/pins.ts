import path from 'node:path';
import { parse } from 'yaml';

/** Dependency entry of a directory of the checkout: the version with its peers, or `link:` and a relative path. */
interface Locked {
  readonly version: string;
}

/** The parts of `pnpm-lock.yaml` that are read here. */
export interface LockFile {
  /** Direct dependencies, by directory of the checkout (`packages/pleg`). */
  readonly importers: Readonly<Record<string, { readonly dependencies?: Readonly<Record<string, Locked>> }>>;
  /**
   * Dependencies of external packages, by name and version with peers (`ws@8.23.0`). Packages without dependencies have
   * an empty entry.
   */
  readonly snapshots: Readonly<Record<string, { readonly dependencies?: Readonly<Record<string, string>> }>>;
}

/**
 * Parses the text of `pnpm-lock.yaml`.
 * @throws Error if the text is not YAML
 */
export function readLockFile(text: string): LockFile {
  return { importers: {}, snapshots: {}, ...parse(text) };
}

/**
 * Returns the exact versions of all external packages that a program installs: the program's dependencies, the
 * dependencies of the checkout's packages that the program needs, and all indirect dependencies. With ranges, an
 * installation could get newer versions, which might need a newer Node.js than the tested ones. A direct dependency's
 * version wins. A package that is otherwise needed in several versions is omitted, because the top level of
 * `node_modules` has room for one. Optional and peer dependencies are omitted too: a pin would force their
 * installation.
 * @param directory the program's directory in the checkout
 */
export function pinsOf(directory: string, { importers, snapshots }: LockFile): Readonly<Record<string, string>> {
  const direct = new Map<string, string>();
  const indirect = new Map<string, Set<string>>();
  const seen = new Set<string>();
  const visitSnapshot = (name: string, locked: string): void => {
    const key = snapshotKey(name, locked);
    if (seen.has(key)) return;
    seen.add(key);
    for (const [dependency, version] of Object.entries(snapshots[key]?.dependencies ?? {})) {
      if (isVersion(version)) entryOf(indirect, dependency).add(withoutPeers(version));
      visitSnapshot(dependency, version);
    }
  };
  const visitDirectory = (from: string): void => {
    if (seen.has(from)) return;
    seen.add(from);
    for (const [name, { version }] of Object.entries(importers[from]?.dependencies ?? {})) {
      if (version.startsWith('link:')) visitDirectory(path.posix.join(from, version.slice('link:'.length)));
      else {
        if (!direct.has(name)) direct.set(name, withoutPeers(version));
        visitSnapshot(name, version);
      }
    }
  };
  visitDirectory(directory);
  const single = [...indirect].flatMap(([name, [version, ...others]]) =>
    version === undefined || others.length > 0 ? [] : [[name, version] as const],
  );
  return Object.fromEntries([...single, ...direct]);
}

/**
 * Returns the key of a locked package in `snapshots`. An alias is locked under the other package's name
 * (`string-width@4.2.3`).
 */
function snapshotKey(name: string, locked: string): string {
  return isVersion(locked) ? `${name}@${locked}` : locked;
}

function isVersion(locked: string): boolean {
  return /^\d/.test(locked);
}

function withoutPeers(version: string): string {
  return version.replace(/\(.*$/, '');
}

function entryOf(versions: Map<string, Set<string>>, name: string): Set<string> {
  const entry = versions.get(name) ?? new Set<string>();
  versions.set(name, entry);
  return entry;
}
