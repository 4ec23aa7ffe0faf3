import type { Clock } from '@node-agent/async';
import type { Pod, RuntimePod } from '@node-agent/pod-spec';
import { type Logger, withDefaults } from '@node-agent/telemetry';
import type { HealthcheckSlis } from '../health/healthcheck-slis.ts';
import { answerHealthz, type HealthCheck, healthProblems, logCheck, pingCheck } from '../health/healthz.ts';
import { prefersText } from '../http/accept.ts';
import type { Answer } from '../http/exchange.ts';
import { json, type Reply, text } from '../http/reply.ts';
import type { Call, Endpoints } from './call.ts';
import { explanationText } from './explanation-text.ts';
import { listReply } from './list-reply.ts';
import { type MetricsText, metricsAnswer } from './metrics-answer.ts';
import { podList, runningPodList } from './pod-list.ts';
import { METRICS_TYPE } from './stats-endpoints.ts';

/**
 * The components of {@link stateEndpoints}. Data is passed as functions, so that each request reads the current state.
 */
export interface StateComponents {
  /** The clock of the endpoints. Default: the system clock. */
  readonly clock?: Pick<Clock, 'monotonic' | 'setTimer'>;
  readonly logger?: Logger;
  /** The health checks. `ping` and `log` are always added. */
  readonly checks: readonly HealthCheck[];
  /** Returns the pods assigned to this node, each with its newest status. */
  getPods(): readonly Pod[];
  /** Returns the pods that have at least one running container or sandbox. */
  getRunningPods(signal: AbortSignal): Promise<readonly RuntimePod[]>;
  /** Returns all metrics in Prometheus' text format, with the content type. */
  renderMetrics(signal: AbortSignal): MetricsText | Promise<MetricsText>;
  /** Returns the metrics of probes, which have labels per pod. If absent, `/metrics/probes` is not served. */
  renderProbeMetrics?(signal: AbortSignal): MetricsText | Promise<MetricsText>;
  /**
   * Returns the explanation of a pod's state as a JSON value, or `undefined` if the pod does not exist. If absent, the
   * endpoint is not served.
   */
  explain?(namespace: string, name: string): unknown;
  /** Counts the results of health checks, for `/metrics/slis`. If absent, `/metrics/slis` is not served. */
  readonly slis?: Pick<HealthcheckSlis, 'watching' | 'text' | 'reset'>;
  /**
   * Returns the explanation of the whole node's state as a JSON value. If absent, `/debug/explain` without a pod is not
   * served.
   */
  explainNode?(): unknown;
  /** Formats an explanation for people. Default: one line per fact. */
  explanationText?(value: unknown): string;
  /** Returns the configuration in its published form, without secrets. If absent, `/configz` is not served. */
  configuration?(): object;
  /**
   * Returns how the configuration in force differs from the configuration files, for `/configz`; `undefined` if there
   * is no difference.
   */
  configurationReload?(): object | undefined;
}

/**
 * Returns the handlers of `/healthz`, `/pods`, `/runningpods/`, `/metrics`, `/metrics/probes`, `/metrics/slis`,
 * `/debug/explain` and `/configz` of a {@link SecuredServer}.
 */
export function stateEndpoints(given: StateComponents): Endpoints {
  const node = withDefaults(given);
  const checks = [pingCheck, logCheck, ...node.checks];
  const { configuration, slis } = node;
  return {
    healthz: ({ params, query }) => {
      const asked = { verbose: query.has('verbose'), exclude: query.getAll('exclude') };
      const isSingle = params.check !== '';
      const watched = isSingle ? checks : (slis?.watching(checks) ?? checks);
      const reply = answerHealthz(watched, isSingle ? { ...asked, check: params.check } : asked);
      if (reply?.status === 500) node.logger.info({ problems: healthProblems(checks) }, 'Health check failed');
      return reply ?? text(404, '404 page not found\n');
    },
    pods: ({ signal }) => listReply(podList(node.getPods()), node.clock, signal),
    runningpods: async ({ signal }) =>
      await listReply(runningPodList(await node.getRunningPods(signal)), node.clock, signal),
    metrics: async (call) => await metricsAnswer(await node.renderMetrics(call.signal), call, node.clock),
    ...(node.renderProbeMetrics && {
      probeMetrics: async (call: Call) =>
        await metricsAnswer(
          (await node.renderProbeMetrics?.(call.signal)) ?? { contentType: '', text: '' },
          call,
          node.clock,
        ),
    }),
    ...(node.explain && { explain: (call: Call) => explanation(node, call) }),
    ...(slis && { slis: (call: Call) => slisAnswer(slis, call, node.clock) }),
    ...(configuration && {
      configz() {
        const reload = node.configurationReload?.();
        return json({ kubeletconfig: configuration(), ...(reload && { kubeletconfigReload: reload }) });
      },
    }),
  };
}

async function slisAnswer(
  slis: Pick<HealthcheckSlis, 'text' | 'reset'>,
  call: Call,
  clock: Pick<Clock, 'monotonic' | 'setTimer'>,
): Promise<Answer> {
  if (call.method !== 'DELETE')
    return await metricsAnswer({ contentType: METRICS_TYPE, text: slis.text() }, call, clock);
  slis.reset();
  return text(200, 'metrics reset\n');
}

function explanation(node: StateComponents, { params: { namespace, pod }, query, headers }: Call): Reply {
  const value = pod === '' ? node.explainNode?.() : node.explain?.(namespace, pod);
  if (value === undefined) {
    return text(404, pod === '' ? '404 page not found\n' : `pod ${namespace}/${pod} is not known here\n`);
  }
  const format = query.get('format');
  const wantsText = format === null ? prefersText(headers.accept) : format === 'text';
  return wantsText ? text(200, (node.explanationText ?? explanationText)(value)) : json(value);
}
