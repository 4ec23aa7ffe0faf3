import { readFileSync } from 'node:fs';
import { goArchitecture } from '@node-agent/node-status';

/** The Kubernetes release that this kubelet follows. */
const KUBERNETES_VERSION = 'v1.36.3';

/** What `kubelet --version` says and the node reports: a semantic version that tells both that release and this program's own. */
export const KUBELET_VERSION: string = `${KUBERNETES_VERSION}+node-agent.${ownVersion()}`;

/** The parts of the version, and the machine that it is for, in Go's words. */
export function versionParts(): Readonly<Record<'major' | 'minor' | 'gitVersion' | 'platform', string>> {
  const [, major = '', minor = ''] = /^v(\d+)\.(\d+)/.exec(KUBERNETES_VERSION) ?? [];
  const platform = `${process.platform}/${goArchitecture(process.arch)}`;
  return { major, minor, gitVersion: KUBELET_VERSION, platform };
}

/** What `kubelet --version=raw` says: the parts of the version, and what runs the program. */
export function rawVersion(): string {
  const { major: Major, minor: Minor, gitVersion: GitVersion, platform: Platform } = versionParts();
  const parts = { Major, Minor, GitVersion, NodeVersion: process.version, Platform };
  const texts = Object.entries(parts).map(([name, text]) => `${name}:${JSON.stringify(text)}`);
  return `version.Info{${texts.join(', ')}}`;
}

/** As the manifest has it, which stands beside the sources and beside what is built of them. */
function ownVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  if (typeof manifest === 'object' && manifest !== null && 'version' in manifest) return String(manifest.version);
  throw new Error('package.json of the kubelet: has no version');
}
