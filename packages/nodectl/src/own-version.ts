import { readFileSync } from 'node:fs';

/**
 * Returns this package's version, from the package.json in the parent directory of both the sources and the build. A
 * single executable file has no package.json, so its build replaces this module.
 */
export function ownVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  if (typeof manifest === 'object' && manifest !== null && 'version' in manifest) return String(manifest.version);
  throw new Error('read version from package.json: field version is missing');
}
