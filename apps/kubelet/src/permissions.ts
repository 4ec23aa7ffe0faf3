import { errorCode } from '@node-agent/host';
import { errorText } from '@node-agent/telemetry';

/**
 * Says that the kubelet needs root, in upstream's words (`cmd/kubelet/app/server_others.go: checkPermissions`); `undefined` for root.
 * @param uid the user that the process runs as; `undefined` if the system has no such numbers
 */
export function permissionProblem(uid: number | undefined): string | undefined {
  if (uid === undefined || uid === 0) return undefined;
  return `kubelet needs to run as uid \`0\`. It is being run as ${uid}`;
}

/** An error of a start that was denied for want of root, with that reason in front; any other error as it is. */
export function withPermissionProblem(error: unknown, uid: number | undefined): unknown {
  const problem = permissionProblem(uid);
  if (problem === undefined || !isDenied(error)) return error;
  return new Error(`${problem}: ${errorText(error)}`, { cause: error });
}

/** Whether the system denied an operation, or one that was the cause of the error. */
function isDenied(error: unknown): boolean {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    if (['EACCES', 'EPERM'].includes(errorCode(at) ?? '')) return true;
  }
  return false;
}
