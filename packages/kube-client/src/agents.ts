import http from 'node:http';
import https from 'node:https';
import { isIP } from 'node:net';
import type { Duplex } from 'node:stream';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import type { TlsMaterial } from './credentials.ts';
import { openTunnel, type TunnelTarget } from './tunnel.ts';

/** Connections are kept for the next request, and dropped when they were idle for 90 s, as client-go does. */
const AGENT_OPTIONS = { keepAlive: true, timeout: 90_000, scheduling: 'lifo' } as const;

/** How the server's certificate is looked at. */
export interface ServerTls {
  readonly servername: string | undefined;
  readonly rejectUnauthorized: boolean;
}

/** The agent for an `https://` server, behind a proxy or not. */
export function tlsAgent(tls: TlsMaterial, server: ServerTls, proxy: URL | undefined): https.Agent {
  const { ca, cert, key } = tls;
  const options: ConnectionOptions = {
    ca,
    cert,
    key,
    rejectUnauthorized: server.rejectUnauthorized,
    minVersion: 'TLSv1.2',
    // HTTP/1.1 alone: a server that is offered more may choose it.
    ALPNProtocols: ['http/1.1'],
    ...(server.servername === undefined ? {} : { servername: server.servername }),
  };
  const agentOptions = { ...AGENT_OPTIONS, ...options } as https.AgentOptions;
  return proxy === undefined ? new https.Agent(agentOptions) : new TlsTunnelAgent(agentOptions, options, proxy);
}

/** The agent for an `http://` server that is reached directly or through SOCKS. */
export function plainAgent(socksProxy: URL | undefined): http.Agent {
  return socksProxy === undefined ? new http.Agent(AGENT_OPTIONS) : new TunnelAgent(AGENT_OPTIONS, socksProxy);
}

/** Ends all connections, those in use too. */
export function destroyAgent(agent: http.Agent): void {
  agent.destroy();
}

/** Lets what is under way end, and ends everything else. */
export function retireAgent(agent: http.Agent): void {
  // A socket that becomes free is looked at by this, and closed.
  Object.assign(agent, { keepAlive: false, maxFreeSockets: 0 });
  for (const sockets of Object.values(agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy();
}

type Connected = (error: Error | null, socket: Duplex) => void;

class TunnelAgent extends http.Agent {
  readonly #proxy: URL;

  constructor(options: http.AgentOptions, proxy: URL) {
    super(options);
    this.#proxy = proxy;
  }

  override createConnection(options: http.ClientRequestArgs, callback?: Connected): Duplex | null | undefined {
    openTunnel(this.#proxy, targetOf(options)).then(
      (socket) => callback?.(null, socket),
      (error: Error) => (callback as ((error: Error) => void) | undefined)?.(error),
    );
    return undefined;
  }
}

class TlsTunnelAgent extends https.Agent {
  readonly #tls: ConnectionOptions;
  readonly #proxy: URL;

  constructor(options: https.AgentOptions, tls: ConnectionOptions, proxy: URL) {
    super(options);
    this.#tls = tls;
    this.#proxy = proxy;
  }

  override createConnection(options: https.RequestOptions, callback?: Connected): Duplex | null | undefined {
    const target = targetOf(options);
    const servername = this.#tls.servername ?? (isIP(target.host) === 0 ? target.host : '');
    openTunnel(this.#proxy, target).then(
      (socket) => callback?.(null, connectTls({ ...this.#tls, socket, host: target.host, servername })),
      (error: Error) => (callback as ((error: Error) => void) | undefined)?.(error),
    );
    return undefined;
  }
}

function targetOf(options: http.ClientRequestArgs): TunnelTarget {
  return { host: options.host ?? options.hostname ?? 'localhost', port: Number(options.port ?? 443) };
}
