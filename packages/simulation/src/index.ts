export type { Facts } from './facts/facts.ts';
export { allInvariants } from './invariants/all.ts';
export {
  type Invariant,
  type InvariantId,
  invariant,
  type Judgement,
  judged,
  type Watch,
} from './invariants/invariant.ts';
export type { PortCall, PortKind } from './node/lease.ts';
export type { ApiRequester, Decorations } from './node/simulated-node.ts';
export type { Happening, LastLook, Observation, WorkerStep } from './observation.ts';
export { failureLines, Totals } from './report.ts';
export type { Action, NodePlan, Scenario } from './scenario/actions.ts';
export { generateScenario, type ScenarioSize } from './scenario/generate.ts';
export type { ContainerPlan, PodPlan, RestartRulePlan, RunPlan } from './scenario/plans.ts';
export { type ShrinkOptions, type ShrunkTrace, shrink } from './shrink.ts';
export { type SimulateOptions, type SimulationResult, simulate, type Violation } from './simulate.ts';
export type { Life, LifeEnd } from './world/ledger.ts';
export type { RuntimeTruth, World } from './world/world.ts';
