/**
 * What an RPC is called in the label `operation_type` of the metrics (`RunPodSandbox` is `run_podsandbox`).
 * Source: `pkg/kubelet/kuberuntime/instrumented_services.go`.
 */
export function operationType(rpc: string): string {
  if (rpc === 'UpdateContainerResources') return 'update_container';
  return rpc
    .replace('PodSandbox', 'Podsandbox')
    .replace(/(?<=.)[A-Z]/g, (letter) => `_${letter}`)
    .toLowerCase();
}
