import { type Clock, sleep } from '@node-agent/async';
import { GrpcError, type GrpcTransport, goCodeName, type Init, type UnaryRpc } from '@node-agent/grpc';
import {
  checkAnswers,
  type DriverClaim,
  type PrepareAnswer,
  type PreparedDevices,
  preparedDevices,
} from './driver-answers.ts';
import type { DriverService } from './driver-services.ts';
import { DraError } from './errors.ts';
import { dRAResourceHealthRpcs } from './generated/health/services.ts';
import { dRAPluginRpcs as v1 } from './generated/v1/services.ts';
import { dRAPluginRpcs as v1beta1 } from './generated/v1beta1/services.ts';
import type { RpcMetrics } from './metrics.ts';
import type { SentHealth } from './reported-health.ts';

/**
 * Timeout of each call of a driver, as in upstream (`defaultClientCallTimeout` of
 * `pkg/kubelet/cm/dra/plugin/dra_plugin.go`).
 */
const CALL_TIMEOUT_MS = 45_000;
/** Timeout of one attempt to connect, in milliseconds. The next attempt follows after `CONNECT_PAUSE_MS`. */
const CONNECT_TIMEOUT_MS = 60_000;
const CONNECT_PAUSE_MS = 1_000;

/** Dependencies of a {@link DraPlugin}. */
export interface DraPluginParts {
  readonly clock: Clock;
  readonly transport: GrpcTransport;
  readonly metrics: RpcMetrics;
  /** Called when the connection was established or lost. */
  readonly onConnectivity: () => void;
}

/** A registered plugin of a DRA driver (`DRAPlugin` in `pkg/kubelet/cm/dra/plugin`). All calls use one connection. */
export class DraPlugin {
  readonly driver: string;
  readonly endpoint: string;
  readonly #service: DriverService;
  readonly #clock: Clock;
  readonly #metrics: DraPluginParts['metrics'];
  readonly #client: ReturnType<GrpcTransport['client']>;
  readonly #closed = new AbortController();
  #isConnected = false;
  #disconnected = Promise.withResolvers<void>();

  /** @throws OptionsError if the endpoint cannot be the path of a socket */
  constructor(
    { clock, transport, metrics, onConnectivity }: DraPluginParts,
    driver: string,
    endpoint: string,
    service: DriverService,
  ) {
    this.driver = driver;
    this.endpoint = endpoint;
    this.#service = service;
    this.#clock = clock;
    this.#metrics = metrics;
    const connectivity = (isConnected: boolean): void => {
      this.#isConnected = isConnected;
      if (!isConnected) this.#disconnected.resolve();
      onConnectivity();
    };
    this.#client = transport.client({ clock, onConnectivity: connectivity }, { socketPath: endpoint });
  }

  get isConnected(): boolean {
    return this.#isConnected;
  }

  /** Signal that is aborted when the plugin is closed. */
  get closed(): AbortSignal {
    return this.#closed.signal;
  }

  /** Resolves when the plugin is connected. @throws GrpcError `DEADLINE_EXCEEDED` after a minute, `CANCELLED` */
  async connect(): Promise<void> {
    await this.#client.connect(CONNECT_TIMEOUT_MS, this.#closed.signal);
  }

  /**
   * Keeps the connection open until the plugin is closed, so that the end of the plugin's process is noticed even
   * without calls.
   */
  async stayConnected(): Promise<void> {
    const { signal } = this.#closed;
    while (!signal.aborted) {
      this.#disconnected = Promise.withResolvers();
      try {
        await this.connect();
        if (this.#isConnected) await this.#disconnected.promise;
      } catch {
        // The loop makes the next attempt.
      }
      await sleep(this.#clock, CONNECT_PAUSE_MS, signal).catch(() => {});
    }
  }

  /**
   * Calls NodePrepareResources. @returns the devices by claim UID @throws DraError `DriverFailed` in upstream's words
   */
  async prepare(claims: readonly DriverClaim[], signal: AbortSignal): Promise<PreparedDevices> {
    const answer = await (this.#service === 'v1.DRAPlugin'
      ? this.#call(v1.nodePrepareResources, { claims }, signal)
      : this.#call(v1beta1.nodePrepareResources, { claims }, signal));
    return preparedDevices(claims, answer.claims as Readonly<Record<string, PrepareAnswer>>);
  }

  /** Calls NodeUnprepareResources. @throws DraError `DriverFailed` in upstream's words */
  async unprepare(claims: readonly DriverClaim[], signal: AbortSignal): Promise<void> {
    const { nodeUnprepareResources: rpc } = this.#service === 'v1.DRAPlugin' ? v1 : v1beta1;
    const answer = await this.#call(rpc, { claims }, signal);
    checkAnswers('NodeUnprepareResources', claims, answer.claims);
  }

  /** Streams the health of the driver's devices. @throws GrpcError */
  async *health(): AsyncGenerator<readonly SentHealth[], void, undefined> {
    const { signal } = this.#closed;
    for await (const { devices } of this.#client.stream(dRAResourceHealthRpcs.nodeWatchResources, {}, { signal })) {
      yield devices;
    }
  }

  /** Closes the connection because the plugin was deregistered. Calls in progress fail. */
  close(): void {
    this.#closed.abort(new Error(`DRA driver ${this.driver} plugin at endpoint ${this.endpoint} was unregistered`));
    this.#disconnected.resolve();
    this.#client.close();
  }

  async #call<Req, Res>(rpc: UnaryRpc<Req, Res>, request: Init<Req>, signal: AbortSignal): Promise<Res> {
    const startedMs = this.#clock.monotonic();
    const observe = (code: string): void =>
      this.#metrics.observe(this.driver, rpc.path, code, (this.#clock.monotonic() - startedMs) / 1000);
    try {
      const answer = await this.#client.unary(rpc, request, { timeoutMs: CALL_TIMEOUT_MS, signal });
      observe('OK');
      return answer;
    } catch (cause) {
      const { code, message } = GrpcError.from(cause);
      observe(goCodeName(code));
      throw new DraError('DriverFailed', `${rpc.name}: ${message}`, { cause });
    }
  }
}
