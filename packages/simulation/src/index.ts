export type { ApiFacts } from './facts/api-facts.ts';
export type { ClaimFacts } from './facts/claim-facts.ts';
export type { DeadlineFacts } from './facts/deadline-facts.ts';
export type { DeletionFacts } from './facts/deletion-facts.ts';
export type { DeviceFacts, HeldDevices } from './facts/device-facts.ts';
export type { DiskFacts } from './facts/disk-facts.ts';
export type { Facts } from './facts/facts.ts';
export type { HookFacts, KnownHook } from './facts/hook-facts.ts';
export type { Lives } from './facts/lives.ts';
export type { NoteFacts } from './facts/note-facts.ts';
export { type Held, type HeldMemory, type NumaFacts, parseCpus } from './facts/numa-facts.ts';
export type { ObjectFacts } from './facts/object-facts.ts';
export type { RecordFacts } from './facts/record-facts.ts';
export type { Lack, ResourceFacts } from './facts/resource-facts.ts';
export type { RestartAllFacts } from './facts/restart-all-facts.ts';
export type { ShutdownFacts } from './facts/shutdown-facts.ts';
export type { RunningCall, VolumeFacts } from './facts/volume-facts.ts';
export type { WantedPods } from './facts/wanted-pods.ts';
export { allInvariants } from './invariants/all.ts';
export { claimLeft } from './invariants/claims.ts';
export {
  type Invariant,
  type InvariantId,
  invariant,
  type Judgement,
  judged,
  type Watch,
} from './invariants/invariant.ts';
export { lostCpu, misplaced, overbooked, sharedCpu } from './invariants/numa.ts';
export { memoryFault, misdivided } from './invariants/pod-numa.ts';
export { conflicting } from './invariants/volumes.ts';
export type { HookHttp } from './node/hook-port.ts';
export type { PortCall, PortKind } from './node/lease.ts';
export type { ResourceChanges, Summary } from './node/node-resources.ts';
export type { ProbeHttp } from './node/probe-port.ts';
export type { ShutdownChanges, ShutdownPorts } from './node/shutdown-ports.ts';
export type { ApiRequester, Decorations } from './node/simulated-node.ts';
export type { ClusterLook, Happening, LastLook, Observation, VolumesLook, WorkerStep } from './observation.ts';
export { failureLines, Totals } from './report.ts';
export type { Action, NodePlan, Scenario, SoftThresholdsPlan } from './scenario/actions.ts';
export type { BrokenKind } from './scenario/broken-plans.ts';
export type { ClaimPlan, ClaimsPlan, DraFaultCall, DraFaultKind } from './scenario/claim-plans.ts';
export type { DevicePluginPlan, PluginFaultKind } from './scenario/device-plans.ts';
export { generateScenario, type ScenarioSize } from './scenario/generate.ts';
export type { HostileKind } from './scenario/hostile-plans.ts';
export type { NumaPlan, NumaPolicies, WholePlan } from './scenario/numa-plans.ts';
export type {
  ContainerPlan,
  CpuPlan,
  HookRunPlan,
  ObjectPlan,
  PodPlan,
  PostStartPlan,
  ProbeKind,
  ProbePlan,
  ProbePlans,
  RestartRulePlan,
  RunPlan,
} from './scenario/plans.ts';
export type { ShutdownPlan } from './scenario/shutdown-plans.ts';
export type { CsiDriverPlan, CsiFaultCall, CsiFaultKind, CsiPlan, CsiVolumePlan } from './scenario/volume-plans.ts';
export { type ShrinkOptions, type ShrunkTrace, shrink } from './shrink.ts';
export { type SimulateOptions, type SimulationResult, simulate, type Violation } from './simulate.ts';
export type { AttachController } from './world/attach-controller.ts';
export type { ClaimScheduler } from './world/claim-scheduler.ts';
export type { ApiRequest, ClusterApi, PodDeletion, ShownPod } from './world/cluster-api.ts';
export type { CsiCall, CsiCallPhase } from './world/csi-driver.ts';
export type { CsiDrivers, CsiDriversComponents, CsiPlace } from './world/csi-drivers.ts';
export type { DevicePlugins } from './world/device-plugins.ts';
export type { DraDriverComponents, SimulatedDraDriver } from './world/dra-driver.ts';
export type { BegunHook, HookTargets } from './world/hook-targets.ts';
export type { Ledger, LedgerComponents, Life, LifeEnd, LifeEvent } from './world/ledger.ts';
export type { LocalDisks } from './world/local-disks.ts';
export type { LockEvent, LoginListener, LoginManager, MachineLock, MachineSession } from './world/login-manager.ts';
export type { MemoryCgroups } from './world/memory-cgroups.ts';
export type { MemoryLoops } from './world/memory-loops.ts';
export type { MountedObject } from './world/mounted-objects.ts';
export type { Figures, Pressure, Scarce } from './world/pressure.ts';
export type { Probed, ProbeTargets } from './world/probe-targets.ts';
export type { RuntimeTruth, World } from './world/world.ts';
