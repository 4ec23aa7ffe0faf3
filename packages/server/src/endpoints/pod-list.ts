import { type Clock, TimeSlice } from '@node-agent/async';
import type { Pod, RuntimePod } from '@node-agent/pod-spec';
import type { BytesReply } from '../http/reply.ts';

/** A v1 PodList. */
export interface PodList {
  readonly kind: 'PodList';
  readonly apiVersion: 'v1';
  readonly metadata: object;
  readonly items: readonly object[];
}

/** Returns a v1 PodList, in the format of the endpoint `/pods` (`encodePods` in `pkg/kubelet/server/server.go`). */
export function podList(pods: readonly Pod[]): PodList {
  // Items of a list have neither `kind` nor `apiVersion`.
  return listOf(pods.map(({ metadata, spec, status }) => ({ metadata, spec, status: status ?? {} })));
}

/**
 * Returns a v1 PodList of the running containers that the runtime knows (`ToAPIPod` in
 * `pkg/kubelet/container/runtime.go`). Exited containers are left out.
 */
export function runningPodList(pods: readonly RuntimePod[]): PodList {
  return listOf(
    pods.map(({ uid, name, namespace, containers }) => ({
      metadata: { name, namespace, uid },
      spec: {
        containers: containers
          .filter(({ state }) => state === 'running')
          .map((container) => ({ name: container.name, image: container.image, resources: {} })),
      },
      status: {},
    })),
  );
}

/**
 * Encodes a list as JSON with a trailing newline, as upstream's encoder writes it. The list of a node with many pods has
 * several megabytes, so the event loop is served between portions of the list. @throws the signal's reason
 */
export async function podListReply(
  { items, ...head }: PodList,
  clock: Pick<Clock, 'monotonic' | 'setTimer'>,
  signal: AbortSignal,
): Promise<BytesReply> {
  const slice = new TimeSlice({ clock });
  const portions: Buffer[] = [];
  let portion = JSON.stringify({ ...head, items: [] }).slice(0, -']}'.length);
  for (const [index, item] of items.entries()) {
    portion += `${index === 0 ? '' : ','}${JSON.stringify(item)}`;
    if (!slice.isDue()) continue;
    portions.push(Buffer.from(portion));
    portion = '';
    await slice.pause(signal);
  }
  portions.push(Buffer.from(`${portion}]}\n`));
  return { status: 200, headers: { 'Content-Type': 'application/json' }, bytes: Buffer.concat(portions) };
}

function listOf(items: readonly object[]): PodList {
  return { kind: 'PodList', apiVersion: 'v1', metadata: {}, items };
}
