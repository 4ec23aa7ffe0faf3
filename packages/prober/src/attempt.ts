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
import type { ProbeOutcome } from './types.ts';
import { type ProbeMeans, ProbeUnderWay } from './under-way.ts';

/**
 * Runs a command in a container; ends it after `timeoutMs`, and rejects then with an error whose `code` is `DEADLINE_EXCEEDED`. Of
 * the answer up to 16 MB may be there; 10 KiB are kept.
 */
export type ExecInContainer = (
  containerId: string,
  command: readonly string[],
  timeoutMs: number,
  signal: AbortSignal,
) => Promise<ExecResult>;

/** How the outside is reached. The defaults of the last three are the real ones; tests and simulations give their own. */
export interface ProbePorts {
  /** Absent where no command can be run: exec probes are errors then. */
  readonly exec?: ExecInContainer;
  readonly http?: (request: HttpGetRequest, timeoutMs: number, signal: AbortSignal) => Promise<HttpGetResult>;
  /** @returns why there was no connection; `undefined` where there was */
  readonly tcp?: (
    target: { host: string; port: number; timeoutMs: number },
    signal: AbortSignal,
  ) => Promise<string | undefined>;
  readonly grpc?: (target: GrpcTarget, signal: AbortSignal) => Promise<ProbeOutcome>;
}

/** What one probe is made of. */
export interface ProbeTarget {
  readonly probe: Pick<Probe, 'exec' | 'httpGet' | 'tcpSocket' | 'grpc'>;
  readonly container: Pick<Container, 'name' | 'env' | 'ports'>;
  readonly containerId: string;
  readonly podIp: string;
  /** For all tries together, in ms; above 0. */
  readonly timeoutMs: number;
}

/** What probes call themselves. */
export const USER_AGENT: string = 'kube-probe/1.36';
/**
 * So much longer is the runtime waited for to say how a command has ended: one that left its output to a child is told of when
 * that ends, and its exit code counts then too (`ExecSync` of cri-client's `remote_runtime.go`: the command's time and 2 min).
 */
const EXEC_SLACK_MS = 120_000;

/** Makes probes, of whatever kind. */
export class ProbeAttempt {
  readonly #clock: Clock;
  readonly #ports: ProbePorts;
  readonly #means: ProbeMeans;
  readonly #requests = new WeakMap<
    HttpGetAction,
    { readonly podIp: string; readonly container: ProbeTarget['container']; readonly request: HttpGetRequest }
  >();

  constructor(clock: Clock, ports: ProbePorts) {
    this.#clock = clock;
    this.#ports = ports;
    this.#means = {
      clock,
      deadlines: new Deadlines(clock, (underWay) => underWay.expire()),
      httpRequest: (target) => this.#ownHttpRequest(target),
      ask: (target, timeoutMs, signal) => this.#ask(target, timeoutMs, signal),
    };
  }

  /**
   * Probes a container. Ends within its timeout, whatever the target does (R3); an exec probe within two minutes more where
   * the runtime does not say how its command has ended.
   * @throws the signal's reason; RangeError where `timeoutMs` makes no sense
   */
  async run(target: ProbeTarget, signal: AbortSignal): Promise<ProbeOutcome> {
    checkNumbers(target, { timeoutMs: 'positive' });
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<ProbeOutcome>();
    const underWay = this.begin(target, resolve);
    const onAbort = (): void => {
      underWay.callOff(signal.reason);
      reject(signal.reason);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      return await promise;
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  /** As {@link run}, for those who make many. @param done is told once; not from within the call, nor after it was called off */
  begin(target: ProbeTarget, done: (outcome: ProbeOutcome) => void): { callOff(reason?: unknown): void } {
    return new ProbeUnderWay(this.#means, target, done);
  }

  async #ask(target: ProbeTarget, timeoutMs: number, signal: AbortSignal): Promise<ProbeOutcome> {
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

  /** Made once for as long as it goes to the same pod: a probe is made again and again. */
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
    if (exec === undefined) return { result: 'error', output: 'commands cannot be run here' };
    // Variables whose values come from elsewhere are empty, as upstream has them.
    const env = new Map((container.env ?? []).map(({ name, value }) => [name, value ?? '']));
    const command = expandAll(probe.exec?.command ?? [], (name) => env.get(name));
    // The runtime counts whole seconds: a shorter time is kept here, and is the command's fault all the same.
    const keptHere = wholeTimeoutMs % 1000 !== 0;
    const limitMs = keptHere ? timeoutMs : timeoutMs + EXEC_SLACK_MS;
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
      // Upstream counts it for nothing (`pkg/probe/exec/exec.go: Probe`), so that such a probe never restarts its container.
      if (isCommandFault(message)) return { result: 'failure', output: message };
      throw error;
    }
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
