import type { Clock } from '@node-agent/async';
import { errorText, type Logger, withDefaults } from '@node-agent/telemetry';
import type { Answer } from '../http/exchange.ts';
import { type Reply, text } from '../http/reply.ts';
import type { Call, Endpoints } from './call.ts';
import { type MetricsText, metricsAnswer, type PageText } from './metrics-answer.ts';

/** The stats of the node, its pods and containers, as texts. */
export interface StatsPages {
  /** Returns a stats summary in JSON. @throws if no summary is available, before any portion is returned */
  summary(onlyCpuAndMemory: boolean, signal: AbortSignal): Promise<PageText>;
  /**
   * Returns the metrics of containers in Prometheus' text format 0.0.4. {@link resourceMetrics} uses the same format.
   */
  cadvisorMetrics(signal: AbortSignal): Promise<PageText>;
  resourceMetrics(signal: AbortSignal): Promise<PageText>;
}

export interface StatsPagesComponents {
  /** The clock of the endpoints. Default: the system clock. */
  readonly clock?: Pick<Clock, 'monotonic' | 'setTimer'>;
  readonly logger?: Logger;
  readonly stats: StatsPages;
}

/** The content type of metrics that are generated per scrape. */
export const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';
/** The maximum size of a POST form. A form that requests a summary has one short field. */
const MAX_FORM_BYTES = 64 * 1024;

/**
 * Returns the handlers of `/stats/summary`, `/metrics/cadvisor` and `/metrics/resource` of a {@link SecuredServer}
 * (`pkg/kubelet/server/stats/handler.go`).
 */
export function statsEndpoints(given: StatsPagesComponents): Endpoints {
  const { clock, logger, stats } = withDefaults(given);
  const page = async (call: Call, render: (signal: AbortSignal) => Promise<PageText>): Promise<Answer> =>
    await metricsAnswer({ contentType: METRICS_TYPE, text: await render(call.signal) }, call, clock);
  return {
    stats: async (call) => {
      const found = await summaryOf(stats, await formOf(call), logger, call.signal);
      return 'status' in found ? found : await metricsAnswer(found, call, clock);
    },
    cadvisorMetrics: (call) => page(call, (signal) => stats.cadvisorMetrics(signal)),
    resourceMetrics: (call) => page(call, (signal) => stats.resourceMetrics(signal)),
  };
}

/** Merges the query with the form in the body of a POST, as Go's `Request.ParseForm` does. */
async function formOf({ method, headers, query, body }: Call): Promise<URLSearchParams> {
  const isForm = headers['content-type']?.split(';')[0]?.trim().toLowerCase() === 'application/x-www-form-urlencoded';
  if (method !== 'POST' || !isForm) return query;
  const form = await body(MAX_FORM_BYTES);
  return new URLSearchParams([...new URLSearchParams(form?.toString() ?? ''), ...query]);
}

/** Returns a summary with a trailing newline, or upstream's error if there is none. */
export async function summaryOf(
  stats: Pick<StatsPages, 'summary'>,
  form: URLSearchParams,
  logger: Logger,
  signal: AbortSignal,
): Promise<MetricsText | Reply> {
  const wanted = form.getAll('only_cpu_and_memory');
  const onlyCpuAndMemory = wanted.length === 1 && wanted[0] === 'true';
  try {
    const summary = await stats.summary(onlyCpuAndMemory, signal);
    return {
      contentType: 'application/json',
      text: typeof summary === 'string' ? `${summary}\n` : withNewline(summary),
    };
  } catch (err) {
    signal.throwIfAborted();
    logger.error({ err, request: '/stats/summary' }, 'HTTP InternalServerError serving');
    return text(500, `Internal Error: ${errorText(err)}`);
  }
}

async function* withNewline(portions: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  yield* portions;
  yield Buffer.from('\n');
}
