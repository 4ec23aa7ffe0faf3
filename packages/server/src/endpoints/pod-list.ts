import type { Pod, RuntimePod } from '@node-agent/pod-spec';
import type { ApiList } from './list-reply.ts';

/** A v1 PodList. */
interface PodList extends ApiList {
  readonly kind: 'PodList';
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

function listOf(items: readonly object[]): PodList {
  return { kind: 'PodList', apiVersion: 'v1', metadata: {}, items };
}
