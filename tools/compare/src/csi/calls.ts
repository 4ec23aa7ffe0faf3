import { isDeepStrictEqual } from 'node:util';
import type { Json } from '../differences.ts';
import { plain } from '../observed.ts';
import { type DriverCall, isRepublished } from './drivers.ts';

/** Matches the RPCs for a volume on a node. Other RPCs, such as those that query capabilities, are not compared. */
const OF_VOLUME = /^Node(Stage|Unstage|Publish|Unpublish|Expand)Volume$|^NodeGetVolumeStats$/;

/** Pod whose calls are selected, and the handles of its volumes. */
export interface CallsOf {
  readonly podUid: string;
  readonly handles: readonly string[];
}

/**
 * Returns the calls for the volumes of a pod: the distinct requests of each RPC with their results, the order in which
 * the RPCs were first called, and the number of successful calls of each RPC that changes something. The number of
 * failed calls is left out, because it depends on timing.
 */
export function callsOf(calls: readonly DriverCall[], { podUid, handles }: CallsOf): Json {
  const own = calls.filter(({ rpc, request }) => OF_VOLUME.test(rpc) && isOf(request, podUid, handles));
  const requests: Record<string, Json[]> = {};
  const succeeded: Record<string, number | string> = {};
  for (const call of own.toSorted((a, b) => a.startedAtMs - b.startedAtMs)) {
    const { rpc, driver, request, code, details } = call;
    const shown = plain({ driver, request, code, details });
    const known = requests[rpc] ?? [];
    // Requests are compared without the order of map entries, because the Go kubelet sends them in a random order.
    if (!known.some((one) => isDeepStrictEqual(one, shown))) requests[rpc] = [...known, shown];
    if (code !== 'OK' || rpc === 'NodeGetVolumeStats') continue;
    succeeded[rpc] = isRepublished(call, driver) ? 'repeatedly' : Number(succeeded[rpc] ?? 0) + 1;
  }
  const order = Object.keys(requests).filter((rpc) => rpc !== 'NodeGetVolumeStats');
  return { order: order.join(), requests, succeeded };
}

/** Matches the UID of a pod in a path. */
const UID = /\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?=\/|$)/;

/**
 * Reports whether a request is for a volume of the pod. If a path in the request contains a pod UID, only the UID
 * decides, because several pods may use a volume.
 */
function isOf(
  { volumeId, targetPath, volumePath }: DriverCall['request'],
  podUid: string,
  handles: readonly string[],
): boolean {
  const uid = UID.exec(String(targetPath ?? volumePath ?? ''))?.[1];
  return uid === undefined ? handles.includes(String(volumeId)) : uid === podUid;
}
