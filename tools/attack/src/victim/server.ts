import { once } from 'node:events';
import { type Clock, sleep } from '@node-agent/async';
import { nodeFileSystem } from '@node-agent/host';
import {
  Authentication,
  alwaysAllow,
  type Call,
  type Endpoints,
  hostLogEndpoints,
  SecuredServer,
} from '@node-agent/server';
import { TOKEN } from '../token.ts';

interface Ports {
  readonly clock: Clock;
  readonly pair: { readonly cert: string; readonly key: string };
  /** The directory that `/logs/` serves. */
  readonly logs: string;
}

interface AttackedServer extends Pick<SecuredServer, 'start'> {
  /** Returns the number of requests that reached authentication since the last call. */
  takeAuthentications(): number;
}

const BODY_LIMIT_BYTES = 1 << 20;
const LONG = Buffer.alloc(4_000_000, 'x');
const PLAIN = { 'Content-Type': 'text/plain' };

/**
 * Returns a secured server with the kubelet's defaults, except that its timeout for slow clients is 2 s. `/pods`
 * responds slowly, `/metrics` responds with a long body, `/containerLogs` with a silent stream, and `/logs` with files.
 * `/stats/summary` reads a body.
 */
export function attackedServer({ clock, pair, logs }: Ports, onListening: (port: number) => void): AttackedServer {
  let authentications = 0;
  const reviewer = {
    reviewToken: async (token: string) => ({ authenticated: token === TOKEN, user: { username: 'monitor' } }),
  };
  const authentication = new Authentication({ clock, reviewer });
  const endpoints: Endpoints = {
    ...hostLogEndpoints({ files: nodeFileSystem }, { directory: logs }),
    pods: async ({ signal }) => {
      await sleep(clock, 50, signal).catch(() => {});
      return { status: 200, headers: PLAIN, body: 'pods' };
    },
    metrics: () => ({ status: 200, headers: PLAIN, bytes: LONG }),
    containerLogs: ({ signal, takeTime }) => {
      takeTime();
      return { status: 200, headers: PLAIN, stream: silent(signal) };
    },
    stats: async (call: Call) => {
      const body = await call.body(BODY_LIMIT_BYTES);
      if (body === undefined) return { status: 413, headers: PLAIN, body: 'too long' };
      return { status: 200, headers: PLAIN, body: `${body.length} bytes` };
    },
  };
  const server = new SecuredServer(
    {
      clock,
      certificate: { current: pair, onChange: () => () => {} },
      authentication: {
        identify: async (shown, signal) => {
          authentications++;
          return await authentication.identify(shown, signal);
        },
      },
      authorization: alwaysAllow,
      endpoints,
    },
    {
      ...{ address: '127.0.0.1', port: 0, onListening: ({ port }) => onListening(port) },
      limits: { receiveMs: 2000, maxConnections: 600, maxStrangers: 200 },
    },
  );
  return {
    start: (signal) => server.start(signal),
    takeAuthentications: () => {
      const count = authentications;
      authentications = 0;
      return count;
    },
  };
}

async function* silent(signal: AbortSignal): AsyncGenerator<Uint8Array> {
  yield Buffer.from('begun');
  if (!signal.aborted) await once(signal, 'abort');
}
