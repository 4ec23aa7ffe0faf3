import type { Clock, Timer } from '@node-agent/async';
import { ConnectionError } from './frame.ts';
import { Link } from './link.ts';
import type { CallStatus } from './status.ts';
import type { UnaryStream } from './unary-stream.ts';

/** Components of {@link LeanChannel}. */
export interface LeanChannelComponents {
  readonly clock: Clock;
  /** Called when the connection is established and when it is lost. */
  readonly onConnectivity: (isConnected: boolean) => void;
  /** Called when the peer violated HTTP/2, or used a feature that this client does not support. */
  readonly onUnexpected: (reason: Error) => void;
}

/** Limits of the back-off between connection attempts, in milliseconds. */
export interface BackOffLimits {
  readonly initialMs: number;
  readonly maxMs: number;
}

/** Time within which the peer must have sent its settings, in milliseconds (grpc-go's minimum connect timeout). */
const CONNECT_TIMEOUT_MS = 20_000;
const BACK_OFF_FACTOR = 1.6;

/**
 * Keeps one connection to a unix socket. The channel dials when a call needs the connection, and again after the
 * connection was lost. After a failed attempt, the next attempt waits for a back-off, during which calls without
 * `waitForReady` fail.
 */
export class LeanChannel {
  readonly #clock: Clock;
  readonly #components: LeanChannelComponents;
  readonly #socketPath: string;
  readonly #limits: BackOffLimits;
  /** Link on which new calls start. */
  #ready: Link | undefined;
  #attempt: { readonly link: Link; readonly timer: Timer } | undefined;
  /** All links whose sockets are open, including draining and closing ones. */
  readonly #links = new Set<Link>();
  /** Calls that wait for a connection. The value is `waitForReady`: whether the call also waits during a back-off. */
  readonly #waiting = new Map<UnaryStream, boolean>();
  #failure: CallStatus | undefined;
  #backOffMs: number;
  #retryAtMs = 0;
  #retry: Timer | undefined;
  #isClosed = false;

  constructor(components: LeanChannelComponents, socketPath: string, limits: BackOffLimits) {
    this.#components = components;
    this.#clock = components.clock;
    this.#socketPath = socketPath;
    this.#limits = limits;
    this.#backOffMs = limits.initialMs;
  }

  /** Starts a call as soon as a connection exists. */
  start(stream: UnaryStream, waitForReady: boolean): void {
    if (this.#ready !== undefined) {
      stream.connection = this.#ready.connection;
      this.#ready.connection.start(stream);
      return;
    }
    if (this.#isBackingOff() && !waitForReady && this.#failure !== undefined) {
      stream.response.fail(this.#failure);
      stream.settle();
      return;
    }
    this.#waiting.set(stream, waitForReady);
    this.#dialInTime();
  }

  /** Ends a call because the caller cancelled the call. */
  cancel(stream: UnaryStream, status: CallStatus): void {
    if (this.#waiting.delete(stream)) {
      stream.response.fail(status);
      stream.settle();
      this.#restIfUnwanted();
    } else stream.connection?.cancel(stream, status);
  }

  /** Closes all connections. The calls in progress fail with `status`. */
  close(status: CallStatus): void {
    this.#isClosed = true;
    this.#retry?.cancel();
    this.#attempt?.timer.cancel();
    for (const stream of [...this.#waiting.keys()]) this.cancel(stream, status);
    for (const link of [...this.#links]) {
      link.connection.fail(status);
      link.leave(new Error(status.details));
    }
  }

  #isBackingOff(): boolean {
    return this.#attempt === undefined && this.#clock.monotonic() < this.#retryAtMs;
  }

  #dialInTime(): void {
    if (this.#isClosed || this.#attempt !== undefined || this.#retry !== undefined) return;
    const delayMs = this.#retryAtMs - this.#clock.monotonic();
    if (delayMs <= 0) {
      this.#dial();
      return;
    }
    this.#retry = this.#clock.setTimer(delayMs, () => {
      this.#retry = undefined;
      this.#dial();
    });
  }

  /** Cancels the retry if no call waits for a connection. */
  #restIfUnwanted(): void {
    if (this.#waiting.size > 0) return;
    this.#retry?.cancel();
    this.#retry = undefined;
  }

  #dial(): void {
    const link: Link = new Link(this.#clock, this.#socketPath, {
      onReady: () => this.#onReady(link),
      onDraining: () => this.#onLost(link),
      onGone: (reason) => this.#onGone(link, reason),
      onClosed: () => this.#links.delete(link),
    });
    const timer = this.#clock.setTimer(CONNECT_TIMEOUT_MS, () =>
      link.close(new Error('the peer sent no HTTP/2 settings')),
    );
    this.#links.add(link);
    this.#attempt = { link, timer };
  }

  #onReady(link: Link): void {
    this.#attempt?.timer.cancel();
    this.#attempt = undefined;
    this.#ready = link;
    this.#failure = undefined;
    this.#backOffMs = this.#limits.initialMs;
    this.#retryAtMs = 0;
    this.#components.onConnectivity(true);
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const [stream, waitForReady] of waiting) this.start(stream, waitForReady);
    if (link.connection.calls === 0) link.rest();
  }

  /** Called when no further call may start on a link. */
  #onLost(link: Link): void {
    if (this.#ready !== link) return;
    this.#ready = undefined;
    this.#components.onConnectivity(false);
  }

  #onGone(link: Link, reason: Error): void {
    this.#onLost(link);
    const isViolation = reason instanceof ConnectionError;
    if (isViolation) this.#components.onUnexpected(reason);
    link.connection.fail(
      isViolation
        ? { code: 'INTERNAL', details: `the peer violated HTTP/2: ${reason.message}` }
        : { code: 'UNAVAILABLE', details: 'Connection dropped' },
    );
    if (this.#attempt?.link === link) this.#onFailedAttempt(reason);
  }

  #onFailedAttempt(reason: Error): void {
    this.#attempt?.timer.cancel();
    this.#attempt = undefined;
    if (this.#isClosed) return;
    const failure = {
      code: 'UNAVAILABLE',
      details: `No connection established. Last error: ${reason.message}`,
    } as const;
    this.#failure = failure;
    this.#retryAtMs = this.#clock.monotonic() + this.#backOffMs;
    this.#backOffMs = Math.min(this.#backOffMs * BACK_OFF_FACTOR, this.#limits.maxMs);
    for (const [stream, waitForReady] of [...this.#waiting]) if (!waitForReady) this.cancel(stream, failure);
    if (this.#waiting.size > 0) this.#dialInTime();
  }
}
