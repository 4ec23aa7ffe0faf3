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

/** Dial timeout (upstream: `dial` of `plugin/v1beta1/client.go`). */
const DIAL_TIMEOUT_MS = 10_000;
/**
 * Timeout of GetDevicePluginOptions. Upstream waits for the options indefinitely, although the plugin waits for the
 * reply to its registration in the meantime.
 */
const OPTIONS_TIMEOUT_MS = 30_000;
/** Timeout of PreStartContainer (`KubeletPreStartContainerRPCTimeoutInSecs`). */
const PRE_START_TIMEOUT_MS = 30_000;

/** A device list as received. The list is decoded lazily, because most lists of a burst are never used. */
export interface SentList {
  /** Size on the wire; 0 if it was not received over the wire. */
  readonly bytes: number;
  /** Decodes the list. @throws Error if it is not a valid list */
  read(): readonly Device[];
}

const lists: StreamRpc<Empty, SentList> = {
  ...devicePluginRpcs.listAndWatch,
  response: {
    name: messages.ListAndWatchResponse.name,
    encode: () => {
      throw new Error('a ListAndWatch response can only be decoded, not encoded');
    },
    decode: (bytes) => ({ bytes: bytes.length, read: () => messages.ListAndWatchResponse.decode(bytes).devices }),
    create: (sent) => {
      const { devices } = messages.ListAndWatchResponse.create(sent as Init<ListAndWatchResponse>);
      return { bytes: 0, read: () => devices };
    },
  },
};

/**
 * A registered device plugin (`endpoint.go`, `plugin/v1beta1/client.go`). Allocations have no timeout, because a plugin
 * may take long to reset a device; a slow allocation delays only its own pod (W6).
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

  /** Connects and reads the plugin's options. @throws Error in upstream's wording */
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

  /** Streams the plugin's device lists until the plugin is gone or closed. @throws GrpcError */
  lists(signal: AbortSignal): AsyncGenerator<SentList, void, undefined> {
    return this.#client.stream(lists, {}, { signal });
  }

  /** Calls GetPreferredAllocation. @throws GrpcError, Error */
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

  /** Calls Allocate for one container. @throws GrpcError, Error */
  async allocate(ids: readonly string[], signal: AbortSignal): Promise<ContainerAllocateResponse> {
    this.#checkRunning();
    const request = { containerRequests: [{ devicesIds: ids }] };
    const { containerResponses } = await this.#client.unary(devicePluginRpcs.allocate, request, { signal });
    const [answer] = containerResponses;
    if (answer === undefined) throw new Error('no containers return in allocation response');
    return answer;
  }

  /** Calls PreStartContainer. @throws GrpcError, Error */
  async preStart(ids: readonly string[], signal: AbortSignal): Promise<void> {
    this.#checkRunning();
    const call = { timeoutMs: PRE_START_TIMEOUT_MS, signal };
    await this.#client.unary(devicePluginRpcs.preStartContainer, { devicesIds: ids }, call);
  }

  /** Closes the connection because the plugin is gone or was replaced; calls in progress fail. */
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
