import { isIPv4, isIPv6 } from 'node:net';
import { isAbsolute } from 'node:path';
import type { ConfigIssue } from '../error.ts';
import { keyProblem, nodeLabelProblem, valueProblem } from '../labels.ts';
import type { CommandLine } from './command-line.ts';

/** What is not allowed in the flags beside the fields (`ValidateKubeletFlags`, cmd/kubelet/app/options/options.go). */
export function validateFlags({ flags, given }: CommandLine): readonly ConfigIssue[] {
  const issue = (flag: string, message: string): ConfigIssue => ({
    path: `--${flag}`,
    message,
    origin: { source: 'flag', flag, text: given.get(flag) ?? '' },
  });
  const labels = Object.entries(flags.nodeLabels).flatMap(([key, value]) => {
    const problem = keyProblem(key) ?? valueProblem(value) ?? nodeLabelProblem(key);
    return problem === undefined ? [] : [issue('node-labels', problem)];
  });
  const nodeIp = nodeIpProblem(flags.nodeIp);
  const { imageCredentialProviderConfig: plugins, imageCredentialProviderBinDir: pluginPrograms } = flags;
  const provider = flags.cloudProvider;
  return [
    ...labels,
    ...(nodeIp === undefined ? [] : [issue('node-ip', nodeIp)]),
    ...(provider === '' || provider === 'external'
      ? []
      : [issue('cloud-provider', `must be empty or external, not ${JSON.stringify(provider)}`)]),
    ...(flags.exitOnLockContention && flags.lockFile === ''
      ? [issue('exit-on-lock-contention', 'needs --lock-file')]
      : []),
    ...(isAbsolute(flags.rootDir)
      ? []
      : [issue('root-dir', `must be an absolute path, not ${JSON.stringify(flags.rootDir)}`)]),
    ...(flags.minimumContainerTtlMs < 0 ? [issue('minimum-container-ttl-duration', 'must not be negative')] : []),
    ...(plugins !== '' && pluginPrograms === ''
      ? [issue('image-credential-provider-config', 'needs --image-credential-provider-bin-dir')]
      : []),
    ...(plugins === '' && pluginPrograms !== ''
      ? [issue('image-credential-provider-bin-dir', 'needs --image-credential-provider-config')]
      : []),
  ];
}

function nodeIpProblem(text: string): string | undefined {
  if (text === '') return undefined;
  const addresses = text.split(',').map((part) => part.trim());
  const bad = addresses.find((address) => !isIPv4(address) && !isIPv6(address));
  if (bad !== undefined) return `${JSON.stringify(bad)} is not an IP address`;
  const [first = '', second] = addresses;
  if (addresses.length > 2) return 'must be one IP address, or two';
  if (second !== undefined && isIPv4(first) === isIPv4(second)) return 'two IP addresses must be one of each family';
  return undefined;
}
