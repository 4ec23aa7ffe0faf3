import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Registry } from './publish.ts';

/** Timeout of publishing one tarball of some hundred kilobytes. */
const PUBLISH_TIMEOUT_MS = 120_000;

export interface NpmRegistryOptions {
  /** URL of the registry, for example `https://registry.npmjs.org/`. */
  readonly url: string;
  /** Whether npm signs the origin of the tarballs; see `givesProvenance`. */
  readonly provenance: boolean;
  /** Path of an .npmrc with the credentials. Default: npm's user configuration. */
  readonly userConfig?: string;
}

/** Creates a registry client that publishes with npm. */
export function npmRegistry({ url, provenance, userConfig }: NpmRegistryOptions): Registry {
  const flags = [
    ...(provenance ? ['--provenance'] : []),
    ...(userConfig === undefined ? [] : ['--userconfig', userConfig]),
  ];
  return {
    async versions(name) {
      const response = await fetch(new URL(name.replace('/', '%2f'), url));
      if (response.status === 404) return new Set();
      if (!response.ok) throw new Error(`${url}: get versions of ${name}: ${response.status} ${response.statusText}`);
      const { versions = {} } = (await response.json()) as { readonly versions?: object };
      return new Set(Object.keys(versions));
    },
    async publish(tarball) {
      const args = ['publish', tarball, '--registry', url, '--access', 'public', '--ignore-scripts', ...flags];
      // The error of a failed process contains npm's output.
      await promisify(execFile)('npm', args, { timeout: PUBLISH_TIMEOUT_MS });
    },
  };
}
