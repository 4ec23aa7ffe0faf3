/** Options of a private containerd's configuration. */
export interface ConfigOptions {
  /** Version of containerd. The configuration of version 2.x has other sections than that of 1.x. */
  readonly version: string;
  readonly root: string;
  readonly state: string;
  readonly socket: string;
  readonly runc: string;
  readonly cniBinDir: string;
  readonly cniConfDir: string;
  readonly sandboxImage: string;
  /** Directory with CDI specifications, besides the machine's own. */
  readonly cdiDir: string;
  /** Snapshotter: `overlayfs`, or `native` if overlayfs cannot be mounted. */
  readonly snapshotter: string;
  /** Additional handler names of the same runc for RuntimeClasses. The handler `runc` always exists. */
  readonly handlers?: readonly string[];
  /** Directory with registry configurations, one directory per host (containerd's docs/hosts.md). */
  readonly registryHostsDir?: string | undefined;
  /** Whether runc uses systemd to create the containers' cgroups. Default: false. */
  readonly systemdCgroup?: boolean;
}

/** Options of the pod network. */
export interface NetworkOptions {
  /** Whether pods can reach everything that the machine reaches. Requires iptables. */
  readonly masquerade: boolean;
  /**
   * Whether host ports are supported, including access from a pod to itself through its host port. Requires iptables.
   */
  readonly hostPorts: boolean;
  /**
   * Whether each pod has a link of its own instead of a port of the bridge. Packets between pods of the node are routed
   * then, so that they pass the firewall rules with which kube-proxy implements services.
   */
  readonly routed: boolean;
}

/** Returns the `config.toml` of a containerd that shares nothing with other containerds on the machine. */
export function containerdConfig(options: ConfigOptions): string {
  const quoted = (text: string): string => JSON.stringify(text);
  const head = [
    `root = ${quoted(options.root)}`,
    `state = ${quoted(options.state)}`,
    'imports = []',
    '[grpc]',
    `address = ${quoted(options.socket)}`,
  ];
  // Without CAP_SYS_RESOURCE a negative OOM score of a pod cannot be set, and no pod would start.
  const common = ['restrict_oom_score_adj = true', 'netns_mounts_under_state_dir = true'];
  const cdiDirs = ['/etc/cdi', '/var/run/cdi', options.cdiDir].map(quoted).join(', ');
  const cdi = ['enable_cdi = true', `cdi_spec_dirs = [${cdiDirs}]`];
  const runtimes = (cri: string): string[] =>
    ['runc', ...(options.handlers ?? [])].flatMap((handler) => [
      `[${cri}.containerd.runtimes.${handler}]`,
      'runtime_type = "io.containerd.runc.v2"',
      `[${cri}.containerd.runtimes.${handler}.options]`,
      `BinaryName = ${quoted(options.runc)}`,
      ...(options.systemdCgroup ? ['SystemdCgroup = true'] : []),
    ]);
  const registry = (section: string): string[] =>
    options.registryHostsDir === undefined
      ? []
      : [`[${section}.registry]`, `config_path = ${quoted(options.registryHostsDir)}`];
  if (Number(options.version.split('.')[0]) < 2) {
    const cri = 'plugins."io.containerd.grpc.v1.cri"';
    return lines([
      'version = 2',
      ...head,
      `[${cri}]`,
      `sandbox_image = ${quoted(options.sandboxImage)}`,
      ...common,
      // Containerd 1.6 has no CDI.
      ...(Number(options.version.split('.')[1]) < 7 ? [] : cdi),
      `[${cri}.cni]`,
      `bin_dir = ${quoted(options.cniBinDir)}`,
      `conf_dir = ${quoted(options.cniConfDir)}`,
      `[${cri}.containerd]`,
      `snapshotter = ${quoted(options.snapshotter)}`,
      ...runtimes(cri),
      ...registry(cri),
    ]);
  }
  const images = 'plugins."io.containerd.cri.v1.images"';
  const cri = 'plugins."io.containerd.cri.v1.runtime"';
  return lines([
    'version = 3',
    ...head,
    `[${images}]`,
    `snapshotter = ${quoted(options.snapshotter)}`,
    `[${images}.pinned_images]`,
    `sandbox = ${quoted(options.sandboxImage)}`,
    `[${cri}]`,
    ...common,
    ...cdi,
    `[${cri}.cni]`,
    `bin_dirs = [${quoted(options.cniBinDir)}]`,
    `conf_dir = ${quoted(options.cniConfDir)}`,
    ...runtimes(cri),
    ...registry(images),
    // NRI's socket has a fixed path, so two containerds would conflict.
    '[plugins."io.containerd.nri.v1.nri"]',
    'disable = true',
  ]);
}

/**
 * Returns a CNI configuration with a separate bridge, or without a bridge if the network is routed. Allocated addresses
 * are stored in `dataDir`.
 */
export function cniConfig(
  bridge: string,
  subnet: string,
  dataDir: string,
  { masquerade, hostPorts, routed }: NetworkOptions,
): string {
  const link = routed ? { type: 'ptp' } : { type: 'bridge', bridge, isGateway: true, hairpinMode: hostPorts };
  return JSON.stringify({
    cniVersion: '0.4.0',
    name: bridge,
    plugins: [
      {
        ...link,
        ipMasq: masquerade,
        ipam: { type: 'host-local', dataDir, ranges: [[{ subnet }]], routes: [{ dst: '0.0.0.0/0' }] },
      },
      ...(hostPorts ? [{ type: 'portmap', capabilities: { portMappings: true }, snat: true }] : []),
    ],
  });
}

/** Returns a `hosts.toml` that sends every request to one registry first, and then to the original registry. */
export function mirrorConfig(url: string): string {
  return lines([`[host.${JSON.stringify(url)}]`, 'capabilities = ["pull", "resolve"]']);
}

function lines(all: readonly string[]): string {
  return `${all.join('\n')}\n`;
}
