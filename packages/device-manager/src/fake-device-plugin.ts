import type { Clock } from '@node-agent/async';
import { GrpcError, type GrpcTransport, type Init, type Service, service, unixSockets } from '@node-agent/grpc';
import { devicePluginRpcs, registrationRpcs } from './generated/services.ts';
import type {
  ContainerAllocateResponse,
  ContainerPreferredAllocationRequest,
  Device,
  DevicePluginOptions,
} from './generated/types.ts';

/** Behaviour of a {@link FakeDevicePlugin}. */
export interface FakeDevicePluginOptions {
  readonly resource: string;
  /** Directory of the kubelet's socket. */
  readonly directory: string;
  /** Name of the plugin's socket in the directory. Default: derived from the resource. */
  readonly socketName?: string;
  /** Default: the system clock. */
  readonly clock?: Clock;
  /** Default: unix sockets. */
  readonly transport?: GrpcTransport;
  /** Additional services on the plugin's socket. */
  readonly services?: readonly Service[];
  readonly options?: Partial<DevicePluginOptions>;
  /** Returns the response of Allocate for a container. Default: the device ids in the variable `FAKE_DEVICES`. */
  readonly allocate?: (ids: readonly string[], signal: AbortSignal) => Promise<Init<ContainerAllocateResponse>>;
  readonly prefer?: (request: ContainerPreferredAllocationRequest) => Promise<readonly string[]>;
  readonly preStart?: (ids: readonly string[]) => Promise<void>;
  /** Replaces the response of GetDevicePluginOptions. */
  readonly getOptions?: () => Promise<Init<DevicePluginOptions>>;
}

/** Device plugin for tests: a real gRPC server with devices that the test sets. */
export class FakeDevicePlugin {
  readonly #options: FakeDevicePluginOptions;
  readonly socketPath: string;
  #server: ReturnType<GrpcTransport['server']> | undefined;
  #devices: readonly Init<Device>[];
  readonly #watchers = new Set<{ tell(): void; end(error: Error | undefined): void }>();
  /** Calls received, in order. */
  readonly calls: { readonly rpc: string; readonly ids: readonly string[] }[] = [];

  constructor(options: FakeDevicePluginOptions, devices: readonly Init<Device>[]) {
    this.#options = options;
    this.#devices = devices;
    this.socketPath = `${options.directory}/${options.socketName ?? `${options.resource.replaceAll('/', '-')}.sock`}`;
  }

  /** Starts the server without registering. */
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

  /** Registers with the kubelet. @throws GrpcError with the kubelet's message */
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

  /** Sets the devices and reports them. */
  setDevices(devices: readonly Init<Device>[]): void {
    this.#devices = devices;
    for (const watcher of this.#watchers) watcher.tell();
  }

  /** Ends the ListAndWatch streams, with an error if given. */
  endWatches(error?: string): void {
    const thrown = error === undefined ? undefined : new GrpcError({ code: 'UNKNOWN', details: error });
    for (const watcher of [...this.#watchers]) watcher.end(thrown);
  }

  /** Stops like a killed process: the socket file stays. */
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
