import type { PodSyncer } from '@node-agent/contracts';
import type { Pod } from '@node-agent/pod-spec';
import type { SpanAttributes, Tracer } from '@node-agent/telemetry';

/**
 * Wraps a syncer so that each step of a pod worker has a span, which begins a new trace. Names and attributes of the
 * spans are those of upstream (`pkg/kubelet/kubelet.go: SyncPod`, `SyncTerminatingPod`, `SyncTerminatedPod`).
 */
export function tracedSyncer(tracer: Tracer, syncer: PodSyncer): PodSyncer {
  return {
    syncPod: (updateType, pod, ...rest) =>
      tracer.span(
        {
          ...{ name: 'syncPod', root: true },
          attributes: () => ({ ...podAttributes(pod), 'k8s.pod.update_type': updateType }),
        },
        () => syncer.syncPod(updateType, pod, ...rest),
      ),
    syncTerminatingPod: (pod, ...rest) =>
      tracer.span({ name: 'syncTerminatingPod', root: true, attributes: () => podAttributes(pod) }, () =>
        syncer.syncTerminatingPod(pod, ...rest),
      ),
    // As in upstream, this step has no span of its own: only the runtime knows the pod.
    syncTerminatingRuntimePod: (...args) => syncer.syncTerminatingRuntimePod(...args),
    syncTerminatedPod: (pod, ...rest) =>
      tracer.span({ name: 'syncTerminatedPod', root: true, attributes: () => podAttributes(pod) }, () =>
        syncer.syncTerminatedPod(pod, ...rest),
      ),
  };
}

function podAttributes({ metadata: { uid, name, namespace } }: Pod): SpanAttributes {
  return {
    'k8s.pod.uid': uid,
    'k8s.pod': `${namespace}/${name}`,
    'k8s.pod.name': name,
    'k8s.namespace.name': namespace,
  };
}

/**
 * Wraps a garbage collection so that each run has a span: `Containers/GarbageCollect`
 * (`pkg/kubelet/kuberuntime/kuberuntime_gc.go`) or `Images/GarbageCollect` (`pkg/kubelet/images/image_gc_manager.go`).
 */
export function tracedCollection<Args extends readonly unknown[], T>(
  tracer: Tracer | undefined,
  name: 'Containers/GarbageCollect' | 'Images/GarbageCollect',
  collect: (...args: Args) => Promise<T>,
): (...args: Args) => Promise<T> {
  return tracer === undefined ? collect : (...args) => tracer.span({ name }, () => collect(...args));
}
