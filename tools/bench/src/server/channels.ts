import { WebSocket } from 'ws';
import type { KubeletCaller } from '../kubelet-call.ts';

/** Number of the exec channel that delivers the exit status. */
const ERROR_CHANNEL = 3;
/** Number of the port-forward channel for data. The first message of each channel is the port number. */
const DATA_CHANNEL = 0;

function open(caller: KubeletCaller, path: string, signal: AbortSignal): WebSocket {
  const { port, cert, key } = caller;
  const options = { cert, key, rejectUnauthorized: false, perMessageDeflate: false, handshakeTimeout: 30_000 };
  const socket = new WebSocket(`wss://127.0.0.1:${port}${path}`, ['v4.channel.k8s.io'], options);
  const onAbort = (): void => socket.terminate();
  signal.addEventListener('abort', onAbort, { once: true });
  socket.on('close', () => signal.removeEventListener('abort', onAbort));
  return socket;
}

/**
 * Runs `true` in a container. @returns the time in ms from the call to the reported success; @throws Error if the
 * command does not succeed
 */
export function execTrue(caller: KubeletCaller, pod: string, signal: AbortSignal): Promise<number> {
  const startMs = performance.now();
  const socket = open(caller, `/exec/default/${pod}/main?command=true&output=1&error=1`, signal);
  return new Promise((resolve, reject) => {
    let status = '';
    socket.on('error', reject);
    socket.on('message', (data: Buffer) => {
      if (data[0] !== ERROR_CHANNEL) return;
      status += data.subarray(1).toString('utf8');
      if (!status.includes('"Success"')) return;
      resolve(performance.now() - startMs);
      socket.close();
    });
    socket.on('close', (code) => reject(new Error(`exec in ${pod}: closed with code ${code}: ${status}`)));
  });
}

/** Result of a request through a port-forward. */
export interface Forwarded {
  readonly bytes: number;
  /** Time from the call to the first byte of the response. */
  readonly firstByteMs: number;
  readonly tookMs: number;
}

/**
 * Sends a GET request to a pod's HTTP server through a new port-forward. @throws Error if the response is incomplete
 */
export function forwardedGet(
  caller: KubeletCaller,
  pod: string,
  { port, path }: { readonly port: number; readonly path: string },
  signal: AbortSignal,
): Promise<Forwarded> {
  const startMs = performance.now();
  const socket = open(caller, `/portForward/default/${pod}?port=${port}`, signal);
  return new Promise((resolve, reject) => {
    const started = new Set<number>();
    let head = '';
    let bytes = 0;
    let wanted = Number.POSITIVE_INFINITY;
    let firstByteMs = Number.NaN;
    socket.on('error', reject);
    socket.on('open', () => {
      const request = Buffer.from(`GET ${path} HTTP/1.0\r\nHost: pod\r\n\r\n`);
      socket.send(Buffer.concat([Buffer.of(DATA_CHANNEL), request]));
    });
    socket.on('message', (data: Buffer) => {
      const channel = data[0] ?? -1;
      if (!started.has(channel)) {
        started.add(channel);
        return;
      }
      if (channel !== DATA_CHANNEL) {
        reject(new Error(`port-forward to ${pod}: ${data.subarray(1).toString('utf8')}`));
        socket.terminate();
        return;
      }
      if (Number.isNaN(firstByteMs)) firstByteMs = performance.now() - startMs;
      bytes += data.length - 1;
      if (wanted === Number.POSITIVE_INFINITY) {
        head += data.subarray(1).toString('latin1');
        const end = head.indexOf('\r\n\r\n');
        const length = /^content-length: (\d+)/im.exec(head)?.[1];
        if (end >= 0 && length !== undefined) wanted = end + 4 + Number(length);
      }
      if (bytes < wanted) return;
      resolve({ bytes, firstByteMs, tookMs: performance.now() - startMs });
      socket.close();
    });
    socket.on('close', () =>
      reject(new Error(`port-forward to ${pod}: closed after ${bytes} bytes: ${head.slice(0, 100)}`)),
    );
  });
}
