export type { AdmissionNode, NodeTaint } from './admission-node.ts';
export { type AppArmorHandler, appArmorHandler } from './app-armor.ts';
export { matchesNodeAffinity } from './node-affinity.ts';
export {
  type PredicateHandler,
  type PredicateHandlerComponents,
  type PredicateHandlerOptions,
  predicateHandler,
  type Verdict,
} from './predicate-handler.ts';
export type { Refusal } from './predicates.ts';
export { type SysctlHandler, type SysctlOptions, sysctlHandler } from './sysctls.ts';
