import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { type Clock, sleep } from '@node-agent/async';
import { errorText, withDefaults } from '@node-agent/telemetry';
import type { Call, Endpoints } from '../endpoints/call.ts';
import { ServerError } from '../errors.ts';
import type { Answer } from '../http/exchange.ts';
import { type Reply, text } from '../http/reply.ts';
import { type TaskStack, taskProfile } from './async-tasks.ts';
import { encodeProfile } from './encode-profile.ts';
import { indexPage } from './index-page.ts';
import { deltaOf, type Profile } from './profile.ts';
import { profileText } from './profile-text.ts';
import type { Profiler } from './profiler.ts';

/** The components of {@link pprofEndpoints}. */
export interface PprofComponents {
  readonly clock?: Clock;
  readonly profiler: Profiler;
  /** Returns the pending tasks, each as a stack of names that begins with the event that the task waits for. */
  tasks(): Iterable<TaskStack>;
  /** The program and its arguments. */
  readonly commandLine: readonly string[];
}

/** The maximum duration of a profile, in seconds. Upstream has no limit. */
const MAX_SECONDS = 600;
const CPU_SECONDS = 30;
const TRACE_SECONDS = 1;
const ALLOCATION_SECONDS = 10;
const GO_PPROF = { 'X-Go-Pprof': '1' };
const UNKNOWN: Reply = text(404, 'Unknown profile\n', GO_PPROF);

/**
 * Returns the handler of `/debug/pprof/` of a {@link SecuredServer}, compatible with Go's `net/http/pprof`: profiles in
 * pprof's format, gzipped, for `go tool pprof`. The profile `goroutine` contains the pending tasks of the program.
 * `allocs` contains the allocations within `seconds` (default: 10). `trace` contains Chrome trace events in JSON.
 */
export function pprofEndpoints(given: PprofComponents): Endpoints {
  const node = withDefaults(given);
  return {
    async pprof(call) {
      const [name, ...more] = call.params.rest;
      if (more.length > 0) return UNKNOWN;
      try {
        return await page(node, name, call);
      } catch (error) {
        call.signal.throwIfAborted();
        return text(500, `${errorText(error)}\n`, GO_PPROF);
      }
    },
  };
}

type Node = PprofComponents & { readonly clock: Clock };

async function page(node: Node, name: string | undefined, call: Call): Promise<Answer> {
  const { profiler, clock } = node;
  const { query } = call;
  switch (name) {
    case undefined:
      return indexPage([...node.tasks()].length);
    case 'cmdline':
      return text(200, node.commandLine.join('\0'));
    case 'symbol':
      // The profiles contain all symbol names, so that clients need no lookup.
      return text(200, 'num_symbols: 0\n');
    case 'profile': {
      const durationMs = lasting(query, CPU_SECONDS, call);
      if (durationMs === undefined) return tooLong();
      const profile = await enabled('CPU profiling', profiler.cpu(durationMs, call.signal));
      return await profileAnswer(node, name, profile);
    }
    case 'trace': {
      const durationMs = lasting(query, TRACE_SECONDS, call);
      if (durationMs === undefined) return tooLong();
      const bytes = await enabled('tracing', profiler.trace(durationMs, call.signal));
      return { status: 200, headers: { ...attachment('trace'), 'Content-Type': 'application/json' }, bytes };
    }
    case 'allocs': {
      const durationMs = lasting(query, ALLOCATION_SECONDS, call);
      if (durationMs === undefined) return tooLong();
      const profile = await enabled('allocation profiling', profiler.allocations(durationMs, call.signal));
      return isDebug(query) ? text(200, profileText(name, profile)) : await profileAnswer(node, name, profile);
    }
    case 'heap':
      return await snapshot(node, name, call, () => profiler.heap());
    case 'goroutine':
      return await snapshot(node, name, call, async () => taskProfile(node.tasks(), clock.now()));
    default:
      return UNKNOWN;
  }
}

/** Returns a profile of the current state, or of the change within the requested seconds. */
async function snapshot(node: Node, name: string, call: Call, take: () => Promise<Profile>): Promise<Answer> {
  const { query, signal } = call;
  const seconds = query.get('seconds') ?? '';
  if (seconds === '') {
    const profile = await take();
    return isDebug(query) ? text(200, profileText(name, profile)) : await profileAnswer(node, name, profile);
  }
  const count = wholeNumber(seconds);
  if (count === undefined || count <= 0) {
    return text(400, 'invalid value for "seconds" - must be a positive integer\n', GO_PPROF);
  }
  if (isDebug(query)) return text(400, 'seconds and debug params are incompatible\n', GO_PPROF);
  if (count > MAX_SECONDS) return tooLong();
  call.takeTime();
  const before = await take();
  await sleep(node.clock, count * 1000, signal);
  return await profileAnswer(node, `${name}-delta`, deltaOf(before, await take()));
}

/**
 * Returns the parameter `seconds` in milliseconds, or `usual` if the parameter is absent or invalid. Returns
 * `undefined` if the duration is too long.
 */
function lasting(query: URLSearchParams, usual: number, call: Call): number | undefined {
  const asked = Number(query.get('seconds') ?? '');
  const seconds = asked > 0 ? asked : usual;
  if (seconds > MAX_SECONDS) return undefined;
  call.takeTime();
  return seconds * 1000;
}

/**
 * Waits for a profile. If the profiler is busy, the error has Go's words.
 * @throws ServerError `Busy`; the signal's reason
 */
async function enabled<T>(what: string, taking: Promise<T>): Promise<T> {
  try {
    return await taking;
  } catch (error) {
    if (ServerError.is(error) && error.code === 'Busy')
      throw new ServerError('Busy', `Could not enable ${what}: ${error.message}`);
    throw error;
  }
}

async function profileAnswer({ commandLine }: Node, name: string, profile: Profile): Promise<Answer> {
  const bytes = await promisify(gzip)(encodeProfile(profile, commandLine[0] ?? ''));
  return { status: 200, headers: { ...attachment(name), 'Content-Type': 'application/octet-stream' }, bytes };
}

function attachment(name: string): Readonly<Record<string, string>> {
  return { 'X-Content-Type-Options': 'nosniff', 'Content-Disposition': `attachment; filename="${name}"` };
}

function isDebug(query: URLSearchParams): boolean {
  return (wholeNumber(query.get('debug') ?? '') ?? 0) !== 0;
}

function wholeNumber(given: string): number | undefined {
  return /^[+-]?\d{1,15}$/.test(given) ? Number(given) : undefined;
}

function tooLong(): Reply {
  return text(400, `invalid value for "seconds" - must be at most ${MAX_SECONDS}\n`, GO_PPROF);
}
