import type { Profile } from './profile.ts';

/** Takes profiles of a process. @throws ServerError `Busy` if a profile of the same kind is in progress */
export interface Profiler {
  /** Samples CPU usage for `durationMs`. */
  cpu(durationMs: number, signal: AbortSignal): Promise<Profile>;
  /** Returns the memory in use that was allocated since the profiler started. */
  heap(): Promise<Profile>;
  /** Samples allocations for `durationMs`, freed or not. Later heap profiles lack allocations from before this call. */
  allocations(durationMs: number, signal: AbortSignal): Promise<Profile>;
  /** Records trace events for `durationMs`, as JSON. */
  trace(durationMs: number, signal: AbortSignal): Promise<Uint8Array>;
}
