/** Programs inside the single executable file. */
export type Part = 'kubelet' | 'nodectl' | 'kubectl-why' | 'kubelet-cluster' | 'host-helper' | 'end-pods';

/**
 * Prefix of the argument that names an internal part. The argument is not a flag of the kubelet, so the kubelet's help
 * does not list it.
 */
const PART_ARGUMENT = '--node-agent-part=';
/** Argument that starts the helper process of package host. */
export const HELPER_ARGUMENT: string = `${PART_ARGUMENT}host-helper`;
/** Argument that starts the program of package cluster: `kubelet cluster up`. */
export const CLUSTER_ARGUMENT = 'cluster';
const INTERNAL: readonly Part[] = ['host-helper', 'end-pods'];

/** Programs that are chosen by the name of the executable file or of a link to it. */
const BY_NAME: readonly Part[] = ['nodectl', 'kubectl-why'];

/**
 * Returns the program to run. The name by which the file was called decides, as with busybox: `nodectl` and
 * `kubectl-why` are links to the file, and every other name runs the kubelet, or the part that the first argument names.
 * @param calledAs `process.argv0`
 * @param args the arguments after the program's name
 */
export function partOf(calledAs: string, args: readonly string[]): Part {
  const name = calledAs.slice(calledAs.lastIndexOf('/') + 1);
  const named = BY_NAME.find((part) => part === name);
  if (named === undefined && args[0] === CLUSTER_ARGUMENT) return 'kubelet-cluster';
  return named ?? INTERNAL.find((part) => args[0] === `${PART_ARGUMENT}${part}`) ?? 'kubelet';
}
