export { ContainerGc, type ContainerGcComponents, type ContainerGcOptions } from './container-gc.ts';
export { ContainerGcError, type ContainerGcErrorCode } from './errors.ts';
export type { LogFiles } from './log-cleaner.ts';
export { type GcContainer, planContainerGc } from './plan-containers.ts';
export { type GcSandbox, planSandboxGc } from './plan-sandboxes.ts';
export { type ContainerGcPolicy, defaultPolicy, type GarbageCollectOptions, type PodStateProvider } from './policy.ts';
