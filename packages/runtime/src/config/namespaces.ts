import { type Init, NamespaceMode, type NamespaceOption, type UserNamespace } from '@node-agent/cri-client';
import type { Pod } from '@node-agent/pod-spec';
import { PodRuntimeError } from '../errors.ts';
import type { PodContext } from './context.ts';

function podNetworkNamespace(pod: Pod): NamespaceMode {
  return pod.spec.hostNetwork ? NamespaceMode.NODE : NamespaceMode.POD;
}

/**
 * Returns the namespaces of a pod, including those shared with the node (`pkg/kubelet/kuberuntime/util/util.go`).
 * @throws PodRuntimeError `Unsupported` if the pod needs a user namespace and none was assigned
 */
export function podNamespaces(pod: Pod, context: PodContext): Init<NamespaceOption> {
  return {
    ipc: pod.spec.hostIPC ? NamespaceMode.NODE : NamespaceMode.POD,
    network: podNetworkNamespace(pod),
    pid: podPidNamespace(pod),
    usernsOptions: podUserNamespace(pod, context),
  };
}

function podPidNamespace(pod: Pod): NamespaceMode {
  if (pod.spec.hostPID) return NamespaceMode.NODE;
  return pod.spec.shareProcessNamespace ? NamespaceMode.POD : NamespaceMode.CONTAINER;
}

function podUserNamespace(pod: Pod, context: PodContext): Init<UserNamespace> {
  if (pod.spec.hostUsers !== false) return { mode: NamespaceMode.NODE };
  if (context.userNamespace) return context.userNamespace;
  throw new PodRuntimeError(
    'Unsupported',
    "can't set `spec.hostUsers: false`, this kubelet does not assign user namespaces",
  );
}
