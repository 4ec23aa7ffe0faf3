import type { GroupPurpose } from './compare-groups.ts';

/** Where the groups of this kubelet are other than the Go kubelet's. */
export const groupPurposes: readonly GroupPurpose[] = [];
