import { isIP } from 'node:net';
import type { ConfigIssue } from '../error.ts';
import { keyProblem, nodeLabelProblem, valueProblem } from '../labels.ts';
import type { CommandLine } from './command-line.ts';

/**
 * Returns the problems of the flags that do not set fields (`ValidateKubeletFlags`,
 * cmd/kubelet/app/options/options.go).
 */
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
    ...(flags.bootstrapKubeconfig !== '' && flags.kubeconfig === ''
      ? [issue('bootstrap-kubeconfig', 'needs --kubeconfig')]
      : []),
    ...(flags.all && !flags.help ? [issue('all', 'needs --help')] : []),
    ...(flags.exitOnLockContention && flags.lockFile === ''
      ? [issue('exit-on-lock-contention', 'needs --lock-file')]
      : []),
    ...(flags.adminSocket === '' || flags.adminSocket.startsWith('/')
      ? []
      : [issue('admin-socket', 'must be an absolute path')]),
    ...(Number.isInteger(flags.dashboardPort) && flags.dashboardPort >= 0 && flags.dashboardPort <= 65_535
      ? []
      : [issue('dashboard-port', 'must be between 0 and 65535')]),
    ...(flags.rootDir === '' ? [issue('root-dir', 'must not be empty')] : []),
    ...(flags.minimumContainerTtlMs < 0 ? [issue('minimum-container-ttl-duration', 'must not be negative')] : []),
    ...(plugins !== '' && pluginPrograms === ''
      ? [issue('image-credential-provider-config', 'needs --image-credential-provider-bin-dir')]
      : []),
    ...(plugins === '' && pluginPrograms !== ''
      ? [issue('image-credential-provider-bin-dir', 'needs --image-credential-provider-config')]
      : []),
  ];
}

/**
 * Returns the problem of --node-ip. Texts that are not addresses are ignored later, as upstream does
 * (`ParseNodeIPArgument`); two addresses must be of different families.
 */
function nodeIpProblem(text: string): string | undefined {
  const families = text.split(',').map((part) => isIP(part.trim()));
  const [first, second, third] = families.filter((family) => family !== 0);
  if (third !== undefined) return 'must be one IP address, or two';
  return first !== undefined && first === second ? 'two IP addresses must be one of each family' : undefined;
}
