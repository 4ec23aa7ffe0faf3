import { text } from '../http/reply.ts';
import type { Endpoints } from './call.ts';

/** Endpoints that the configuration can disable while other debugging handlers are enabled. */
export type DisabledEndpoint = 'logs' | 'pprof' | 'verbosity';

/** The response texts of disabled endpoints, in upstream's words. */
const WORDS: Readonly<Record<DisabledEndpoint, string>> = {
  logs: 'logs endpoint is disabled.',
  pprof: 'profiling endpoint is disabled.',
  verbosity: 'flags endpoint is disabled.',
};

/**
 * Returns handlers that answer with 405 and a text that says which endpoint is disabled, as in upstream
 * (`getHandlerForDisabledEndpoint`).
 */
export function disabledEndpoints(names: readonly DisabledEndpoint[]): Endpoints {
  return Object.fromEntries(names.map((name) => [name, () => text(405, `${WORDS[name]}\n`)]));
}
