export { isKubeletCondition } from './conditions.ts';
export type { StartFailure } from './container-statuses.ts';
export { generateApiPodStatus, type PodStatusContext } from './generate.ts';
export { noProbeResults, type ProbeResult, type ProbeResults } from './readiness.ts';
export { StatusManager, type StatusManagerComponents, type VersionedStatus } from './status-manager.ts';
