import type { Pod, RuntimePod } from '@node-agent/pod-spec';
import { type Logger, withDefaults } from '@node-agent/telemetry';
import type { HealthcheckSlis } from '../health/healthcheck-slis.ts';
import { answerHealthz, type HealthCheck, healthProblems, logCheck, pingCheck } from '../health/healthz.ts';
import { prefersText } from '../http/accept.ts';
import type { Answer } from '../http/exchange.ts';
import { json, type Reply, text } from '../http/reply.ts';
import type { Call, Endpoints } from './call.ts';
import { explanationText } from './explanation-text.ts';
import { type MetricsText, metricsAnswer } from './metrics-answer.ts';
import { podList, runningPodList } from './pod-list.ts';
import { METRICS_TYPE } from './stats-endpoints.ts';

/** What a node shows of its state: each value is a function. */
export interface StateComponents {
  readonly logger?: Logger;
  /** What must be well; `ping` and `log` are always among them. */
  readonly checks: readonly HealthCheck[];
  /** The pods that this node should run, each with the newest status. */
  getPods(): readonly Pod[];
  /** The pods of which anything runs. */
  getRunningPods(signal: AbortSignal): Promise<readonly RuntimePod[]>;
  /** All metrics, in the text format of Prometheus, with its content type. */
  renderMetrics(signal: AbortSignal): MetricsText | Promise<MetricsText>;
  /** As {@link renderMetrics}, of the probes alone: they have a label for each pod. Without, they are not served. */
  renderProbeMetrics?(): MetricsText | Promise<MetricsText>;
  /** Why a pod is as it is, as a JSON value; `undefined` where there is no such pod. Without, it is not served. */
  explain?(namespace: string, name: string): unknown;
  /** Counts how the checks went, for `/metrics/slis`. Without, that is not served. */
  readonly slis?: Pick<HealthcheckSlis, 'watching' | 'text' | 'reset'>;
  /** As {@link explain}, of the whole node. */
  explainNode?(): unknown;
  /** What was explained, as a person reads it; a line for each fact where absent. */
  explanationText?(value: unknown): string;
  /** The configuration in its published form, without secrets. Without, it is not served. */
  configuration?(): object;
}

/** `/healthz`, `/pods`, `/runningpods/`, `/metrics`, `/metrics/probes`, `/metrics/slis`, `/debug/explain` and `/configz` of a {@link SecuredServer}. */
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
    pods: () => json(podList(node.getPods())),
    runningpods: async ({ signal }) => json(runningPodList(await node.getRunningPods(signal))),
    metrics: async (call) => await metricsAnswer(await node.renderMetrics(call.signal), call),
    ...(node.renderProbeMetrics && {
      probeMetrics: async (call: Call) =>
        await metricsAnswer((await node.renderProbeMetrics?.()) ?? { contentType: '', text: '' }, call),
    }),
    ...(node.explain && { explain: (call: Call) => explanation(node, call) }),
    ...(slis && { slis: (call: Call) => slisAnswer(slis, call) }),
    ...(configuration && { configz: () => json({ kubeletconfig: configuration() }) }),
  };
}

async function slisAnswer(slis: Pick<HealthcheckSlis, 'text' | 'reset'>, call: Call): Promise<Answer> {
  if (call.method !== 'DELETE') return await metricsAnswer({ contentType: METRICS_TYPE, text: slis.text() }, call);
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
