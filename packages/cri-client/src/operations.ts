/**
 * Returns the RPC's value of the metrics' label `operation_type` (`RunPodSandbox` becomes `run_podsandbox`).
 * Source: `pkg/kubelet/kuberuntime/instrumented_services.go`.
 */
export function operationType(rpc: string): string {
  if (rpc === 'UpdateContainerResources') return 'update_container';
  return rpc
    .replace('PodSandbox', 'Podsandbox')
    .replace(/(?<=.)[A-Z]/g, (letter) => `_${letter}`)
    .toLowerCase();
}
