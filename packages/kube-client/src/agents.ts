import http from 'node:http';
import https from 'node:https';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import type { TlsDialer } from './tls-dialer.ts';
import { openTunnel } from './tunnel.ts';

/** Connections are kept for the next request, and dropped when they were idle for 90 s, as client-go does. */
const AGENT_OPTIONS = { keepAlive: true, timeout: 90_000, scheduling: 'lifo' } as const;

/** The agent for an `https://` server that speaks HTTP/1.1; `first` is a connection that is there already. */
export function tlsAgent(dialer: Pick<TlsDialer, 'dial'>, first: TLSSocket): http.Agent {
  let spare: TLSSocket | undefined = first;
  return new TlsAgent(async () => {
    const socket = spare;
    spare = undefined;
    return socket === undefined || socket.destroyed ? await dialer.dial(['http/1.1']) : socket;
  });
}

/** The agent for an `http://` server that is reached directly or through SOCKS. */
export function plainAgent(socksProxy: URL | undefined): http.Agent {
  return socksProxy === undefined ? new http.Agent(AGENT_OPTIONS) : new TunnelAgent(socksProxy);
}

/** Lets what is under way end, and ends everything else. */
export function retireAgent(agent: http.Agent): void {
  // A socket that becomes free is looked at by this, and closed.
  Object.assign(agent, { keepAlive: false });
  for (const sockets of Object.values(agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy();
}

type Connected = (error: Error | null, socket: Duplex) => void;

class TlsAgent extends https.Agent {
  readonly #dial: () => Promise<TLSSocket>;

  constructor(dial: () => Promise<TLSSocket>) {
    super(AGENT_OPTIONS);
    this.#dial = dial;
  }

  override createConnection(_options: https.RequestOptions, callback?: Connected): undefined {
    give(this.#dial(), callback);
  }
}

class TunnelAgent extends http.Agent {
  readonly #proxy: URL;

  constructor(proxy: URL) {
    super(AGENT_OPTIONS);
    this.#proxy = proxy;
  }

  override createConnection({ host, port }: http.ClientRequestArgs, callback?: Connected): undefined {
    give(openTunnel(this.#proxy, { host: host ?? 'localhost', port: Number(port ?? 80) }), callback);
  }
}

function give(socket: Promise<Duplex>, callback: Connected | undefined): void {
  socket.then(
    (connected) => callback?.(null, connected),
    (error: Error) => (callback as ((error: Error) => void) | undefined)?.(error),
  );
}
