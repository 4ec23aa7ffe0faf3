import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { root } from '../workspace.ts';

/** Commit, time and version of the packaged sources. */
export interface Source {
  /** Commit: twelve hexadecimal digits. */
  readonly commit: string;
  /** Time of all packaged files, in seconds since 1970: SOURCE_DATE_EPOCH if set, otherwise the time of the commit. */
  readonly seconds: number;
  /** Returns the version of the package in a directory of the checkout. */
  readonly versionOf: (directory: string) => string;
}

/** Reads the version from the checkout. */
export function readSource(environment: NodeJS.ProcessEnv): Source {
  const git = (...args: readonly string[]): string => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();
  return {
    commit: git('rev-parse', '--short=12', 'HEAD'),
    seconds: Number(environment.SOURCE_DATE_EPOCH ?? git('log', '-1', '--format=%ct')),
    versionOf: (directory) => JSON.parse(fs.readFileSync(path.join(root, directory, 'package.json'), 'utf8')).version,
  };
}

/**
 * Returns the version of the Debian package, so that a later commit is a newer version:
 * `0.1.0+git20261129183400.g0123456789ab`.
 */
export function debianVersion({ commit, seconds, versionOf }: Source): string {
  const time = new Date(seconds * 1000).toISOString().replaceAll(/\D/g, '').slice(0, 14);
  return `${versionOf('apps/kubelet')}+git${time}.g${commit}`;
}
