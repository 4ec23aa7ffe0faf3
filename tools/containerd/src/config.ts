/** What a private containerd's configuration says. */
export interface ConfigOptions {
  /** Decides the format: 2.x has other sections than 1.x. */
  readonly version: string;
  readonly root: string;
  readonly state: string;
  readonly socket: string;
  readonly runc: string;
  readonly cniBinDir: string;
  readonly cniConfDir: string;
  readonly sandboxImage: string;
  /** How images and containers are laid out on disk: `overlayfs`, or `native` where that cannot be mounted. */
  readonly snapshotter: string;
  /** Names under which a RuntimeClass asks for the same runc, beside `runc`. */
  readonly handlers?: readonly string[];
  /** A directory that says where registries are, one directory for each host (containerd's docs/hosts.md). */
  readonly registryHostsDir?: string | undefined;
  /** Whether runc asks systemd for the groups of containers; it makes them itself by default. */
  readonly systemdCgroup?: boolean;
}

/** How the pods' network is, beside its addresses. */
export interface NetworkOptions {
  /** Whether pods reach what the machine reaches, which takes iptables. */
  readonly masquerade: boolean;
  /** Whether ports of the host lead to pods, and pods reach themselves by them, which takes iptables. */
  readonly hostPorts: boolean;
}

/** `config.toml` of a containerd that shares nothing with another one on the machine. */
export function containerdConfig(options: ConfigOptions): string {
  const quoted = (text: string): string => JSON.stringify(text);
  const head = [
    `root = ${quoted(options.root)}`,
    `state = ${quoted(options.state)}`,
    'imports = []',
    '[grpc]',
    `address = ${quoted(options.socket)}`,
  ];
  // Without CAP_SYS_RESOURCE a pod's negative score could not be set, and no pod would start.
  const common = ['restrict_oom_score_adj = true', 'netns_mounts_under_state_dir = true'];
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
    `[${cri}.cni]`,
    `bin_dirs = [${quoted(options.cniBinDir)}]`,
    `conf_dir = ${quoted(options.cniConfDir)}`,
    ...runtimes(cri),
    ...registry(images),
    // Its socket is the machine's: two containerds would quarrel for it.
    '[plugins."io.containerd.nri.v1.nri"]',
    'disable = true',
  ]);
}

/** A CNI configuration of a bridge of its own, whose addresses are recorded in `dataDir`. */
export function cniConfig(
  bridge: string,
  subnet: string,
  dataDir: string,
  { masquerade, hostPorts }: NetworkOptions,
): string {
  return JSON.stringify({
    cniVersion: '0.4.0',
    name: bridge,
    plugins: [
      {
        type: 'bridge',
        bridge,
        isGateway: true,
        ipMasq: masquerade,
        hairpinMode: hostPorts,
        ipam: { type: 'host-local', dataDir, ranges: [[{ subnet }]], routes: [{ dst: '0.0.0.0/0' }] },
      },
      ...(hostPorts ? [{ type: 'portmap', capabilities: { portMappings: true }, snat: true }] : []),
    ],
  });
}

/** What a `hosts.toml` says that sends every request to one registry first, and to the registry that was meant next. */
export function mirrorConfig(url: string): string {
  return lines([`[host.${JSON.stringify(url)}]`, 'capabilities = ["pull", "resolve"]']);
}

function lines(all: readonly string[]): string {
  return `${all.join('\n')}\n`;
}
