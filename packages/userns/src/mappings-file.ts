import { UserNamespaceError } from './errors.ts';
import type { IdRange } from './id-range.ts';

/** Mapping of a range of host IDs to container IDs. */
export interface IdMapping {
  readonly hostId: number;
  readonly containerId: number;
  readonly length: number;
}

/** Name of the file with the ID mapping in a pod's directory. */
export const MAPPINGS_FILE = 'userns';

/** Formats the mappings file of a pod, as upstream's kubelet does (`userNamespace` in `pkg/kubelet/userns`). */
export function formatMappings(range: IdRange): string {
  const mappings = [mappingOf(range)];
  return JSON.stringify({ uidMappings: mappings, gidMappings: mappings });
}

export function mappingOf({ firstId, length }: IdRange): IdMapping {
  return { hostId: firstId, containerId: 0, length };
}

/** Parses the mappings file of a pod. @throws UserNamespaceError `InvalidFile`, in upstream's wording */
export function parseMappings(text: string): IdRange {
  const refuse = (message: string, cause?: unknown): UserNamespaceError =>
    new UserNamespaceError('InvalidFile', message, { cause });
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch (err) {
    throw refuse('invalid user namespace mappings file: it is not JSON', err);
  }
  const { uidMappings, gidMappings } = isRecord(content) ? content : {};
  const users = mappings(uidMappings);
  const groups = mappings(gidMappings);
  if (users === undefined || groups === undefined) {
    throw refuse('invalid user namespace mappings file: must have lists of mappings of 32-bit numbers');
  }
  const [user] = users;
  if (user === undefined || users.length !== 1) {
    throw refuse('invalid user namespace configuration: no more than one mapping allowed.');
  }
  const [group] = groups;
  const isSame =
    group?.hostId === user.hostId && group.containerId === user.containerId && group.length === user.length;
  if (groups.length !== 1 || !isSame) {
    throw refuse('invalid user namespace configuration: GID and UID mapping should be identical');
  }
  if (user.containerId !== 0) throw refuse('invalid user namespace configuration: UID 0 must be mapped');
  return { firstId: user.hostId, length: user.length };
}

function mappings(value: unknown): readonly IdMapping[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const all = value.map((one: unknown): IdMapping | undefined => {
    if (!isRecord(one)) return undefined;
    const { hostId = 0, containerId = 0, length = 0 } = one;
    return isId(hostId) && isId(containerId) && isId(length) ? { hostId, containerId, length } : undefined;
  });
  return all.every((one) => one !== undefined) ? all : undefined;
}

function isId(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < 2 ** 32;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
