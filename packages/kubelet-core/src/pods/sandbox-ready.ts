import type { Pod, PodCondition, PodStatus } from '@node-agent/pod-spec';

const TYPE = 'PodReadyToStartContainers';

/**
 * Returns a status which shows that the pod's sandbox, network and volumes are ready, so that its containers can start
 * (KEP-3085, `OnPodSandboxReady` in `pkg/kubelet/kubelet.go`). All other fields stay unchanged.
 */
export function withSandboxReady({ metadata }: Pod, status: PodStatus): PodStatus {
  const { conditions = [] } = status;
  const { generation } = metadata;
  const ready: PodCondition = {
    type: TYPE,
    status: 'True',
    ...(generation !== undefined && { observedGeneration: generation }),
  };
  const known = conditions.some(({ type }) => type === TYPE);
  return {
    ...status,
    conditions: known ? conditions.map((old) => (old.type === TYPE ? ready : old)) : [ready, ...conditions],
  };
}
