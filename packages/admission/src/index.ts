export type { AdmissionNode, NodeTaint } from './admission-node.ts';
export { matchesNodeAffinity } from './node-affinity.ts';
export { type PredicateHandler, type PredicateHandlerOptions, predicateHandler } from './predicate-handler.ts';
export type { Refusal } from './predicates.ts';
