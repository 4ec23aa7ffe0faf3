import { readFileSync } from 'node:fs';

/** Kubernetes release that the kubelets implement. */
const KUBERNETES_VERSION = 'v1.36.3';

/** Version in the status of nodes: the Kubernetes release, and the version of this program. */
export const HOLLOW_VERSION: string = `${KUBERNETES_VERSION}+node-agent.${ownVersion()}`;

/** Returns the version from package.json, which is in the parent directory of both the sources and the build output. */
function ownVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  if (typeof manifest === 'object' && manifest !== null && 'version' in manifest) return String(manifest.version);
  throw new Error('package.json of hollow-node: version is missing');
}
