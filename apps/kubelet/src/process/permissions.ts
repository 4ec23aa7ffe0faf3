import { errorCode } from '@node-agent/host';
import { errorText } from '@node-agent/telemetry';

/**
 * Returns upstream's error message if the kubelet does not run as root (`cmd/kubelet/app/server_others.go:
 * checkPermissions`), or `undefined` for root.
 * @param uid the user ID of the process; `undefined` if the operating system has no user IDs
 */
export function permissionProblem(uid: number | undefined): string | undefined {
  if (uid === undefined || uid === 0) return undefined;
  return `kubelet needs to run as uid \`0\`. It is being run as ${uid}`;
}

/**
 * Prefixes a permission error with the reason that the kubelet does not run as root. Returns any other error unchanged.
 */
export function withPermissionProblem(error: unknown, uid: number | undefined): unknown {
  const problem = permissionProblem(uid);
  if (problem === undefined || !isDenied(error)) return error;
  return new Error(`${problem}: ${errorText(error)}`, { cause: error });
}

/** Returns whether the error or one of its causes is a denied operation (EACCES or EPERM). */
function isDenied(error: unknown): boolean {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    if (['EACCES', 'EPERM'].includes(errorCode(at) ?? '')) return true;
  }
  return false;
}
