import type { ClientHttp2Session } from 'node:http2';
import { type Clock, linkAbort, sleep } from '@node-agent/async';
import { hostAndPort, openSocket } from '@node-agent/pod-net';
import { goDuration } from '@node-agent/telemetry';
import { type GrpcStatus, grpcStatusOf } from './grpc-status.ts';
import { healthRequest, healthStatus } from './health-message.ts';
import type { ProbeOutcome } from './types.ts';

/** Server and service of a gRPC health check. */
export interface GrpcTarget {
  readonly host: string;
  readonly port: number;
  /** Name of the service; '' means the whole server. */
  readonly service: string;
  /** Timeout in ms. */
  readonly timeoutMs: number;
  readonly userAgent: string;
}

/** gRPC's own delay before it dials again, in ms. */
const REDIAL_MS = 1000;
/** A health response has two bytes; a longer message is not a health response (R3). */
const MAX_ANSWER_BYTES = 10 * 1024;

type Answer = { readonly status: GrpcStatus; readonly body: Buffer };

/**
 * Checks a server with the gRPC health protocol, without TLS, over a new connection. If the server does not listen,
 * dials again until the timeout (`pkg/probe/grpc/grpc.go`).
 * @throws the signal's reason
 */
export async function grpcProbe(
  target: GrpcTarget,
  { clock }: { readonly clock: Pick<Clock, 'setTimer'> },
  signal?: AbortSignal,
): Promise<ProbeOutcome> {
  signal?.throwIfAborted();
  using link = linkAbort(signal);
  const timer = clock.setTimer(target.timeoutMs, () => link.abort());
  try {
    for (;;) {
      const outcome = await dialAndAsk(target, link.signal);
      if (outcome !== undefined) return outcome;
      await sleep(clock, REDIAL_MS, link.signal);
    }
  } catch (error) {
    if (!link.signal.aborted) throw error;
    const address = JSON.stringify(hostAndPort(target.host, target.port));
    const output = `timeout: failed to connect service ${address} within ${goDuration(target.timeoutMs)}: context deadline exceeded`;
    return { result: 'failure', output };
  } finally {
    timer.cancel();
    signal?.throwIfAborted();
  }
}

/** Connects to the server and requests its health once. @returns `undefined` if no connection could be established */
async function dialAndAsk(target: GrpcTarget, signal: AbortSignal): Promise<ProbeOutcome | undefined> {
  const { connect } = await import('node:http2');
  signal.throwIfAborted();
  const { host, port } = target;
  const open = openSocket({ host, port });
  const session = connect(`http://${hostAndPort(host, port)}`, { createConnection: () => open.socket });
  session.on('error', () => {});
  try {
    if (!(await ready(session, signal))) return undefined;
    const answer = await ask(session, target, signal);
    // The server receives the timeout and may itself respond that it has passed.
    return answer === undefined || answer.status.code === 'DeadlineExceeded'
      ? { result: 'failure', output: `timeout: health rpc did not complete within ${goDuration(target.timeoutMs)}` }
      : outcomeOf(answer);
  } finally {
    session.destroy();
    open.reset();
  }
}

/** Returns whether the server has sent its HTTP/2 settings. */
function ready(session: ClientHttp2Session, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    session.once('remoteSettings', () => resolve(true));
    session.once('error', () => resolve(false));
    session.once('close', () => resolve(false));
    // The caller, which dials again, notices the timeout.
    signal.addEventListener('abort', () => resolve(false), { once: true });
  });
}

const TIME_UNITS = { m: 1, S: 1000, M: 60_000 };

/** Formats a timeout for gRPC, rounded up: at most eight digits, in the smallest unit that fits. */
export function grpcTimeout(ms: number): string {
  const formatted = Object.entries(TIME_UNITS).map(([unit, unitMs]) => `${Math.ceil(ms / unitMs)}${unit}`);
  return formatted.find((text) => text.length <= 9) ?? '99999999H';
}

/** Sends the health request. @returns `undefined` if there was no response in time */
function ask(session: ClientHttp2Session, target: GrpcTarget, signal: AbortSignal): Promise<Answer | undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve(undefined);
    signal.addEventListener('abort', () => resolve(undefined), { once: true });
    const stream = session.request({
      ':method': 'POST',
      ':path': '/grpc.health.v1.Health/Check',
      'content-type': 'application/grpc',
      te: 'trailers',
      'user-agent': target.userAgent,
      'grpc-timeout': grpcTimeout(target.timeoutMs),
    });
    let headers: Record<string, unknown> | undefined;
    const chunks: Buffer[] = [];
    let length = 0;
    const broken = (message: string): void =>
      resolve({ status: { code: 'Unavailable', message }, body: Buffer.alloc(0) });
    stream.on('response', (received) => {
      headers = { ...received };
    });
    stream.on('trailers', (received) => {
      headers = { ...headers, ...received };
    });
    stream.on('data', (chunk: Buffer) => {
      length += chunk.length;
      chunks.push(chunk);
      if (length > MAX_ANSWER_BYTES) broken('response is too long');
    });
    stream.on('end', () => {
      if (headers === undefined) broken('error reading from server: EOF');
      else resolve({ status: grpcStatusOf(headers), body: Buffer.concat(chunks) });
    });
    stream.on('error', (error) => broken(`error reading from server: ${error.message}`));
    stream.on('close', () => broken('error reading from server: EOF'));
    stream.end(healthRequest(target.service));
  });
}

function outcomeOf({ status: { code, message }, body }: Answer): ProbeOutcome {
  if (code === 'Unimplemented') {
    const words = 'error: this server does not implement the grpc health protocol (grpc.health.v1.Health)';
    return { result: 'failure', output: `${words}: ${message}` };
  }
  const servingStatus = code === 'OK' ? healthStatus(body) : undefined;
  if (servingStatus === 'SERVING') return { result: 'success', output: 'service healthy' };
  if (servingStatus !== undefined)
    return { result: 'failure', output: `service unhealthy (responded with ${JSON.stringify(servingStatus)})` };
  const fault = code === 'OK' ? { code: 'Internal', message: 'response is not a health response' } : { code, message };
  return {
    result: 'failure',
    output: `error: health rpc probe failed: rpc error: code = ${fault.code} desc = ${fault.message}`,
  };
}
