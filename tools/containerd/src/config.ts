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
  const runc = ['runtime_type = "io.containerd.runc.v2"'];
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
      `[${cri}.containerd.runtimes.runc]`,
      ...runc,
      `[${cri}.containerd.runtimes.runc.options]`,
      `BinaryName = ${quoted(options.runc)}`,
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
    `[${cri}.containerd.runtimes.runc]`,
    ...runc,
    `[${cri}.containerd.runtimes.runc.options]`,
    `BinaryName = ${quoted(options.runc)}`,
    // Its socket is the machine's: two containerds would quarrel for it.
    '[plugins."io.containerd.nri.v1.nri"]',
    'disable = true',
  ]);
}

/**
 * A CNI configuration of a bridge of its own, whose addresses are recorded in `dataDir`.
 * @param masquerade whether pods reach what the machine reaches, which takes iptables
 */
export function cniConfig(bridge: string, subnet: string, dataDir: string, masquerade: boolean): string {
  return JSON.stringify({
    cniVersion: '0.4.0',
    name: bridge,
    plugins: [
      {
        type: 'bridge',
        bridge,
        isGateway: true,
        ipMasq: masquerade,
        ipam: { type: 'host-local', dataDir, ranges: [[{ subnet }]], routes: [{ dst: '0.0.0.0/0' }] },
      },
    ],
  });
}

function lines(all: readonly string[]): string {
  return `${all.join('\n')}\n`;
}
