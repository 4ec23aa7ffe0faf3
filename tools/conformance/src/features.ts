import type { ControlPlaneOptions } from '@node-agent/tools-control-plane';
import type { ClusterFeatures } from './selections.ts';

/** Returns the arguments of the control plane's processes that enable features. */
export function featureArguments({ gates, apis }: ClusterFeatures): NonNullable<ControlPlaneOptions['extraArguments']> {
  const enabled = (names: readonly string[]): string => names.map((name) => `${name}=true`).join(',');
  const gateArguments = gates.length === 0 ? [] : [`--feature-gates=${enabled(gates)}`];
  return {
    'kube-apiserver': [...gateArguments, ...(apis.length === 0 ? [] : [`--runtime-config=${enabled(apis)}`])],
    'kube-controller-manager': gateArguments,
    'kube-scheduler': gateArguments,
  };
}
