import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Registry } from './publish.ts';

/** For one tarball of some hundred kilobytes. */
const PUBLISH_TIMEOUT_MS = 120_000;

export interface NpmRegistryOptions {
  /** As in `https://registry.npmjs.org/`. */
  readonly url: string;
  /** Has npm sign where the tarballs come from; see `givesProvenance`. */
  readonly provenance: boolean;
  /** An .npmrc with the credentials; npm's usual one where absent. */
  readonly userConfig?: string;
}

/** A registry that npm can publish to. */
export function npmRegistry({ url, provenance, userConfig }: NpmRegistryOptions): Registry {
  const flags = [
    ...(provenance ? ['--provenance'] : []),
    ...(userConfig === undefined ? [] : ['--userconfig', userConfig]),
  ];
  return {
    async versions(name) {
      const response = await fetch(new URL(name.replace('/', '%2f'), url));
      if (response.status === 404) return new Set();
      if (!response.ok) throw new Error(`${url}: asked for ${name}, it said ${response.status} ${response.statusText}`);
      const { versions = {} } = (await response.json()) as { readonly versions?: object };
      return new Set(Object.keys(versions));
    },
    async publish(tarball) {
      const args = ['publish', tarball, '--registry', url, '--access', 'public', '--ignore-scripts', ...flags];
      // Its errors have what npm said.
      await promisify(execFile)('npm', args, { timeout: PUBLISH_TIMEOUT_MS });
    },
  };
}
