export { compareGroups, type GroupComparison, groupReport } from './compare-groups.ts';
export { GroupSide, type GroupSideOptions } from './group-side.ts';
export { groupPurposes } from './on-purpose.ts';
export { groupNames, type ManifestPod, mixedPods } from './pods.ts';
export { type GroupFiles, type Groups, nameOf } from './read-groups.ts';
