import { basename, dirname } from 'node:path';

/**
 * The pod that a directory of logs is of, by its name `<namespace>_<name>_<uid>`; `undefined` for anything else, which
 * then is not the kubelet's to remove.
 */
export function podUidOfLogDirectory(name: string): string | undefined {
  const [namespace, pod, uid, ...rest] = name.split('_');
  return namespace && pod && uid && rest.length === 0 ? uid : undefined;
}

/** Which log file of which pod: what a link to a log is compared by. */
export function logKey(podUid: string, containerName: string, attempt: number): string {
  return `${podUid}/${containerName}/${attempt}`;
}

/** The {@link logKey} of a log file by its path `…/<namespace>_<name>_<uid>/<container>/<attempt>.log`. */
export function logKeyOfPath(path: string): string | undefined {
  const attempt = /^(\d+)\.log$/.exec(basename(path))?.[1];
  const uid = podUidOfLogDirectory(basename(dirname(dirname(path))));
  return attempt === undefined || uid === undefined ? undefined : logKey(uid, basename(dirname(path)), Number(attempt));
}
