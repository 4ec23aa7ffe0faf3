import { join } from 'node:path';
import { checkComponents, checkOptions } from '@node-agent/async';
import { errorCode, type FileSystem, isMissing, readBounded, readFileBounded } from '@node-agent/host';
import { type Container, type Mount, type Pod, podReference } from '@node-agent/pod-spec';
import { type EventRecorder, type Logger, type ObjectReference, withDefaults } from '@node-agent/telemetry';
import { resolvConfProblem } from './dns-limits.ts';
import { NetworkError } from './errors.ts';
import { podHostname } from './hostname.ts';
import { HOSTS_PATH, hostNetworkHostsFile, managedHostsFile } from './hosts-file.ts';
import { podDns } from './pod-dns.ts';
import { type DnsConfig, MAX_RESOLV_CONF_BYTES, parseResolvConf } from './resolv-conf.ts';

export interface PodNetworkComponents {
  readonly fs: Pick<FileSystem, 'open' | 'openBeneath' | 'stat' | 'writeFile' | 'mkdir' | 'chmod'>;
  /** Default: events are not recorded. */
  readonly recorder?: EventRecorder;
  /** Default: no logging. */
  readonly logger?: Logger;
}

export interface PodNetworkOptions {
  /** The kubelet's root directory. A pod's hosts file is `<rootDirectory>/pods/<uid>/etc-hosts`. */
  readonly rootDirectory: string;
  readonly nodeName: string;
  /** The resolver file of the node. '': none. Default: `/etc/resolv.conf`. */
  readonly resolvConfPath?: string;
  /** IP addresses of the cluster's name servers. Default: none. */
  readonly clusterDns?: readonly string[];
  /** DNS domain of the cluster. Default: '', which means none. */
  readonly clusterDomain?: string;
  /** Gate HostnameOverride. Default: true. */
  readonly hostnameOverride?: boolean;
  /** IP addresses of the node. Default: none. */
  readonly nodeIps?: readonly string[];
}

/** The number of remembered warnings, more than the pods of a node cause (K4). */
const MAX_WARNED = 1_000;

/** The size limit of the node's hosts file, in bytes, larger than typical block lists. */
const MAX_NODE_HOSTS_BYTES = 16 * 2 ** 20;

/**
 * Provides a pod's resolver settings, host name and hosts file. Keeps no state except the cached resolver file and the
 * warnings already reported. Files are read when a pod needs them, so that changes apply immediately.
 */
export class PodNetwork {
  readonly #fs: PodNetworkComponents['fs'];
  readonly #recorder: EventRecorder;
  readonly #logger: Logger;
  readonly #options: Required<PodNetworkOptions>;
  /** The node's resolver file as last read, with its version. */
  #hostResolver: { readonly version: string; readonly config: DnsConfig } | undefined;
  #lastProblem: string | undefined;
  /** The newest warnings that were reported. */
  readonly #warned = new Set<string>();

  constructor(components: PodNetworkComponents, options: PodNetworkOptions) {
    const asked = checkOptions('PodNetwork', options, {
      rootDirectory: 'string',
      nodeName: 'string',
      resolvConfPath: 'string?',
      clusterDns: 'list?',
      clusterDomain: 'string?',
      hostnameOverride: 'boolean?',
      nodeIps: 'list?',
    });
    checkComponents('PodNetwork', components, { fs: ['mkdir', 'open', 'writeFile', 'stat', 'chmod', 'openBeneath'] });
    const { fs, recorder, logger } = withDefaults(components);
    this.#fs = fs;
    this.#recorder = recorder;
    this.#logger = logger;
    this.#options = {
      resolvConfPath: '/etc/resolv.conf',
      clusterDns: [],
      clusterDomain: '',
      hostnameOverride: true,
      nodeIps: [],
      ...asked,
    };
  }

  /**
   * Returns the resolver settings of a pod's sandbox. If settings had to be shortened or replaced, an event is
   * recorded, once per pod.
   * @throws NetworkError if the node's resolver file is unreadable or invalid
   */
  async podDns(pod: Pod): Promise<DnsConfig> {
    const { clusterDns, clusterDomain, nodeIps } = this.#options;
    const host = await this.#hostDns();
    const { config, warnings } = podDns(pod, { host, clusterDns, clusterDomain, nodeIps });
    for (const { reason, message, onNode } of warnings) {
      // The method is called for each sandbox and container, but a warning is reported once per pod.
      if (!this.#isNews(`${pod.metadata.uid} ${message}`)) continue;
      this.#logger.warn({ podUid: pod.metadata.uid, reason }, message);
      if (onNode) this.#recorder.event(this.#nodeReference(), 'Warning', reason, onNode);
      this.#recorder.event(podReference(pod), 'Warning', reason, message);
    }
    return config;
  }

  /**
   * Returns the short host name and the domain ('' if none) of a pod.
   * @throws NetworkError `InvalidHostname`
   */
  hostname(pod: Pod): { readonly hostname: string; readonly domain: string } {
    const { hostname, domain, truncated } = podHostname(pod, this.#options);
    if (truncated) {
      const { name, uid } = pod.metadata;
      this.#logger.warn({ podUid: uid, podName: name, hostname }, 'Hostname of pod was too long, truncated it');
    }
    return { hostname, domain };
  }

  /**
   * Updates the pod's hosts file and returns its mount. Returns `undefined` if the container mounts its own
   * `/etc/hosts`, or if the pod has no IP yet.
   * @throws NetworkError if the file cannot be written, or the host name is invalid
   */
  async hostsMount(pod: Pod, container: Container, podIps: readonly string[]): Promise<Mount | undefined> {
    if (podIps.length === 0 && !pod.spec.hostNetwork) return undefined;
    if (container.volumeMounts?.some((mount) => mount.mountPath === HOSTS_PATH)) return undefined;
    const directory = join(this.#options.rootDirectory, 'pods', pod.metadata.uid);
    const path = join(directory, 'etc-hosts');
    try {
      const content = await this.#hostsFile(pod, podIps);
      if (await this.#holds(directory, 'etc-hosts', content)) {
        // A container may have changed the mode, or an older kubelet may have created the file with another one.
        await this.#fs.chmod(path, 0o644);
      } else {
        await this.#fs.mkdir(directory);
        // The file is written in place, because containers that mount it keep using its inode.
        await this.#fs.writeFile(path, content, { mode: 0o644 });
      }
    } catch (error) {
      throw NetworkError.from(error);
    }
    return {
      containerPath: HOSTS_PATH,
      hostPath: path,
      readOnly: false,
      recursiveReadOnly: false,
      selinuxRelabel: true,
      propagation: 'None',
    };
  }

  /** Checks the node's resolver file. Records an event on the node, once per problem, if pods cannot use all of it. */
  async checkResolvConf(): Promise<void> {
    const { resolvConfPath, clusterDomain } = this.#options;
    let problem: string | undefined;
    try {
      const host = await this.#hostDns();
      problem = host && resolvConfProblem(resolvConfPath, host.searches, clusterDomain);
    } catch (error) {
      problem = NetworkError.from(error).message;
    }
    if (problem !== undefined && problem !== this.#lastProblem) {
      this.#recorder.event(this.#nodeReference(), 'Warning', 'CheckLimitsForResolvConf', problem);
    }
    this.#lastProblem = problem;
  }

  #isNews(warning: string): boolean {
    const isNews = !this.#warned.delete(warning);
    this.#warned.add(warning);
    const [oldest] = this.#warned;
    if (this.#warned.size > MAX_WARNED && oldest !== undefined) this.#warned.delete(oldest);
    return isNews;
  }

  async #hostDns(): Promise<DnsConfig | undefined> {
    const path = this.#options.resolvConfPath;
    if (path === '') return undefined;
    try {
      const { sizeBytes, modifiedAtMs, inode, device } = await this.#fs.stat(path);
      if (sizeBytes > MAX_RESOLV_CONF_BYTES) {
        throw new NetworkError('InvalidResolvConf', `${sizeBytes} bytes, at most ${MAX_RESOLV_CONF_BYTES} are allowed`);
      }
      const version = `${device} ${inode} ${modifiedAtMs} ${sizeBytes}`;
      if (this.#hostResolver?.version !== version) {
        const bytes = await readFileBounded(this.#fs, path, MAX_RESOLV_CONF_BYTES);
        this.#hostResolver = { version, config: parseResolvConf(new TextDecoder().decode(bytes)) };
      }
      return this.#hostResolver.config;
    } catch (error) {
      const { code, message } = NetworkError.from(error);
      throw new NetworkError(code, `resolver file ${path}: ${message}`, { cause: error });
    }
  }

  async #hostsFile(pod: Pod, podIps: readonly string[]): Promise<Uint8Array> {
    if (pod.spec.hostNetwork) {
      return hostNetworkHostsFile(pod, await readFileBounded(this.#fs, HOSTS_PATH, MAX_NODE_HOSTS_BYTES));
    }
    const { hostname, domain } = this.hostname(pod);
    return Buffer.from(managedHostsFile(pod, podIps, hostname, domain));
  }

  /**
   * Returns whether a file already has this content. A file with this content is not rewritten, because readers could
   * briefly see half of the file. Containers can write to the file and make it large and sparse, so no more is read
   * than the expected size (W5).
   */
  async #holds(directory: string, name: string, content: Uint8Array): Promise<boolean> {
    try {
      const file = await this.#fs.openBeneath(directory, name);
      try {
        return Buffer.compare(content, await readBounded(file, content.length, `${directory}/${name}`)) === 0;
      } finally {
        await file.close();
      }
    } catch (error) {
      if (isMissing(error) || errorCode(error) === 'EFBIG') return false;
      throw error;
    }
  }

  #nodeReference(): ObjectReference {
    return { kind: 'Node', name: this.#options.nodeName, uid: this.#options.nodeName };
  }
}
