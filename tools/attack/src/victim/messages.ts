import type { Pod } from '@node-agent/pod-spec';

/** Messages from the attack to the victim's process. */
export type ToVictim =
  | { readonly kind: 'figures' }
  /** All pods that the API server has bound to the node. */
  | { readonly kind: 'pods'; readonly pods: readonly Pod[] };

/** Messages from the victim's process. */
export type FromVictim =
  | { readonly kind: 'ready'; readonly port: number; readonly healthzPort: number }
  | {
      readonly kind: 'figures';
      /** The longest interval between two runs of a 5 ms timer since the last figures. */
      readonly longestStallMs: number;
      /** Keys `namespace/name` of the pods with at least one started container. */
      readonly started: readonly string[];
      /** Paths of files that the kubelet wrote outside its own directories. */
      readonly strayFiles: readonly string[];
      /** Number of requests that reached authentication since the last figures. */
      readonly authentications: number;
    };
