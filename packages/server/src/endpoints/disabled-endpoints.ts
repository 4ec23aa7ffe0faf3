import { text } from '../http/reply.ts';
import type { Endpoints } from './call.ts';

/** What the configuration can switch off while other debugging handlers are on. */
export type DisabledEndpoint = 'logs' | 'pprof' | 'verbosity';

/** What upstream says then. */
const WORDS: Readonly<Record<DisabledEndpoint, string>> = {
  logs: 'logs endpoint is disabled.',
  pprof: 'profiling endpoint is disabled.',
  verbosity: 'flags endpoint is disabled.',
};

/** Endpoints that answer that they are switched off, by 405 as upstream (`getHandlerForDisabledEndpoint`). */
export function disabledEndpoints(names: readonly DisabledEndpoint[]): Endpoints {
  return Object.fromEntries(names.map((name) => [name, () => text(405, `${WORDS[name]}\n`)]));
}
