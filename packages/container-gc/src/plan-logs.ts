import { basename, dirname } from 'node:path';

/**
 * Returns the UID of the pod of a log directory, from its name `<namespace>_<name>_<uid>`; `undefined` for any other
 * name, which the kubelet must not remove.
 */
export function podUidOfLogDirectory(name: string): string | undefined {
  const [namespace, pod, uid, ...rest] = name.split('_');
  return namespace && pod && uid && rest.length === 0 ? uid : undefined;
}

/** Returns a key for a log file of a pod, used to compare links. */
export function logKey(podUid: string, containerName: string, attempt: number): string {
  return `${podUid}/${containerName}/${attempt}`;
}

/** Returns the {@link logKey} of a log file from its path `…/<namespace>_<name>_<uid>/<container>/<attempt>.log`. */
export function logKeyOfPath(path: string): string | undefined {
  const attempt = /^(\d+)\.log$/.exec(basename(path))?.[1];
  const uid = podUidOfLogDirectory(basename(dirname(dirname(path))));
  return attempt === undefined || uid === undefined ? undefined : logKey(uid, basename(dirname(path)), Number(attempt));
}
