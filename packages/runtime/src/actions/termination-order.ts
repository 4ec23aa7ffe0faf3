import { isRestartableInit, type Pod } from '@node-agent/pod-spec';

/**
 * Whom each container of a pod waits for before it is told to stop: a sidecar for all main containers and for the
 * sidecars after it; everyone else for nobody (C4, `kuberuntime_termination_order.go`).
 * @param running names of the containers that run: nobody waits for others
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
