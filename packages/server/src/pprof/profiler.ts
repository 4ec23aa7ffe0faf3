import type { Profile } from './profile.ts';

/** What of a process can be looked into. One of a kind at a time. @throws ServerError `Busy` where one is under way */
export interface Profiler {
  /** Where CPU time goes for `durationMs`. */
  cpu(durationMs: number, signal: AbortSignal): Promise<Profile>;
  /** What is held of what was asked for since the profiler was started. */
  heap(): Promise<Profile>;
  /** What is asked for within `durationMs`, whether or not it is held. What was asked for before is not in heap profiles after that. */
  allocations(durationMs: number, signal: AbortSignal): Promise<Profile>;
  /** What happens within `durationMs`, as trace events in JSON. */
  trace(durationMs: number, signal: AbortSignal): Promise<Uint8Array>;
}
