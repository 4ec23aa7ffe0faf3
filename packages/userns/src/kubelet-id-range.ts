import { UserNamespaceError } from './errors.ts';
import { defaultIdRange, type IdRange, parseSubIds } from './id-range.ts';

/** Who knows the users of the host. */
export interface SubIdComponents {
  /** Whether the host has a user of this name, in whatever directory of users. @throws where that cannot be told */
  userExists(name: string, signal: AbortSignal): Promise<boolean>;
  /** Runs a program; `undefined` where there is no such program. @throws where it fails */
  run(program: string, args: readonly string[], signal: AbortSignal): Promise<string | undefined>;
}

const KUBELET_USER = 'kubelet';

/**
 * The IDs that pods are given: those that `getsubids` has for the user `kubelet`; all but the host's own where there is no such user, or
 * no such tool. Where there are both, and the tool gives no answer, that is an error: the users may be in a directory that is away
 * (`getKubeletMappings` in `pkg/kubelet/kubelet_pods.go`).
 * @throws UserNamespaceError `InvalidRange`, and what the components throw
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
