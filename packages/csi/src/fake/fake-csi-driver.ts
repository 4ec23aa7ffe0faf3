import { type Clock, sleep, systemClock } from '@node-agent/async';
import type { CsiNodeCapabilities } from '@node-agent/contracts';
import {
  type GrpcCode,
  GrpcError,
  type GrpcTransport,
  type Init,
  type Service,
  service,
  unixSockets,
} from '@node-agent/grpc';
import { identityRpcs, nodeRpcs } from '../generated/services.ts';
import { type NodeGetVolumeStatsResponse, NodeServiceCapabilityRPCType, VolumeUsageUnit } from '../generated/types.ts';
import { type DriverVolumes, FakeVolumes } from './fake-volumes.ts';
import { rawResponse, withRawResponses } from './raw-response.ts';

/** Name of a call of the node service. */
export type CsiNodeCall =
  | 'NodeStageVolume'
  | 'NodeUnstageVolume'
  | 'NodePublishVolume'
  | 'NodeUnpublishVolume'
  | 'NodeGetVolumeStats'
  | 'NodeExpandVolume'
  | 'NodeGetCapabilities'
  | 'NodeGetInfo';

/** Fault of a fake driver in one call. */
export interface CsiFault {
  /** Delay in ms before the call is handled, by the driver's clock. */
  readonly delayMs?: number;
  /** Whether the driver does the work of the call although the call then fails. */
  readonly acts?: boolean;
  /** Whether the driver sends no response until the caller gives up. */
  readonly hangs?: boolean;
  /** gRPC code with which the call fails. */
  readonly code?: GrpcCode;
  /** Details of the failure, for the error message. */
  readonly details?: string;
  /** Bytes that the driver sends instead of a valid response. */
  readonly garbage?: Uint8Array;
  /** Whether the call stops the driver like a killed process. */
  readonly dies?: boolean;
}

/** Behaviour of a {@link FakeCsiDriver}. */
export interface FakeCsiDriverOptions {
  /** Default: `fake.csi.example.com`. */
  readonly name?: string;
  readonly socketPath: string;
  /** Default: unix sockets. */
  readonly transport?: GrpcTransport;
  /** Clock of delays. Default: the system clock. */
  readonly clock?: Clock;
  /** Default: all but `volumeMountGroup` and `singleNodeMultiWriter`. */
  readonly capabilities?: Partial<CsiNodeCapabilities>;
  /** Default: `fake-node`. */
  readonly nodeId?: string;
  readonly maxVolumesPerNode?: bigint;
  readonly topology?: Readonly<Record<string, string>>;
  /** Response of NodeGetVolumeStats. Default: 600 of 1000 bytes and 6 of 10 inodes used. */
  readonly stats?: Init<NodeGetVolumeStatsResponse>;
  /**
   * Runs around each call that has no fault, for example to mount the volume or to delay the call; `act` does the work of
   * the call. Default: only `act` is called.
   */
  readonly around?: (received: ReceivedCall, act: () => object, signal: AbortSignal) => Promise<object>;
  /** Additional services on the driver's socket, for example its registration. */
  readonly services?: readonly Service[];
}

/** A call that a {@link FakeCsiDriver} received. */
export interface ReceivedCall {
  readonly call: CsiNodeCall;
  /** The request, with all fields. The request contains secrets. */
  readonly request: Readonly<Record<string, unknown>>;
}

const USAGE = [
  { unit: VolumeUsageUnit.BYTES, total: 1000n, used: 600n, available: 400n },
  { unit: VolumeUsageUnit.INODES, total: 10n, used: 6n, available: 4n },
];

const CAPABILITIES: Readonly<Record<keyof CsiNodeCapabilities, number>> = {
  stageUnstage: NodeServiceCapabilityRPCType.STAGE_UNSTAGE_VOLUME,
  volumeStats: NodeServiceCapabilityRPCType.GET_VOLUME_STATS,
  expandVolume: NodeServiceCapabilityRPCType.EXPAND_VOLUME,
  volumeCondition: NodeServiceCapabilityRPCType.VOLUME_CONDITION,
  singleNodeMultiWriter: NodeServiceCapabilityRPCType.SINGLE_NODE_MULTI_WRITER,
  volumeMountGroup: NodeServiceCapabilityRPCType.VOLUME_MOUNT_GROUP,
};

/**
 * A CSI driver for tests: a real gRPC server, without real volumes. The driver checks its caller by the specification:
 * requests that break a rule fail and are recorded in `violations`. A test sets the faults of each kind of call.
 */
export class FakeCsiDriver {
  readonly name: string;
  readonly socketPath: string;
  /** Calls received, in order. */
  readonly calls: ReceivedCall[] = [];
  /** The node's volumes as the driver sees them. A test may change these volumes. */
  readonly volumes: DriverVolumes;
  readonly #volumes: FakeVolumes;
  /** Capabilities that the driver reports. A test replaces them to change the driver's version. */
  capabilities: CsiNodeCapabilities;
  maxVolumesPerNode: bigint;
  readonly #options: FakeCsiDriverOptions;
  readonly #faults = new Map<CsiNodeCall, CsiFault[]>();
  readonly #lasting = new Map<CsiNodeCall, CsiFault>();
  #server: ReturnType<GrpcTransport['server']> | undefined;

  constructor(options: FakeCsiDriverOptions) {
    this.#options = options;
    this.name = options.name ?? 'fake.csi.example.com';
    this.socketPath = options.socketPath;
    const usual = { stageUnstage: true, volumeStats: true, expandVolume: true, volumeCondition: true };
    const unusual = { singleNodeMultiWriter: false, volumeMountGroup: false };
    this.capabilities = { ...usual, ...unusual, ...options.capabilities };
    this.maxVolumesPerNode = options.maxVolumesPerNode ?? 0n;
    this.#volumes = new FakeVolumes(() => this.capabilities);
    this.volumes = this.#volumes;
  }

  /** Requests that broke a rule of the specification. */
  get violations(): readonly string[] {
    return this.#volumes.violations;
  }

  /** Starts the server. After {@link stop}, the server may be started again; volumes are kept, as on a real node. */
  async start(): Promise<void> {
    const { transport = unixSockets, socketPath, services = [] } = this.#options;
    const server = transport.server({ socketPath, services: [...services, this.#identity(), this.#node()] });
    await server.start();
    this.#server = server;
  }

  /** Stops like a killed process: calls in progress fail and the socket file stays. */
  stop(): void {
    this.#server?.close();
    this.#server = undefined;
  }

  /** Sets the faults of the next calls, one each, in order. */
  next(call: CsiNodeCall, ...faults: readonly CsiFault[]): void {
    this.#faults.set(call, [...(this.#faults.get(call) ?? []), ...faults]);
  }

  /** Sets the fault of all calls of a kind that have no fault from {@link next}; `undefined` removes it. */
  always(call: CsiNodeCall, fault: CsiFault | undefined): void {
    if (fault === undefined) this.#lasting.delete(call);
    else this.#lasting.set(call, fault);
  }

  /** Returns how many calls of one kind were received. */
  count(call: CsiNodeCall): number {
    return this.calls.filter((one) => one.call === call).length;
  }

  #identity(): Service {
    return service(identityRpcs, {
      getPluginInfo: async () => ({ name: this.name, vendorVersion: '1.0.0' }),
      getPluginCapabilities: async () => ({ capabilities: [] }),
      probe: async () => ({ ready: { value: true } }),
    });
  }

  #node(): Service {
    const volumes = this.#volumes;
    return service(withRawResponses(nodeRpcs), {
      nodeStageVolume: this.#handler('NodeStageVolume', (request) => volumes.stage(request)),
      nodeUnstageVolume: this.#handler('NodeUnstageVolume', (request) => volumes.unstage(request)),
      nodePublishVolume: this.#handler('NodePublishVolume', (request) => volumes.publish(request)),
      nodeUnpublishVolume: this.#handler('NodeUnpublishVolume', (request) => volumes.unpublish(request)),
      nodeExpandVolume: this.#handler('NodeExpandVolume', (request) => volumes.expand(request)),
      nodeGetVolumeStats: this.#handler('NodeGetVolumeStats', (request) => {
        volumes.checkStats(request);
        return this.#options.stats ?? { usage: USAGE, volumeCondition: { abnormal: false, message: 'healthy' } };
      }),
      nodeGetCapabilities: this.#handler('NodeGetCapabilities', () => ({ capabilities: this.#rpcCapabilities() })),
      nodeGetInfo: this.#handler('NodeGetInfo', () => ({
        nodeId: this.#options.nodeId ?? 'fake-node',
        maxVolumesPerNode: this.maxVolumesPerNode,
        ...(this.#options.topology && { accessibleTopology: { segments: this.#options.topology } }),
      })),
    });
  }

  #rpcCapabilities(): readonly { readonly rpc: { readonly type: number } }[] {
    const names = Object.keys(CAPABILITIES) as (keyof CsiNodeCapabilities)[];
    return names.filter((name) => this.capabilities[name]).map((name) => ({ rpc: { type: CAPABILITIES[name] } }));
  }

  #handler<Req extends object, Res>(
    call: CsiNodeCall,
    act: (request: Req) => Res,
  ): (request: Req, signal: AbortSignal) => Promise<Res> {
    return async (request, signal) => {
      this.calls.push({ call, request: request as Readonly<Record<string, unknown>> });
      const fault = this.#faults.get(call)?.shift() ?? this.#lasting.get(call);
      const { clock = systemClock, around } = this.#options;
      if (fault === undefined) {
        if (around === undefined) return act(request);
        const received = { call, request: request as Readonly<Record<string, unknown>> };
        return (await around(received, () => act(request) as object, signal)) as Res;
      }
      if (fault.delayMs !== undefined) await sleep(clock, fault.delayMs, signal);
      if (fault.acts) act(request);
      if (fault.hangs) await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      if (fault.dies) this.stop();
      if (fault.garbage !== undefined) return rawResponse(fault.garbage) as Res;
      if (fault.code !== undefined)
        throw new GrpcError({ code: fault.code, details: fault.details ?? 'fault of a test' });
      return act(request);
    };
  }
}
