// Measures the event loop of the program that it is loaded into with `node --import`. The program's parent process sends
// a ProbeOrder for each measurement.
import { Session } from 'node:inspector/promises';
import { type CpuProfile, functionMs } from '../cluster/profile.ts';

/**
 * Request to the probe: `watch` starts a measurement, `report` ends it. With `profile`, the named functions are
 * measured too, which costs CPU time.
 */
export type ProbeOrder = { readonly watch: { readonly profile?: readonly string[] } } | { readonly report: true };

/** Measurements of the probe between a `watch` and a `report`. */
export interface ProbeReport {
  /**
   * Longest hold of the event loop: time in ms for which the main thread used the CPU without running a due timer. CPU
   * time is measured, because the thread may wait for a CPU on a busy machine. CPU time from before the timer was due
   * is included, up to {@link EVERY_MS}.
   */
  readonly holdMs: number;
  /** Time in ms spent in each named function and in its callees; empty without `profile`. */
  readonly functionMs: Readonly<Record<string, number>>;
}

/** Interval in ms of the timer that detects holds of the event loop. */
const EVERY_MS = 5;
const SAMPLE_US = 250;

let timer: NodeJS.Timeout | undefined;
let holdMs = 0;
let profiled: { readonly session: Session; readonly names: readonly string[] } | undefined;

process.on('message', (order: ProbeOrder) => void ('watch' in order ? watch(order.watch.profile) : report()));
// The channel to the parent process must not keep the program running.
process.channel?.unref();

async function watch(names: readonly string[] | undefined): Promise<void> {
  if (names !== undefined) {
    const session = new Session();
    session.connect();
    await session.post('Profiler.enable');
    await session.post('Profiler.setSamplingInterval', { interval: SAMPLE_US });
    await session.post('Profiler.start');
    profiled = { session, names };
  }
  holdMs = 0;
  let last = process.threadCpuUsage();
  timer = setInterval(() => {
    const now = process.threadCpuUsage();
    holdMs = Math.max(holdMs, (now.user - last.user + now.system - last.system) / 1000);
    last = now;
  }, EVERY_MS);
  process.send?.({ watching: true });
}

async function report(): Promise<void> {
  clearInterval(timer);
  const result: ProbeReport = { holdMs, functionMs: await endProfile() };
  process.send?.(result);
}

async function endProfile(): Promise<Readonly<Record<string, number>>> {
  if (profiled === undefined) return {};
  const { session, names } = profiled;
  profiled = undefined;
  const { profile } = await session.post('Profiler.stop');
  session.disconnect();
  return functionMs(profile as CpuProfile, names);
}
