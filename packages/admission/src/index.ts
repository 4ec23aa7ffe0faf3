export type { RefusalReason } from '@node-agent/contracts';
export type { AdmissionNode, NodeTaint } from './admission-node.ts';
export { type AppArmorHandler, appArmorHandler } from './app-armor.ts';
export { matchesNodeAffinity } from './node-affinity.ts';
export { type PodFeaturesHandler, type PodFeaturesOptions, podFeaturesHandler } from './pod-features.ts';
export {
  type PredicateHandler,
  type PredicateHandlerComponents,
  type PredicateHandlerOptions,
  predicateHandler,
  type RecoverableRefusal,
  type Verdict,
} from './predicate-handler.ts';

export { Preemption, type PreemptionComponents } from './preemption.ts';
export { type PreemptionPlan, planPreemption, type Requirement } from './preemption-rule.ts';
export type { InsufficientResource, RequestsOf } from './resource-fit.ts';
export { type SysctlHandler, type SysctlOptions, sysctlHandler } from './sysctls.ts';
