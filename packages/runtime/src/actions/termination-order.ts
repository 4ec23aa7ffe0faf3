import { isRestartableInit, type Pod } from '@node-agent/pod-spec';

/**
 * Returns, for each container of a pod, the containers that must stop before it is stopped (C4,
 * `kuberuntime_termination_order.go`). A sidecar waits for all main containers and the later sidecars; other containers
 * wait for none.
 * @param running names of the running containers; containers wait only for these
 */
export function terminationPrerequisites(
  pod: Pod,
  running: ReadonlySet<string>,
): ReadonlyMap<string, readonly string[]> {
  const prerequisites = new Map<string, readonly string[]>();
  const before = pod.spec.containers.map(({ name }) => name).filter((name) => running.has(name));
  for (const container of [...(pod.spec.initContainers ?? [])].reverse()) {
    if (!isRestartableInit(container)) continue;
    prerequisites.set(container.name, [...before]);
    if (running.has(container.name)) before.push(container.name);
  }
  return prerequisites;
}
