import { isDeepStrictEqual } from 'node:util';
import type { Json } from '../differences.ts';
import { plain } from '../observed.ts';
import { type DriverCall, isRepublished } from './drivers.ts';

/** RPCs for a volume on a node. Which capabilities are asked for, and how often, is not compared. */
const OF_VOLUME = /^Node(Stage|Unstage|Publish|Unpublish|Expand)Volume$|^NodeGetVolumeStats$/;

/** Pod whose calls are selected. */
export interface CallsOf {
  readonly podUid: string;
  readonly handles: readonly string[];
}

/**
 * Returns the calls for the volumes of a pod: the distinct requests of each RPC with their results, the order in which
 * the RPCs were first called, and how often a change succeeded. How often a call is repeated depends on timing.
 */
export function callsOf(calls: readonly DriverCall[], { podUid, handles }: CallsOf): Json {
  const own = calls.filter(({ rpc, request }) => OF_VOLUME.test(rpc) && isOf(request, podUid, handles));
  const requests: Record<string, Json[]> = {};
  const succeeded: Record<string, number | string> = {};
  for (const call of own.toSorted((a, b) => a.startedAtMs - b.startedAtMs)) {
    const { rpc, driver, request, code, details } = call;
    const shown = plain({ driver, request, code, details });
    const known = requests[rpc] ?? [];
    // The Go kubelet sends the entries of a map in a random order.
    if (!known.some((one) => isDeepStrictEqual(one, shown))) requests[rpc] = [...known, shown];
    if (code !== 'OK' || rpc === 'NodeGetVolumeStats') continue;
    succeeded[rpc] = isRepublished(call, driver) ? 'repeatedly' : Number(succeeded[rpc] ?? 0) + 1;
  }
  const order = Object.keys(requests).filter((rpc) => rpc !== 'NodeGetVolumeStats');
  return { order: order.join(), requests, succeeded };
}

/** UID of a pod in a path. */
const UID = /\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?=\/|$)/;

/** A path that names a pod decides, because several pods may use a volume. */
function isOf(
  { volumeId, targetPath, volumePath }: DriverCall['request'],
  podUid: string,
  handles: readonly string[],
): boolean {
  const uid = UID.exec(String(targetPath ?? volumePath ?? ''))?.[1];
  return uid === undefined ? handles.includes(String(volumeId)) : uid === podUid;
}
