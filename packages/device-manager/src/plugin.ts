import { GrpcError, type GrpcTransport } from '@node-agent/grpc';
import { devicePluginRpcs } from './generated/services.ts';
import type { ContainerAllocateResponse, Device, DevicePluginOptions } from './generated/types.ts';

/** `dial` of `plugin/v1beta1/client.go`. */
const DIAL_TIMEOUT_MS = 10_000;
/** Upstream waits as long as the plugin does, which is itself waiting for the answer to its registration. */
const OPTIONS_TIMEOUT_MS = 30_000;
/** `KubeletPreStartContainerRPCTimeoutInSecs`. */
const PRE_START_TIMEOUT_MS = 30_000;

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
  async *devices(signal: AbortSignal): AsyncGenerator<readonly Device[], void, undefined> {
    for await (const { devices } of this.#client.stream(devicePluginRpcs.listAndWatch, {}, { signal })) yield devices;
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
