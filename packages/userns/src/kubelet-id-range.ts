import { UserNamespaceError } from './errors.ts';
import { defaultIdRange, type IdRange, parseSubIds } from './id-range.ts';

/** Functions that {@link kubeletIdRange} needs from the host. */
export interface SubIdComponents {
  /** Reports whether the host has a user of this name, in any user database. @throws if that cannot be determined */
  userExists(name: string, signal: AbortSignal): Promise<boolean>;
  /** Runs a program and returns its output; `undefined` if the program does not exist. @throws if the program fails */
  run(program: string, args: readonly string[], signal: AbortSignal): Promise<string | undefined>;
}

const KUBELET_USER = 'kubelet';

/**
 * Returns the ID range for pods: the range that `getsubids` prints for the user `kubelet`, or the default range if the
 * user or the tool does not exist. If both exist but the tool fails, the function throws, because the user database may
 * only be temporarily unavailable (`getKubeletMappings` in `pkg/kubelet/kubelet_pods.go`).
 * @throws UserNamespaceError `InvalidRange`, or the errors of the components
 */
export async function kubeletIdRange(
  { userExists, run }: SubIdComponents,
  idsPerPod: number,
  signal: AbortSignal,
): Promise<IdRange> {
  if (!(await userExists(KUBELET_USER, signal))) return defaultIdRange(idsPerPod);
  const [users, groups] = await Promise.all([
    run('getsubids', [KUBELET_USER], signal),
    run('getsubids', ['-g', KUBELET_USER], signal),
  ]);
  if (users === undefined || groups === undefined) return defaultIdRange(idsPerPod);
  if (users !== groups) {
    throw new UserNamespaceError('InvalidRange', `mismatched subuids and subgids for user "${KUBELET_USER}"`);
  }
  return parseSubIds(users);
}
