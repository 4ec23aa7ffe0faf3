import type { Agent, ClientRequestArgs } from 'node:http';
import https from 'node:https';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import type { Clock } from '@node-agent/async';
import { withDialDeadline } from './dial-deadline.ts';
import { http } from './node-http.ts';
import { systemErrorOf } from './system-errors.ts';
import type { TlsDialer } from './tls-dialer.ts';
import { openTunnel } from './tunnel.ts';

/** Keeps connections for later requests and closes a connection that was idle for 90 s, as client-go does. */
const AGENT_OPTIONS = { keepAlive: true, timeout: 90_000, scheduling: 'lifo' } as const;

/** Returns the agent for an `https://` server that speaks HTTP/1.1. `first` is a connection that is already open. */
export function tlsAgent(dialer: Pick<TlsDialer, 'dial'>, first: TLSSocket): Agent {
  return new TlsAgent(dialer, first);
}

/** Returns the agent for an `http://` server that is reached directly or through a SOCKS proxy. */
export function plainAgent(clock: Pick<Clock, 'setTimer'>, socksProxy: URL | undefined): Agent {
  return socksProxy === undefined ? new http.Agent(AGENT_OPTIONS) : new TunnelAgent(clock, socksProxy);
}

/** Closes idle connections now. Connections with a request in progress close when the request completes. */
export function retireAgent(agent: Agent): void {
  // Node.js reads `keepAlive` when a socket becomes free, and closes the socket if it is false.
  Object.assign(agent, { keepAlive: false });
  for (const sockets of Object.values(agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy();
}

type Connected = (error: Error | null, socket: Duplex) => void;

class TlsAgent extends https.Agent {
  readonly #dialer: Pick<TlsDialer, 'dial'>;
  #spare: TLSSocket | undefined;
  readonly #end = new AbortController();

  constructor(dialer: Pick<TlsDialer, 'dial'>, first: TLSSocket) {
    super(AGENT_OPTIONS);
    this.#dialer = dialer;
    this.#spare = first;
    // The request that opened `first` may have been aborted. Until another request uses the socket, no other code
    // listens for the socket's errors.
    first.on('error', () => {});
  }

  override createConnection(_options: https.RequestOptions, callback?: Connected): undefined {
    const socket = this.#spare;
    this.#spare = undefined;
    const isUsable = socket !== undefined && !socket.destroyed;
    give(isUsable ? Promise.resolve(socket) : this.#dialer.dial(['http/1.1'], this.#end.signal), callback);
  }

  override destroy(): void {
    this.#end.abort(ended());
    this.#spare?.destroy();
    super.destroy();
  }
}

class TunnelAgent extends http.Agent {
  readonly #clock: Pick<Clock, 'setTimer'>;
  readonly #proxy: URL;
  readonly #end = new AbortController();

  constructor(clock: Pick<Clock, 'setTimer'>, proxy: URL) {
    super(AGENT_OPTIONS);
    this.#clock = clock;
    this.#proxy = proxy;
  }

  override createConnection({ host, port }: ClientRequestArgs, callback?: Connected): undefined {
    const target = { host: host ?? 'localhost', port: Number(port ?? 80) };
    const dial = (signal: AbortSignal): Promise<Duplex> => openTunnel(this.#proxy, target, signal);
    give(withDialDeadline(this.#clock, `${target.host}:${target.port}`, dial, this.#end.signal), callback);
  }

  override destroy(): void {
    this.#end.abort(ended());
    super.destroy();
  }
}

function ended(): Error {
  return systemErrorOf('ECONNRESET', 'the connections were closed');
}

function give(socket: Promise<Duplex>, callback: Connected | undefined): void {
  socket.then(
    (connected) => callback?.(null, connected),
    (error: Error) => (callback as ((error: Error) => void) | undefined)?.(error),
  );
}
