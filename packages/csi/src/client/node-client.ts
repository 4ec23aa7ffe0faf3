import { type Clock, checkComponents, checkOptions } from '@node-agent/async';
import type {
  CsiAccessMode,
  CsiDriverClient,
  CsiExpandRequest,
  CsiNodeCapabilities,
  CsiPublishRequest,
  CsiStageRequest,
  CsiVolumeCapability,
  CsiVolumeStats,
} from '@node-agent/contracts';
import { GrpcError, type GrpcTransport, type Init, type UnaryRpc, unixSockets } from '@node-agent/grpc';
import { errorText, type Metrics, withDefaults } from '@node-agent/telemetry';
import { CsiError } from '../errors.ts';
import { nodeRpcs } from '../generated/services.ts';
import { isFineAccessMode, supportedAccessMode } from './access-mode.ts';
import { DriverConnection } from './driver-connection.ts';
import { isFinalCode } from './final-codes.ts';
import { callMetrics, type RecordCall } from './metrics.ts';
import { expandRequest, missingValue, publishRequest, stageRequest } from './requests.ts';
import { type CsiDriverNodeInfo, capabilitiesOf, nodeInfoOf, volumeStatsOf } from './responses.ts';
import { publicText } from './secrets.ts';

/** Dependencies of a {@link CsiNodeClient}. */
export interface CsiNodeClientComponents {
  readonly clock?: Clock;
  readonly metrics?: Metrics;
  /** Default: unix sockets. */
  readonly transport?: GrpcTransport;
}

/** Options of a {@link CsiNodeClient}. */
export interface CsiNodeClientOptions {
  /** Name of the driver, for errors and metrics. */
  readonly name: string;
  /** Absolute path of the driver's socket. */
  readonly socketPath: string;
  /** Deadline of each call. Default: 120,000 (`csiTimeout`). */
  readonly timeoutMs?: number;
}

/** Default deadline of a call in ms: `csiTimeout` (`pkg/volume/csi/csi_plugin.go`). */
const TIMEOUT_MS = 120_000;

interface CallOptions {
  readonly signal: AbortSignal;
  readonly secrets?: Readonly<Record<string, string>>;
  /** Arguments that must not be empty, by the names that upstream's messages use for them. */
  readonly required?: Readonly<Record<string, string>>;
  /** Whether the volume is the CSI form of an in-tree volume. Default: false. */
  readonly isMigrated?: boolean | undefined;
}

/**
 * Client of a CSI driver's node service (`pkg/volume/csi/csi_client.go`). Calls of one client run concurrently; the
 * caller makes sure that a volume has one call at a time. No error contains the value of a secret.
 */
export class CsiNodeClient implements CsiDriverClient, Disposable {
  readonly name: string;
  readonly #clock: Clock;
  readonly #connection: DriverConnection;
  readonly #record: RecordCall;
  readonly #timeoutMs: number;

  /** @throws OptionsError naming the invalid component or option */
  constructor(components: CsiNodeClientComponents, options: CsiNodeClientOptions) {
    checkOptions('CsiNodeClient', options, { name: 'string', socketPath: 'string', timeoutMs: 'notNegative?' });
    checkComponents('CsiNodeClient', components, {});
    const {
      clock,
      metrics,
      transport = unixSockets,
    } = withDefaults({
      ...{ clock: undefined, metrics: undefined },
      ...components,
    });
    this.name = options.name;
    this.#clock = clock;
    this.#timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
    this.#record = callMetrics(metrics, options.name);
    this.#connection = new DriverConnection({ clock, transport }, { socketPath: options.socketPath });
  }

  /** Closes the connection. Calls in progress fail with `CANCELLED`, which is not final. */
  close(): void {
    this.#connection.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /**
   * Returns the driver's capabilities. The capabilities are cached as long as the connection lasts, so a restarted
   * driver is queried again.
   */
  async capabilities(signal: AbortSignal): Promise<CsiNodeCapabilities> {
    const known = this.#connected().capabilities;
    if (known !== undefined) return known;
    const { response, connection } = await this.#call(nodeRpcs.nodeGetCapabilities, {}, { signal });
    connection.capabilities = capabilitiesOf(response.capabilities);
    return connection.capabilities;
  }

  /**
   * Returns the node ID that the driver reports, the node's topology, and the maximum number of volumes on the node.
   */
  async nodeInfo(signal: AbortSignal): Promise<CsiDriverNodeInfo> {
    const { response } = await this.#call(nodeRpcs.nodeGetInfo, {}, { signal });
    return this.#usable(nodeRpcs.nodeGetInfo, nodeInfoOf(response));
  }

  async stageVolume(request: CsiStageRequest, signal: AbortSignal): Promise<void> {
    const { volumeId, stagingTargetPath, secrets, capability, isMigrated } = request;
    const required = { 'volume id': volumeId, 'staging target path': stagingTargetPath };
    const mode = await this.#accessMode(capability, signal);
    await this.#call(nodeRpcs.nodeStageVolume, stageRequest(request, mode), { signal, secrets, required, isMigrated });
  }

  async unstageVolume(volumeId: string, stagingTargetPath: string, signal: AbortSignal): Promise<void> {
    const required = { 'volume id': volumeId, 'staging target path': stagingTargetPath };
    await this.#call(nodeRpcs.nodeUnstageVolume, { volumeId, stagingTargetPath }, { signal, required });
  }

  async publishVolume(request: CsiPublishRequest, signal: AbortSignal): Promise<void> {
    const { volumeId, targetPath, secrets, capability, isMigrated } = request;
    const required = { 'volume id': volumeId, 'target path': targetPath };
    const mode = await this.#accessMode(capability, signal);
    await this.#call(nodeRpcs.nodePublishVolume, publishRequest(request, mode), {
      signal,
      secrets,
      required,
      isMigrated,
    });
  }

  async unpublishVolume(volumeId: string, targetPath: string, signal: AbortSignal): Promise<void> {
    const required = { 'volume id': volumeId, 'target path': targetPath };
    await this.#call(nodeRpcs.nodeUnpublishVolume, { volumeId, targetPath }, { signal, required });
  }

  /** Expands a volume and returns its capacity; 0 if the driver reports none, or a negative one. */
  async expandVolume(request: CsiExpandRequest, signal: AbortSignal): Promise<bigint> {
    const { volumeId, volumePath, requiredBytes, secrets, capability, isMigrated } = request;
    const rpc = nodeRpcs.nodeExpandVolume;
    if (requiredBytes < 0n) throw this.#invalid(rpc, 'size can not be less than 0');
    const required = { 'volume id': volumeId, 'volume path': volumePath };
    const mode = await this.#accessMode(capability, signal);
    const options = { signal, secrets, required, isMigrated };
    const { response } = await this.#call(rpc, expandRequest(request, mode), options);
    return response.capacityBytes < 0n ? 0n : response.capacityBytes;
  }

  async volumeStats(
    volumeId: string,
    volumePath: string,
    stagingTargetPath: string | undefined,
    signal: AbortSignal,
  ): Promise<CsiVolumeStats> {
    const required = { 'volume id': volumeId, 'target path': volumePath };
    const request = { volumeId, volumePath, stagingTargetPath };
    const { response } = await this.#call(nodeRpcs.nodeGetVolumeStats, request, { signal, required });
    return this.#usable(nodeRpcs.nodeGetVolumeStats, volumeStatsOf(response, await this.capabilities(signal)));
  }

  async #accessMode({ accessMode }: CsiVolumeCapability, signal: AbortSignal): Promise<CsiAccessMode> {
    if (!isFineAccessMode(accessMode)) return accessMode;
    return supportedAccessMode(accessMode, await this.capabilities(signal));
  }

  #connected(): ReturnType<DriverConnection['current']> {
    try {
      return this.#connection.current();
    } catch (error) {
      throw this.#failure('connect', GrpcError.from(error), {});
    }
  }

  async #call<Req, Res>(
    rpc: UnaryRpc<Req, Res>,
    request: Init<Req>,
    { signal, secrets = {}, required = {}, isMigrated = false }: CallOptions,
  ): Promise<{ readonly response: Res; readonly connection: ReturnType<DriverConnection['current']> }> {
    signal.throwIfAborted();
    const missing = missingValue(required);
    if (missing !== undefined) throw this.#invalid(rpc, missing);
    const connection = this.#connected();
    const startedMs = this.#clock.monotonic();
    const record = (failure?: GrpcError): void =>
      this.#record(rpc.path, failure?.code, (this.#clock.monotonic() - startedMs) / 1000, isMigrated);
    try {
      const undecoded = await this.#connection.call(connection, rpc, request, { timeoutMs: this.#timeoutMs, signal });
      record();
      return { response: this.#decoded(rpc, undecoded), connection };
    } catch (error) {
      if (CsiError.is(error)) throw error;
      const failure = GrpcError.from(error);
      record(failure);
      signal.throwIfAborted();
      throw this.#failure(rpc.name, failure, secrets);
    }
  }

  /**
   * Decodes a response. The driver may have done its work although its response is not readable, so the failure is not
   * final.
   */
  #decoded<Res>(rpc: { readonly name: string }, decode: () => Res): Res {
    try {
      return decode();
    } catch (cause) {
      throw this.#unusable(rpc, errorText(cause), cause);
    }
  }

  #usable<T>(rpc: { readonly name: string }, value: T | string): T {
    if (typeof value === 'string') throw this.#unusable(rpc, value);
    return value;
  }

  #unusable({ name: call }: { readonly name: string }, reason: string, cause?: unknown): CsiError {
    const driver = this.name;
    return new CsiError(`response of driver ${driver} to ${call} is not valid: ${reason}`, {
      ...{ code: 'InvalidResponse', isFinal: false, driver, call, cause },
    });
  }

  #invalid({ name: call }: { readonly name: string }, problem: string): CsiError {
    return new CsiError(problem, { code: 'InvalidRequest', isFinal: true, driver: this.name, call });
  }

  #failure(call: string, { code, details }: GrpcError, secrets: Readonly<Record<string, string>>): CsiError {
    // The original error is not the cause: its text may contain a secret.
    const { message } = new GrpcError({ code, details: publicText(details, secrets) });
    return new CsiError(message, { code, isFinal: isFinalCode(code), driver: this.name, call });
  }
}
