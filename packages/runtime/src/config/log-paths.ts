import { join } from 'node:path';

/** Directory in which container logs are linked for log collectors that do not know CRI log paths. */
export const DEFAULT_CONTAINER_LOGS_DIRECTORY = '/var/log/containers';

const MAX_FILE_NAME_LENGTH = 255;

/**
 * Returns the log directory of a pod: `<podLogsDirectory>/<namespace>_<name>_<uid>` (`BuildPodLogsDirectory` upstream).
 */
export function podLogsPath(podLogsDirectory: string, namespace: string, name: string, uid: string): string {
  return join(podLogsDirectory, `${namespace}_${name}_${uid}`);
}

/** Returns a container's log file relative to its pod's log directory: `<container>/<attempt>.log`. */
export function containerLogPath(containerName: string, attempt: number): string {
  return join(containerName, `${attempt}.log`);
}

/**
 * Returns the path of the link that log collectors follow to a container's log file, cut to the maximum length of a
 * file name (`pkg/kubelet/kuberuntime/legacy.go`).
 */
export function legacyLogLink(
  directory: string,
  podName: string,
  namespace: string,
  containerName: string,
  containerId: string,
): string {
  const name = `${podName}_${namespace}_${containerName}-${containerId}`;
  return join(directory, `${name.slice(0, MAX_FILE_NAME_LENGTH - '.log'.length)}.log`);
}
