import { GrpcError, type GrpcTransport, type Init, type Service, service, unixSockets } from '@node-agent/grpc';
import { dRAResourceHealthRpcs } from './generated/health/services.ts';
import type { DeviceHealth } from './generated/health/types.ts';
import { dRAPluginRpcs as v1 } from './generated/v1/services.ts';
import type { Claim, NodePrepareResourceResponse, NodeUnprepareResourceResponse } from './generated/v1/types.ts';
import { dRAPluginRpcs as v1beta1 } from './generated/v1beta1/services.ts';

/** A claim in a driver's request. */
export type FakeClaim = Readonly<Claim>;

/** Behaviour of a {@link FakeDraPlugin}. */
export interface FakeDraPluginOptions {
  /** Path of the plugin's socket, which must not exist. */
  readonly socketPath: string;
  /** Transport of the plugin's server. Default: unix sockets. */
  readonly transport?: GrpcTransport;
  /** Additional services on the plugin's socket, such as its registration. */
  readonly services?: readonly Service[];
  /** Versions of the DRA service that the plugin serves. Default: both. */
  readonly versions?: readonly ('v1' | 'v1beta1')[];
  /**
   * Returns the response of NodePrepareResources for a claim. Default: one device named after the claim, with the CDI
   * device `example.com/fake=<claim>`.
   */
  readonly prepare?: (claim: FakeClaim, signal: AbortSignal) => Promise<Init<NodePrepareResourceResponse>>;
  /** Returns the response of NodeUnprepareResources for a claim. Default: success. */
  readonly unprepare?: (claim: FakeClaim, signal: AbortSignal) => Promise<Init<NodeUnprepareResourceResponse>>;
  /** Initial health of devices. If absent, the plugin has no health service. */
  readonly health?: readonly Init<DeviceHealth>[];
}

/** A call that a {@link FakeDraPlugin} received. */
export interface FakeDraCall {
  readonly rpc: 'NodePrepareResources' | 'NodeUnprepareResources';
  readonly version: 'v1' | 'v1beta1';
  /** Names of the claims in the call, sorted. */
  readonly claims: readonly string[];
}

/** DRA driver for tests: a real gRPC server that the test scripts. */
export class FakeDraPlugin {
  readonly #options: FakeDraPluginOptions;
  #server: ReturnType<GrpcTransport['server']> | undefined;
  #health: readonly Init<DeviceHealth>[];
  readonly #watchers = new Set<{ tell(): void; end(error: Error | undefined): void }>();
  /** Calls that the plugin has received, in order. */
  readonly calls: FakeDraCall[] = [];
  /** UIDs of the claims that are currently prepared. */
  readonly prepared: Set<string> = new Set();

  constructor(options: FakeDraPluginOptions) {
    this.#options = options;
    this.#health = options.health ?? [];
  }

  get socketPath(): string {
    return this.#options.socketPath;
  }

  /** Starts the server. */
  async start(): Promise<void> {
    const { socketPath, transport = unixSockets, services = [], versions = ['v1', 'v1beta1'], health } = this.#options;
    const server = transport.server({
      socketPath,
      services: [
        ...services,
        ...(versions.includes('v1') ? [service(v1, this.#handlers('v1'))] : []),
        ...(versions.includes('v1beta1') ? [service(v1beta1, this.#handlers('v1beta1'))] : []),
        ...(health === undefined
          ? []
          : [service(dRAResourceHealthRpcs, { nodeWatchResources: (_request, signal) => this.#healths(signal) })]),
      ],
    });
    await server.start();
    this.#server = server;
  }

  /** Sets the health of the devices and reports it on all health streams. */
  setHealth(health: readonly Init<DeviceHealth>[]): void {
    this.#health = health;
    for (const watcher of this.#watchers) watcher.tell();
  }

  /** Ends the health streams, with the given error if there is one. */
  endHealth(error?: string): void {
    const thrown = error === undefined ? undefined : new GrpcError({ code: 'UNKNOWN', details: error });
    for (const watcher of [...this.#watchers]) watcher.end(thrown);
  }

  /** Number of open health streams. */
  get watches(): number {
    return this.#watchers.size;
  }

  /** Stops the server like a killed process: the socket file is not removed. */
  stop(): void {
    this.#server?.close();
    this.#server = undefined;
  }

  #handlers(version: FakeDraCall['version']) {
    return {
      nodePrepareResources: async ({ claims }: { readonly claims: readonly Claim[] }, signal: AbortSignal) => {
        this.#note('NodePrepareResources', version, claims);
        return { claims: await this.#each(claims, (claim) => this.#prepare(claim, signal)) };
      },
      nodeUnprepareResources: async ({ claims }: { readonly claims: readonly Claim[] }, signal: AbortSignal) => {
        this.#note('NodeUnprepareResources', version, claims);
        return { claims: await this.#each(claims, (claim) => this.#unprepare(claim, signal)) };
      },
    };
  }

  #note(rpc: FakeDraCall['rpc'], version: FakeDraCall['version'], claims: readonly Claim[]): void {
    this.calls.push({ rpc, version, claims: claims.map(({ name }) => name).sort() });
  }

  async #each<T>(claims: readonly Claim[], result: (claim: Claim) => Promise<T>): Promise<Record<string, T>> {
    return Object.fromEntries(
      await Promise.all(claims.map(async (claim) => [claim.uid, await result(claim)] as const)),
    );
  }

  async #prepare(claim: Claim, signal: AbortSignal): Promise<Init<NodePrepareResourceResponse>> {
    const { prepare } = this.#options;
    const device = { poolName: 'node', deviceName: claim.name, cdiDeviceIds: [`example.com/fake=${claim.name}`] };
    const result: Init<NodePrepareResourceResponse> = prepare ? await prepare(claim, signal) : { devices: [device] };
    if (!result.error) this.prepared.add(claim.uid);
    return result;
  }

  async #unprepare(claim: Claim, signal: AbortSignal): Promise<Init<NodeUnprepareResourceResponse>> {
    const result = (await this.#options.unprepare?.(claim, signal)) ?? {};
    if (!result.error) this.prepared.delete(claim.uid);
    return result;
  }

  async *#healths(signal: AbortSignal): AsyncIterable<{ readonly devices: readonly Init<DeviceHealth>[] }> {
    let turn = Promise.withResolvers<'tell' | 'end'>();
    let ending: Error | undefined;
    const watcher = {
      tell: () => turn.resolve('tell'),
      end: (error: Error | undefined) => {
        ending = error;
        turn.resolve('end');
      },
    };
    this.#watchers.add(watcher);
    signal.addEventListener('abort', () => turn.resolve('end'), { once: true });
    try {
      for (;;) {
        yield { devices: this.#health };
        const what = await turn.promise;
        if (what === 'end') break;
        turn = Promise.withResolvers<'tell' | 'end'>();
      }
      if (ending !== undefined) throw ending;
    } finally {
      this.#watchers.delete(watcher);
    }
  }
}
