import type { Pod, PodCondition, PodStatus } from '@node-agent/pod-spec';

const TYPE = 'PodReadyToStartContainers';

/**
 * A status that says that the pod's sandbox, network and volumes are there, so that its containers may start (KEP-3085,
 * `OnPodSandboxReady` in `pkg/kubelet/kubelet.go`). All else stays as it is: its images may take long to come.
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
