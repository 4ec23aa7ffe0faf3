import { UserNamespaceError } from './errors.ts';

/** A contiguous range of host IDs, used for both users and groups. */
export interface IdRange {
  readonly firstId: number;
  readonly length: number;
}

/** Default number of IDs per pod. Every other number of IDs per pod must be a multiple of this number. */
export const DEFAULT_IDS_PER_POD = 65_536;

const ALL_IDS = 2 ** 32;

/** Returns the default range: all IDs except those of the host's own users. */
export function defaultIdRange(idsPerPod: number = DEFAULT_IDS_PER_POD): IdRange {
  return { firstId: idsPerPod, length: ALL_IDS - idsPerPod };
}

/**
 * Checks whether a range can be divided among pods (`MakeUserNsManager` in `pkg/kubelet/userns/userns_manager.go`).
 * @throws UserNamespaceError `InvalidRange`
 */
export function checkIdRange({ firstId, length }: IdRange, idsPerPod: number, maxPods: number): void {
  const refuse = (message: string): never => {
    throw new UserNamespaceError('InvalidRange', message);
  };
  if (idsPerPod < DEFAULT_IDS_PER_POD || idsPerPod % DEFAULT_IDS_PER_POD !== 0) {
    refuse(`kubelet user namespace length ${idsPerPod} is not a multiple of ${DEFAULT_IDS_PER_POD}`);
  }
  if (firstId % idsPerPod !== 0) refuse(`kubelet user assigned ID ${firstId} is not a multiple of ${idsPerPod}`);
  // The range must not contain 0: otherwise root in a pod would be root of the host.
  if (firstId < idsPerPod) refuse(`kubelet user assigned ID ${firstId} must be greater or equal to ${idsPerPod}`);
  if (length % idsPerPod !== 0) {
    refuse(`kubelet user assigned IDs length ${length} is not a multiple of ${idsPerPod}`);
  }
  if (length / idsPerPod < maxPods) refuse(`kubelet user assigned IDs are not enough to support ${maxPods} pods`);
}

/**
 * Parses the single range that `getsubids` prints, for example `0: kubelet 65536 2147483648` (`parseGetSubIdsOutput` in
 * `pkg/kubelet/kubelet_pods.go`).
 * @throws UserNamespaceError `InvalidRange`
 */
export function parseSubIds(output: string): IdRange {
  const refuse = (message: string): UserNamespaceError => new UserNamespaceError('InvalidRange', message);
  const lines = output.replace(/^\n+|\n+$/g, '').split('\n');
  const [line = ''] = lines;
  if (lines.length !== 1) throw refuse(`error parsing line ${JSON.stringify(output)}: it must contain only one line`);
  const parts = line.split(/\s+/).filter((part) => part !== '');
  if (parts.length !== 4) throw refuse(`invalid line ${JSON.stringify(line)}`);
  const [firstId, length] = parts.slice(2).map((part) => (/^\d{1,10}$/.test(part) ? Number(part) : ALL_IDS));
  if (firstId === undefined || length === undefined || firstId >= ALL_IDS || length >= ALL_IDS) {
    throw refuse(`error parsing line ${JSON.stringify(output)}: the range must be two 32-bit numbers`);
  }
  return { firstId, length };
}
