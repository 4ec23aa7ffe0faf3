import { join } from 'node:path';

/** Paths of all files of a run. */
export interface Places {
  readonly runDir: string;
  /** Directory of the private containerd. */
  readonly containerdDir: string;
  readonly containerdLog: string;
  /** Socket to which the kubelet connects if there is no private containerd. */
  readonly criSocket: string;
  readonly kubeletConfig: string;
  readonly kubeletLog: string;
  /** Root directory of the kubelet. */
  readonly kubeletRoot: string;
  readonly manifests: string;
  readonly podLogs: string;
  /** Container logs of the previous run. */
  readonly previousLogs: string;
}

/** Maximum length of a socket's path: `sun_path` has 108 bytes including the terminating zero. */
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
 * Returns the default run directory. For root it is on disk and not below /run, which is memory, because it contains
 * images and volumes.
 */
export function defaultRunDir(user: {
  readonly uid: number;
  readonly xdgRuntimeDir: string | undefined;
  readonly tmpDir: string;
}): string {
  if (user.uid === 0) return '/var/lib/node-agent';
  return user.xdgRuntimeDir ? join(user.xdgRuntimeDir, 'node-agent') : join(user.tmpDir, `node-agent-${user.uid}`);
}

/** Returns why a run directory cannot be used, or `undefined` if it can. */
export function runDirProblem(runDir: string): string | undefined {
  const { containerdDir, criSocket } = placesIn(runDir);
  const longest = [join(containerdDir, 'c.sock.ttrpc'), criSocket].sort((a, b) => b.length - a.length)[0] ?? '';
  const excess = Buffer.byteLength(longest) - SOCKET_PATH_BYTES;
  if (excess <= 0) return undefined;
  return `path is too long by ${excess} bytes for a socket: ${longest}`;
}
