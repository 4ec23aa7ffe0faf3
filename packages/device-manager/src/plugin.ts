import { GrpcError, type GrpcTransport, type Init, type StreamRpc } from '@node-agent/grpc';
import { messages } from './generated/codec.ts';
import { devicePluginRpcs } from './generated/services.ts';
import type {
  ContainerAllocateResponse,
  Device,
  DevicePluginOptions,
  Empty,
  ListAndWatchResponse,
} from './generated/types.ts';

/** `dial` of `plugin/v1beta1/client.go`. */
const DIAL_TIMEOUT_MS = 10_000;
/** Upstream waits as long as the plugin does, which is itself waiting for the answer to its registration. */
const OPTIONS_TIMEOUT_MS = 30_000;
/** `KubeletPreStartContainerRPCTimeoutInSecs`. */
const PRE_START_TIMEOUT_MS = 30_000;

/** A list of all devices as it came: most that a plugin sends at once are never read. */
export interface SentList {
  /** Over the wire; 0 where it came without one. */
  readonly bytes: number;
  /** @throws Error where it is no list */
  read(): readonly Device[];
}

const lists: StreamRpc<Empty, SentList> = {
  ...devicePluginRpcs.listAndWatch,
  response: {
    name: messages.ListAndWatchResponse.name,
    encode: () => {
      throw new Error('a list that was sent is not sent on');
    },
    decode: (bytes) => ({ bytes: bytes.length, read: () => messages.ListAndWatchResponse.decode(bytes).devices }),
    create: (sent) => {
      const { devices } = messages.ListAndWatchResponse.create(sent as Init<ListAndWatchResponse>);
      return { bytes: 0, read: () => devices };
    },
  },
};

/**
 * A device plugin that has made itself known (`endpoint.go`, `plugin/v1beta1/client.go`). Allocations have no deadline, as a plugin may
 * reset a device for a long time: they hold up their own pod alone (W6).
 */
export class Plugin {
  readonly resource: string;
  readonly socketPath: string;
  readonly #client: ReturnType<GrpcTransport['client']>;
  #options: DevicePluginOptions | undefined;
  #stopped = false;

  constructor(client: ReturnType<GrpcTransport['client']>, resource: string, socketPath: string) {
    this.resource = resource;
    this.socketPath = socketPath;
    this.#client = client;
  }

  get wantsPreStart(): boolean {
    return this.#options?.preStartRequired ?? false;
  }

  get hasPreferences(): boolean {
    return this.#options?.getPreferredAllocationAvailable ?? false;
  }

  /** @throws Error in upstream's words */
  async connect(signal: AbortSignal): Promise<void> {
    try {
      await this.#client.connect(DIAL_TIMEOUT_MS, signal);
    } catch (cause) {
      throw new Error(`failed to dial device plugin: ${GrpcError.from(cause).details}`, { cause });
    }
    try {
      const call = { timeoutMs: OPTIONS_TIMEOUT_MS, signal };
      this.#options = await this.#client.unary(devicePluginRpcs.getDevicePluginOptions, {}, call);
    } catch (cause) {
      throw new Error(`failed to get device plugin options: ${GrpcError.from(cause).message}`, { cause });
    }
  }

  /** Each list of all devices, until the plugin is gone or closed. @throws GrpcError */
  lists(signal: AbortSignal): AsyncGenerator<SentList, void, undefined> {
    return this.#client.stream(lists, {}, { signal });
  }

  /** @throws GrpcError, Error */
  async preferred(
    available: readonly string[],
    mustInclude: readonly string[],
    size: number,
    signal: AbortSignal,
  ): Promise<readonly string[]> {
    this.#checkRunning();
    const request = {
      containerRequests: [{ availableDeviceIDs: available, mustIncludeDeviceIDs: mustInclude, allocationSize: size }],
    };
    const answer = await this.#client.unary(devicePluginRpcs.getPreferredAllocation, request, { signal });
    return answer.containerResponses[0]?.deviceIDs ?? [];
  }

  /** @throws GrpcError, Error */
  async allocate(ids: readonly string[], signal: AbortSignal): Promise<ContainerAllocateResponse> {
    this.#checkRunning();
    const request = { containerRequests: [{ devicesIds: ids }] };
    const { containerResponses } = await this.#client.unary(devicePluginRpcs.allocate, request, { signal });
    const [answer] = containerResponses;
    if (answer === undefined) throw new Error('no containers return in allocation response');
    return answer;
  }

  /** @throws GrpcError, Error */
  async preStart(ids: readonly string[], signal: AbortSignal): Promise<void> {
    this.#checkRunning();
    const call = { timeoutMs: PRE_START_TIMEOUT_MS, signal };
    await this.#client.unary(devicePluginRpcs.preStartContainer, { devicesIds: ids }, call);
  }

  /** It is gone, or another one has taken its place: what is under way with it fails. */
  close(): void {
    this.#stopped = true;
    this.#client.close();
  }

  #checkRunning(): void {
    if (this.#stopped) throw stoppedError(this.resource);
  }
}

function stoppedError(resource: string): Error {
  return new Error(`endpoint ${resource} has been stopped`);
}
