export {
  BEHAVIOUR_ANNOTATION,
  type Behaviour,
  type ExecResult,
  type PortBehaviour,
  parseBehaviour,
  type Script,
  type ScriptedContainer,
  type ScriptedOutput,
} from './behaviour.ts';
export { DispatchedService } from './core/dispatched-service.ts';
export { anyImage, busyboxImage, type FakeImage, type Registry, type RegistryAnswer } from './core/image-store.ts';
export type { RpcName } from './core/rpcs.ts';
export { type Latencies, typicalLatencies } from './core/state.ts';
export {
  type FakeContainerInfo,
  FakeRuntime,
  type FakeRuntimeComponents,
  type FakeRuntimeOptions,
  type RecoverOptions,
} from './fake-runtime.ts';
export { FakeCriServer, type FakeCriServerOptions, type ServedRuntime } from './fake-server.ts';
export type { EventFault, EventFaultRule, FaultLimits, Nonsense, RpcFault, RpcFaultRule } from './faults/fault.ts';
export type { FaultInjector, FaultSource, InjectedFault } from './faults/injector.ts';
export { type FaultRates, seededFaults } from './faults/seeded.ts';
export type { ContainerFiles, FakeCriFileSystem, FileMount, FilesOfContainer } from './process/container-files.ts';
export type { Pipe } from './process/pipe.ts';
export type { OutputStream, PortService, ProcessContext, ProcessSurroundings, Program } from './process/process.ts';
