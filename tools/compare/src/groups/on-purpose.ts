import type { GroupPurpose } from './compare-groups.ts';

/** Intended differences between the cgroups of this kubelet and the Go kubelet. */
export const groupPurposes: readonly GroupPurpose[] = [];
