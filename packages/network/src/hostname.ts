import { dns1123LabelProblem, dns1123SubdomainProblem, type Pod } from '@node-agent/pod-spec';
import { NetworkError } from './errors.ts';

/** The kernel takes 64 bytes with the closing zero. */
const MAX_HOSTNAME_LENGTH = 63;

/** What a pod calls itself. */
export interface PodHostname {
  /** The short name, of at most 63 characters. */
  readonly hostname: string;
  /** The domain that its FQDN ends in; '' where it has none. */
  readonly domain: string;
  /** Whether the name was longer and had to be cut. */
  readonly truncated: boolean;
}

/** What pods' host names depend on beside the pods. */
export interface HostnameOptions {
  readonly clusterDomain: string;
  /** Gate HostnameOverride; true by default. */
  readonly hostnameOverride?: boolean;
}

/**
 * The host name and domain of a pod: `hostnameOverride` alone, else `hostname` (or the pod's name) with `subdomain`
 * below the namespace's services (`GeneratePodHostNameAndDomain` upstream, KEP-4762).
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
