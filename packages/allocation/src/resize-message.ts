import { type Container, goJson, type Pod } from '@node-agent/pod-spec';

/**
 * Returns the text of a resize event: the kind of event, followed by the resources of all containers as JSON
 * (`pkg/kubelet/events/resize.go`).
 */
export function resizeMessage(what: string, pod: Pod, generation: number | undefined, error = ''): string {
  const list = (containers: readonly Container[]): readonly object[] =>
    containers.map(({ name, resources: { limits, requests, claims } = {} }) => ({
      name,
      resources: { ...(limits && { limits }), ...(requests && { requests }), ...(claims && { claims }) },
    }));
  const { containers, initContainers = [] } = pod.spec;
  const summary = {
    ...(initContainers.length > 0 && { initContainers: list(initContainers) }),
    containers: list(containers),
    generation: generation ?? 0,
    ...(error && { error }),
  };
  return `${what}: ${goJson(summary)}`;
}
