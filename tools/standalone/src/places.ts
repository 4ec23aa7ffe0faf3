import { join } from 'node:path';

/** Where everything of a run is. */
export interface Places {
  readonly runDir: string;
  /** The private containerd's. */
  readonly containerdDir: string;
  readonly containerdLog: string;
  /** The socket that the kubelet speaks to where there is no private containerd. */
  readonly criSocket: string;
  readonly kubeletConfig: string;
  readonly kubeletLog: string;
  /** The kubelet's root directory. */
  readonly kubeletRoot: string;
  readonly manifests: string;
  readonly podLogs: string;
  /** The container logs of the run before. */
  readonly previousLogs: string;
}

/** `sun_path` of a socket's address has 108 bytes, and a zero ends it. */
const SOCKET_PATH_BYTES = 107;

export function placesIn(runDir: string): Places {
  const at = (name: string): string => join(runDir, name);
  return {
    runDir,
    containerdDir: at('containerd'),
    containerdLog: at('containerd.log'),
    criSocket: at('cri.sock'),
    kubeletConfig: at('kubelet.yaml'),
    kubeletLog: at('kubelet.log'),
    kubeletRoot: at('kubelet'),
    manifests: at('manifests'),
    podLogs: at('logs/pods'),
    previousLogs: at('logs/previous'),
  };
}

/**
 * The run directory where none is asked for. Root's is on disk and not under /run: images and volumes are in it, and
 * /run is memory.
 */
export function defaultRunDir(user: {
  readonly uid: number;
  readonly xdgRuntimeDir: string | undefined;
  readonly tmpDir: string;
}): string {
  if (user.uid === 0) return '/var/lib/node-agent';
  return user.xdgRuntimeDir ? join(user.xdgRuntimeDir, 'node-agent') : join(user.tmpDir, `node-agent-${user.uid}`);
}

/** Says why a run directory cannot be one; `undefined` where it can. */
export function runDirProblem(runDir: string): string | undefined {
  const { containerdDir, criSocket } = placesIn(runDir);
  const longest = [join(containerdDir, 'c.sock.ttrpc'), criSocket].sort((a, b) => b.length - a.length)[0] ?? '';
  const excess = Buffer.byteLength(longest) - SOCKET_PATH_BYTES;
  if (excess <= 0) return undefined;
  return `its path is too long by ${excess} bytes: a socket in it would be ${longest}`;
}
