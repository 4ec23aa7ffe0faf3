import type { Clock } from '@node-agent/async';
import { GrpcError, type GrpcTransport, type Init, type Service, service, unixSockets } from '@node-agent/grpc';
import { devicePluginRpcs, registrationRpcs } from './generated/services.ts';
import type {
  ContainerAllocateResponse,
  ContainerPreferredAllocationRequest,
  Device,
  DevicePluginOptions,
} from './generated/types.ts';

/** How a {@link FakeDevicePlugin} behaves. */
export interface FakeDevicePluginOptions {
  readonly resource: string;
  /** The directory of the kubelet's socket. */
  readonly directory: string;
  /** The name of its own socket there; made of the resource by default. */
  readonly socketName?: string;
  /** The machine's own by default. */
  readonly clock?: Clock;
  /** Unix sockets by default. */
  readonly transport?: GrpcTransport;
  /** What else there is on its socket. */
  readonly services?: readonly Service[];
  readonly options?: Partial<DevicePluginOptions>;
  /** What a container gets; its devices' names in the variable `FAKE_DEVICES` by default. */
  readonly allocate?: (ids: readonly string[], signal: AbortSignal) => Promise<Init<ContainerAllocateResponse>>;
  readonly prefer?: (request: ContainerPreferredAllocationRequest) => Promise<readonly string[]>;
  readonly preStart?: (ids: readonly string[]) => Promise<void>;
  /** In the place of an answer to GetDevicePluginOptions. */
  readonly getOptions?: () => Promise<Init<DevicePluginOptions>>;
}

/** A device plugin for tests: a real gRPC server whose devices are what the test says. */
export class FakeDevicePlugin {
  readonly #options: FakeDevicePluginOptions;
  readonly socketPath: string;
  #server: ReturnType<GrpcTransport['server']> | undefined;
  #devices: readonly Init<Device>[];
  readonly #watchers = new Set<{ tell(): void; end(error: Error | undefined): void }>();
  /** What it was asked, in order. */
  readonly calls: { readonly rpc: string; readonly ids: readonly string[] }[] = [];

  constructor(options: FakeDevicePluginOptions, devices: readonly Init<Device>[]) {
    this.#options = options;
    this.#devices = devices;
    this.socketPath = `${options.directory}/${options.socketName ?? `${options.resource.replaceAll('/', '-')}.sock`}`;
  }

  /** Serves, without making itself known. */
  async start(): Promise<void> {
    const { options = {}, getOptions, allocate, prefer, preStart, transport = unixSockets } = this.#options;
    const server = transport.server({
      socketPath: this.socketPath,
      services: [
        ...(this.#options.services ?? []),
        service(devicePluginRpcs, {
          getDevicePluginOptions: async () => (getOptions ? await getOptions() : options),
          listAndWatch: (_request, signal) => this.#lists(signal),
          getPreferredAllocation: async ({ containerRequests }) => ({
            containerResponses: await Promise.all(
              containerRequests.map(async (one) => {
                this.calls.push({ rpc: 'GetPreferredAllocation', ids: one.availableDeviceIDs });
                return { deviceIDs: (await prefer?.(one)) ?? [] };
              }),
            ),
          }),
          allocate: async ({ containerRequests }, signal) => ({
            containerResponses: await Promise.all(
              containerRequests.map(async ({ devicesIds }) => {
                this.calls.push({ rpc: 'Allocate', ids: devicesIds });
                return allocate
                  ? await allocate(devicesIds, signal)
                  : { envs: { FAKE_DEVICES: devicesIds.toSorted().join() } };
              }),
            ),
          }),
          preStartContainer: async ({ devicesIds }) => {
            this.calls.push({ rpc: 'PreStartContainer', ids: devicesIds });
            await preStart?.(devicesIds);
            return {};
          },
        }),
      ],
    });
    await server.start();
    this.#server = server;
  }

  /** Makes itself known to the kubelet. @throws GrpcError with the kubelet's words */
  async register(version = 'v1beta1'): Promise<void> {
    const { directory, resource, options = {}, transport = unixSockets, clock } = this.#options;
    const client = transport.client(clock ? { clock } : {}, { socketPath: `${directory}/kubelet.sock` });
    try {
      const endpoint = this.socketPath.slice(directory.length + 1);
      const request = { version, endpoint, resourceName: resource, options };
      await client.unary(registrationRpcs.register, request, { timeoutMs: 20_000 });
    } finally {
      client.close();
    }
  }

  /** From now on it has these. */
  setDevices(devices: readonly Init<Device>[]): void {
    this.#devices = devices;
    for (const watcher of this.#watchers) watcher.tell();
  }

  /** Ends the streams of devices, by an error where there is one. */
  endWatches(error?: string): void {
    const thrown = error === undefined ? undefined : new GrpcError({ code: 'UNKNOWN', details: error });
    for (const watcher of [...this.#watchers]) watcher.end(thrown);
  }

  /** As a process that was killed: its socket stays. */
  stop(): void {
    this.#server?.close();
    this.#server = undefined;
  }

  async *#lists(signal: AbortSignal): AsyncIterable<{ readonly devices: readonly Init<Device>[] }> {
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
        yield { devices: this.#devices };
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
