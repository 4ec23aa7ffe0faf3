import type { ObjectMeta, PodSpec, PodStatus } from './generated/api-types.ts';

export type * from './generated/api-types.ts';

/** Phases of a pod (`status.phase`). */
export type PodPhase = 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown';

/** A v1 Pod after defaulting: name, namespace, UID and spec are always present. */
export interface Pod {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta & { readonly name: string; readonly namespace: string; readonly uid: string };
  readonly spec: PodSpec;
  readonly status?: PodStatus;
}
