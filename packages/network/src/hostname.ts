import { dns1123LabelProblem, dns1123SubdomainProblem, type Pod } from '@node-agent/pod-spec';
import { NetworkError } from './errors.ts';

/** The kernel's limit is 64 bytes including the terminating zero. */
const MAX_HOSTNAME_LENGTH = 63;

/** The host name of a pod. */
export interface PodHostname {
  /** The short name, of at most 63 characters. */
  readonly hostname: string;
  /** The domain of the pod's FQDN. '' if it has none. */
  readonly domain: string;
  /** Whether the name was too long and was truncated. */
  readonly truncated: boolean;
}

/** The options of {@link podHostname}. */
export interface HostnameOptions {
  readonly clusterDomain: string;
  /** Gate HostnameOverride. Default: true. */
  readonly hostnameOverride?: boolean;
}

/**
 * Returns the host name and domain of a pod: `hostnameOverride` alone if set, otherwise `hostname` (or the pod's name)
 * with `subdomain` below the namespace's services (upstream: `GeneratePodHostNameAndDomain`, KEP-4762).
 * @throws NetworkError `InvalidHostname`
 */
export function podHostname(
  pod: Pod,
  { clusterDomain, hostnameOverride: overrides = true }: HostnameOptions,
): PodHostname {
  const { hostnameOverride, hostname, subdomain } = pod.spec;
  if (overrides && hostnameOverride != null) {
    require(`pod HostnameOverride ${JSON.stringify(hostnameOverride)} is not a valid DNS subdomain`, dns1123SubdomainProblem(
      hostnameOverride,
    ));
    return { ...cut(pod, hostnameOverride), domain: '' };
  }
  if (hostname) {
    require(`pod Hostname ${JSON.stringify(hostname)} is not a valid DNS label`, dns1123LabelProblem(hostname));
  }
  const name = cut(pod, hostname || pod.metadata.name);
  if (!subdomain) return { ...name, domain: '' };
  require(`pod Subdomain ${JSON.stringify(subdomain)} is not a valid DNS label`, dns1123LabelProblem(subdomain));
  return { ...name, domain: `${subdomain}.${pod.metadata.namespace}.svc.${clusterDomain}` };
}

function require(what: string, problems: readonly string[]): void {
  if (problems.length > 0) throw new NetworkError('InvalidHostname', `${what}: ${problems.join(';')}`);
}

function cut(pod: Pod, name: string): { readonly hostname: string; readonly truncated: boolean } {
  if (name.length <= MAX_HOSTNAME_LENGTH) return { hostname: name, truncated: false };
  const hostname = name.slice(0, MAX_HOSTNAME_LENGTH).replace(/[-.]+$/, '');
  if (hostname === '') {
    const [pods, names] = [pod.metadata.name, name].map((text) => JSON.stringify(text));
    throw new NetworkError('InvalidHostname', `hostname for pod ${pods} was invalid: ${names}`);
  }
  return { hostname, truncated: true };
}
