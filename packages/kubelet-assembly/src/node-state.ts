import type { KubeletView } from '@node-agent/kubelet-core';
import type { PressureFacts, ReadinessFacts } from '@node-agent/node-status';
import type { RuntimeFacts } from './runtime-facts.ts';

/** The current state of the node, combined from its components. The Node object is made from this state. */
export interface NodeState {
  readonly runtime: Pick<RuntimeFacts, 'version' | 'images' | 'handlers' | 'features'>;
  /** Returns the reasons why the node is not ready. */
  readiness(): ReadinessFacts;
  /** Returns the resources that the node is short of. */
  pressure(): PressureFacts;
}

/** Components that {@link nodeState} reads. `undefined` stands for a component that the node does not have. */
interface StateSources {
  readonly runtime: RuntimeFacts;
  readonly kubelet: () => Pick<KubeletView, 'readiness'>;
  readonly csi: { readonly nodeInfo: { readonly problem: string | undefined } } | undefined;
  readonly shutdown: { shutdownErrors(): readonly string[] } | undefined;
  readonly eviction: { pressure(): PressureFacts } | undefined;
}

/** Combines the parts of the node's state that the runtime, the kubelet, CSI, shutdown and eviction provide. */
export function nodeState({ runtime, kubelet, csi, shutdown, eviction }: StateSources): NodeState {
  return {
    runtime,
    readiness() {
      const storageError = csi?.nodeInfo.problem;
      return {
        ...kubelet().readiness(),
        storageErrors: storageError === undefined ? [] : [storageError],
        shutdownErrors: shutdown?.shutdownErrors() ?? [],
      };
    },
    pressure: () => eviction?.pressure() ?? { memory: false, disk: false, pid: false },
  };
}
