import { type Clock, checkNumbers, withTimeout } from '@node-agent/async';
import {
  type HttpGetAction,
  type HttpGetRequest,
  type HttpGetResult,
  httpGetRequest,
  resolvePort,
  tcpConnect,
} from '@node-agent/pod-net';
import { type Container, expandAll, type Probe } from '@node-agent/pod-spec';
import { errorText, goDuration } from '@node-agent/telemetry';
import { Deadlines } from './deadlines.ts';
import { type GrpcTarget, grpcProbe } from './grpc-probe.ts';
import { type ExecResult, execOutcome, httpOutcome, isCommandFault } from './outcomes.ts';
import { type AttemptComponents, RunningAttempt } from './running-attempt.ts';
import type { ProbeOutcome } from './types.ts';

/**
 * Runs a command in a container and ends it after `timeoutMs`. Rejects with an error with `code` `DEADLINE_EXCEEDED` on
 * timeout. The output may have up to 16 MB; 10 KiB are kept.
 */
export type ExecInContainer = (
  containerId: string,
  command: readonly string[],
  timeoutMs: number,
  signal: AbortSignal,
) => Promise<ExecResult>;

/**
 * Ports through which probes reach their targets. By default, `http`, `tcp` and `grpc` use the real network; tests and
 * simulations pass other ports.
 */
export interface ProbePorts {
  /** Runs commands in containers. If absent, exec probes result in an error. */
  readonly exec?: ExecInContainer;
  readonly http?: (request: HttpGetRequest, timeoutMs: number, signal: AbortSignal) => Promise<HttpGetResult>;
  /**
   * Opens a TCP connection.
   * @returns the error; `undefined` if the connection was established
   */
  readonly tcp?: (
    target: { host: string; port: number; timeoutMs: number },
    signal: AbortSignal,
  ) => Promise<string | undefined>;
  readonly grpc?: (target: GrpcTarget, signal: AbortSignal) => Promise<ProbeOutcome>;
}

/** Input of one probe attempt. */
export interface ProbeTarget {
  readonly probe: Pick<Probe, 'exec' | 'httpGet' | 'tcpSocket' | 'grpc'>;
  readonly container: Pick<Container, 'name' | 'env' | 'ports'>;
  readonly containerId: string;
  readonly podIp: string;
  /** Timeout for all tries together, in ms; above 0. */
  readonly timeoutMs: number;
}

/** User agent of probe requests. */
export const USER_AGENT: string = 'kube-probe/1.36';
/**
 * Additional wait for the runtime's report of how a command exited. If a command exits and a child process keeps its
 * output open, the runtime reports the command only when the child exits. The exit code counts even if the report comes
 * after the timeout (`ExecSync` of cri-client's `remote_runtime.go`: the command's timeout plus 2 min).
 */
const EXEC_SLACK_MS = 120_000;

/** Makes probe attempts of all kinds. */
export class ProbeAttempt {
  readonly #clock: Clock;
  readonly #ports: ProbePorts;
  readonly #components: AttemptComponents;
  readonly #requests = new WeakMap<
    HttpGetAction,
    { readonly podIp: string; readonly container: ProbeTarget['container']; readonly request: HttpGetRequest }
  >();

  constructor(clock: Clock, ports: ProbePorts) {
    this.#clock = clock;
    this.#ports = ports;
    this.#components = {
      clock,
      deadlines: new Deadlines(clock, (attempt) => attempt.expire()),
      httpRequest: (target) => this.#ownHttpRequest(target),
      runOther: (target, timeoutMs, signal) => this.#runOther(target, timeoutMs, signal),
    };
  }

  /**
   * Probes a container. The attempt ends within the timeout, whatever the target does (R3). An exec probe may take two
   * more minutes if the runtime does not report how its command exited.
   * @throws the signal's reason
   * @throws RangeError if `timeoutMs` is not positive
   */
  async run(target: ProbeTarget, signal: AbortSignal): Promise<ProbeOutcome> {
    checkNumbers(target, { timeoutMs: 'positive' });
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<ProbeOutcome>();
    const attempt = this.begin(target, resolve);
    const onAbort = (): void => {
      attempt.callOff(signal.reason);
      reject(signal.reason);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      return await promise;
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  /**
   * Starts an attempt like {@link run}, with less overhead for callers that make many attempts.
   * @param done called once with the outcome; never from within the call, nor after the attempt was cancelled
   */
  begin(target: ProbeTarget, done: (outcome: ProbeOutcome) => void): { callOff(reason?: unknown): void } {
    return new RunningAttempt(this.#components, target, done);
  }

  async #runOther(target: ProbeTarget, timeoutMs: number, signal: AbortSignal): Promise<ProbeOutcome> {
    const { probe, container, podIp } = target;
    const clock = this.#clock;
    const { http, tcp, grpc } = this.#ports;
    if (probe.exec != null) return await this.#exec(target, timeoutMs, signal);
    if (probe.httpGet != null && http !== undefined) {
      return httpOutcome(await http(this.#request(probe.httpGet, container, podIp), timeoutMs, signal));
    }
    if (probe.tcpSocket != null) {
      const port = resolvePort(probe.tcpSocket.port, container);
      const to = { host: probe.tcpSocket.host || podIp, port, timeoutMs };
      const fault = await (tcp?.(to, signal) ?? tcpConnect(to, { clock }, signal));
      return fault === undefined ? { result: 'success', output: '' } : { result: 'failure', output: fault };
    }
    if (probe.grpc != null) {
      const { port, service } = probe.grpc;
      const to = { host: podIp, port, service: service ?? '', timeoutMs, userAgent: USER_AGENT };
      return await (grpc?.(to, signal) ?? grpcProbe(to, { clock }, signal));
    }
    return { result: 'error', output: `missing probe handler for ${container.name}` };
  }

  #ownHttpRequest({ probe, container, podIp }: ProbeTarget): HttpGetRequest | undefined {
    const isOwn = probe.exec == null && probe.httpGet != null && this.#ports.http === undefined;
    return isOwn ? this.#request(probe.httpGet, container, podIp) : undefined;
  }

  /**
   * Returns the request of an HTTP probe. Cached as long as the pod's address is the same, because the same probe is
   * made again and again.
   */
  #request(action: HttpGetAction, container: ProbeTarget['container'], podIp: string): HttpGetRequest {
    const made = this.#requests.get(action);
    if (made?.podIp === podIp && made.container === container) return made.request;
    const request = httpGetRequest(action, container, { podIp, userAgent: USER_AGENT });
    this.#requests.set(action, { podIp, container, request });
    return request;
  }

  async #exec(
    { probe, container, containerId, timeoutMs: wholeTimeoutMs }: ProbeTarget,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<ProbeOutcome> {
    const { exec } = this.#ports;
    if (exec === undefined) return { result: 'error', output: 'exec is not supported' };
    // Variables with `valueFrom` are empty, as in upstream.
    const env = new Map((container.env ?? []).map(({ name, value }) => [name, value ?? '']));
    const command = expandAll(probe.exec?.command ?? [], (name) => env.get(name));
    // The runtime's timeout has whole seconds. A timeout with a fraction of a second is enforced here, and also counts
    // as a failure of the command.
    const enforcedHere = wholeTimeoutMs % 1000 !== 0;
    const limitMs = enforcedHere ? timeoutMs : timeoutMs + EXEC_SLACK_MS;
    const late: ProbeOutcome = {
      result: 'failure',
      output: `command timed out: ${JSON.stringify(command.join(' '))} timed out after ${goDuration(wholeTimeoutMs)}`,
    };
    try {
      const result = await withTimeout(
        this.#clock,
        limitMs,
        (ending) => exec(containerId, command, timeoutMs, ending),
        signal,
      );
      return execOutcome(result);
    } catch (error) {
      if (codeOf(error) === 'DEADLINE_EXCEEDED') return late;
      if (codeOf(error) === 'Timeout') return late;
      const message = errorText(error);
      // Upstream ignores such an error (`pkg/probe/exec/exec.go: Probe`), so that such a probe never restarts its
      // container.
      if (isCommandFault(message)) return { result: 'failure', output: message };
      throw error;
    }
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
