import { goArchitecture } from '@node-agent/node-status';
import { ownVersion } from './own-version.ts';

/** Kubernetes release that this kubelet implements. */
const KUBERNETES_VERSION = 'v1.36.3';

/** Commit that the program was built from, in hexadecimal digits. Set by the build in a checkout. */
declare const NODE_AGENT_COMMIT: string | undefined;

/**
 * Version in `kubelet --version` and in the node's status, for example `v1.36.3+node-agent.0.1.0.g1a2b3c4d5e6f`: the
 * Kubernetes release, this program's own version, and the commit if the program was built in a checkout. kubeadm and
 * the API server accept a version of this form (`cmd/kubeadm/app/preflight/utils.go: GetKubeletVersion`).
 */
export const KUBELET_VERSION: string = versionText(ownVersion(), commit());

/** Returns the kubelet version that consists of the Kubernetes release, a program version and a commit. */
export function versionText(version: string, commitDigits: string | undefined): string {
  return `${KUBERNETES_VERSION}+node-agent.${version}${commitDigits === undefined ? '' : `.g${commitDigits}`}`;
}

function commit(): string | undefined {
  return typeof NODE_AGENT_COMMIT === 'string' && NODE_AGENT_COMMIT !== '' ? NODE_AGENT_COMMIT : undefined;
}

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
