import { readFileSync } from 'node:fs';
import { goArchitecture } from '@node-agent/node-status';

/** Kubernetes release that this kubelet implements. */
const KUBERNETES_VERSION = 'v1.36.3';

/**
 * Version in `kubelet --version` and the node's status: a semantic version with the Kubernetes release and this
 * program's own version.
 */
export const KUBELET_VERSION: string = `${KUBERNETES_VERSION}+node-agent.${ownVersion()}`;

/** Returns the parts of the version, and the platform in Go's notation. */
export function versionParts(): Readonly<Record<'major' | 'minor' | 'gitVersion' | 'platform', string>> {
  const [, major = '', minor = ''] = /^v(\d+)\.(\d+)/.exec(KUBERNETES_VERSION) ?? [];
  const platform = `${process.platform}/${goArchitecture(process.arch)}`;
  return { major, minor, gitVersion: KUBELET_VERSION, platform };
}

/** Returns the output of `kubelet --version=raw`: the parts of the version, and the version of Node.js. */
export function rawVersion(): string {
  const { major: Major, minor: Minor, gitVersion: GitVersion, platform: Platform } = versionParts();
  const parts = { Major, Minor, GitVersion, NodeVersion: process.version, Platform };
  const texts = Object.entries(parts).map(([name, text]) => `${name}:${JSON.stringify(text)}`);
  return `version.Info{${texts.join(', ')}}`;
}

/** Returns the version from package.json, which is in the parent directory of both the sources and the build output. */
function ownVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  if (typeof manifest === 'object' && manifest !== null && 'version' in manifest) return String(manifest.version);
  throw new Error('package.json of the kubelet: version is missing');
}
