import {
  type HttpGetAction,
  type HttpGetRequest,
  type HttpGetResult,
  hostAndPort,
  httpGet,
  httpGetRequest,
  withScheme,
} from '@node-agent/pod-net';
import { podReference } from '@node-agent/pod-spec';
import type { Counter, WithDefaults } from '@node-agent/telemetry';
import type { HookTarget, LifecycleHooksComponents } from './components.ts';

/** User agent of hook requests. */
const USER_AGENT = 'kube-lifecycle/1.36';

/**
 * Sends the HTTP request of a hook. Any response counts as success. If the server responds to an HTTPS request in plain
 * HTTP, the request is sent again over HTTP without its authorization header (`runHTTPHandler` in
 * `pkg/kubelet/lifecycle/handlers.go`).
 * @returns the error in Go's words; `undefined` if there was a response
 * @throws PodNetError `InvalidPort`
 * @throws Error if the pod has no address
 * @throws the signal's reason
 */
export async function httpHook(
  action: HttpGetAction,
  target: HookTarget,
  components: WithDefaults<LifecycleHooksComponents>,
  fallbacks: Counter,
  signal: AbortSignal,
): Promise<string | undefined> {
  const podIp = action.host || (await firstAddress(target, components, signal));
  const request = httpGetRequest(action, target.container, { podIp, userAgent: USER_AGENT });
  const first = await send(request, components, signal);
  if (first.kind === 'answer') return undefined;
  if (!first.message.includes('server gave HTTP response to HTTPS client')) return first.message;

  const headers = request.headers.filter(([name]) => name !== 'Authorization');
  const second = await send({ ...withScheme(request, 'http'), headers }, components, signal);
  if (second.kind === 'fault') return first.message;
  fallbacks.inc({});
  const host = hostAndPort(request.host, request.port);
  const words = `request to HTTPS lifecycle hook ${host} got HTTP response, retry with HTTP succeeded`;
  components.recorder.event(podReference(target.pod), 'Warning', 'LifecycleHTTPFallback', words);
  return undefined;
}

async function firstAddress(
  { pod }: HookTarget,
  { podIps }: LifecycleHooksComponents,
  signal: AbortSignal,
): Promise<string> {
  const [ip] = await podIps(pod, signal);
  if (ip === undefined) throw new Error(`failed to find networking container of pod ${pod.metadata.name}`);
  return ip;
}

function send(
  request: HttpGetRequest,
  { http, clock }: WithDefaults<LifecycleHooksComponents>,
  signal: AbortSignal,
): Promise<HttpGetResult> {
  return http?.(request, signal) ?? httpGet(request, { clock, http2: false }, signal);
}
