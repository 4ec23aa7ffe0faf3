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
      /** The longest time between two turns of a timer of 5 ms since the last figures. */
      readonly longestStallMs: number;
      /** `namespace/name` of pods of which a container was started. */
      readonly started: readonly string[];
      /** Paths of files that the kubelet wrote outside its own directories. */
      readonly strayFiles: readonly string[];
      /** How many requests reached authentication since the last figures. */
      readonly authentications: number;
    };
