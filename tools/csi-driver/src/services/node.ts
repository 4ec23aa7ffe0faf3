import { realpath, statfs } from 'node:fs/promises';
import { GrpcError } from '@node-agent/grpc';
import type * as wire from '../generated/types.ts';
import { NodeServiceCapabilityRPCType as Rpc, VolumeUsageUnit } from '../generated/types.ts';
import { capabilityProblem } from '../rules/capabilities.ts';
import {
  isPlaceOf,
  type NodeRequest,
  type NodeRules,
  publishProblem,
  stageProblem,
  unknownVolumeProblem,
  unstageProblem,
} from '../rules/node.ts';
import type { VolumeRecord } from '../state/records.ts';
import { loopDeviceOf } from '../storage/loop-devices.ts';
import { pathExists } from '../storage/mounts.ts';
import { accepted, type Call, check, requiredCapability } from './call.ts';
import { healthOf } from './health.ts';
import { newInlineVolume } from './inline-volume.ts';
import type { Parts } from './parts.ts';
import { capabilityOf, topologyOf } from './wire.ts';

const NOWHERE: Call = { middle: async () => {} };

/** Handlers of the Node service. */
export class NodeService {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async nodeStageVolume(request: wire.NodeStageVolumeRequest, call: Call): Promise<object> {
    const { store, mounts } = this.#parts;
    this.#requireStage();
    const volume = this.#volume(request.volumeId);
    const { stagingTargetPath: path, publishContext } = request;
    const capability = requiredCapability(request.volumeCapability);
    const place = { path, stagingPath: path, readOnly: false, capability, publishContext };
    check(stageProblem(volume, place, this.#rules));
    const staged = { ...volume, staged: [{ path, capability }] };
    await store.putVolume(staged);
    const isFormatted = await mounts.stage(volume, path, capability, call.middle);
    await store.putVolume({ ...staged, isFormatted, mustGrow: false });
    return {};
  }

  async nodeUnstageVolume(
    { volumeId, stagingTargetPath: path }: wire.NodeUnstageVolumeRequest,
    call: Call,
  ): Promise<object> {
    const { store, mounts } = this.#parts;
    this.#requireStage();
    const volume = store.volume(volumeId);
    if (volume === undefined) {
      // Nothing is staged. An existing staging directory is no error, because the caller owns it.
      return {};
    }
    if (!volume.staged.some((staging) => staging.path === path)) return {};
    check(unstageProblem(volume));
    await mounts.unstage(volume, path, call.middle);
    await store.putVolume({ ...volume, staged: volume.staged.filter((staging) => staging.path !== path) });
    return {};
  }

  async nodePublishVolume(request: wire.NodePublishVolumeRequest, call: Call): Promise<object> {
    const { store, mounts, content } = this.#parts;
    const capability = requiredCapability(request.volumeCapability);
    const volume = store.volume(request.volumeId) ?? (await this.#createInline(request));
    const { targetPath: path, stagingTargetPath: stagingPath, readonly: readOnly, publishContext } = request;
    const place: NodeRequest = { path, stagingPath, readOnly, capability, publishContext };
    check(publishProblem(volume, place, this.#rules));
    const others = volume.published.filter((one) => one.path !== path);
    let published: VolumeRecord = { ...volume, published: [...others, { path, readOnly, capability }] };
    await store.putVolume(published);
    let source = this.#rules.stages && !volume.isEphemeral ? stagingPath : '';
    if (source === '' && volume.backing === 'file-system') {
      source = content.ownMountPoint(volume);
      const isFormatted = await mounts.stage(volume, source, capability, call.middle);
      published = { ...published, isFormatted, mustGrow: false };
      await store.putVolume(published);
    }
    await mounts.publish(volume, path, { stagingPath: source, readOnly }, call.middle);
    return {};
  }

  async nodeUnpublishVolume(
    { volumeId, targetPath: path }: wire.NodeUnpublishVolumeRequest,
    call: Call,
  ): Promise<object> {
    const { store, mounts } = this.#parts;
    const volume = store.volume(volumeId);
    if (volume === undefined || !volume.published.some((one) => one.path === path)) {
      check(unknownVolumeProblem(volumeId, path, await pathExists(path)));
      return {};
    }
    await mounts.unpublish(path, call.middle);
    const left = { ...volume, published: volume.published.filter((one) => one.path !== path) };
    await this.#afterUnpublish(left);
    return {};
  }

  async nodeGetVolumeStats({ volumeId, volumePath }: wire.NodeGetVolumeStatsRequest): Promise<object> {
    const volume = this.#volume(volumeId);
    if (!isPlaceOf(volume, volumePath)) throw notFound(`volume ${volumeId} is not at ${volumePath}`);
    const volumeCondition = await healthOf(this.#parts, volume, volume.backing === 'block' ? undefined : volumePath);
    if (volume.backing === 'block') {
      return { usage: [{ unit: VolumeUsageUnit.BYTES, total: volume.sizeBytes }], volumeCondition };
    }
    const { bsize, blocks, bfree, bavail, files, ffree } = await statfs(volumePath);
    const [total, available, used] = [blocks * bsize, bavail * bsize, (blocks - bfree) * bsize];
    const usage = [
      { unit: VolumeUsageUnit.BYTES, total, available, used },
      { unit: VolumeUsageUnit.INODES, total: files, available: ffree, used: files - ffree },
    ];
    return { usage, volumeCondition };
  }

  async nodeExpandVolume(request: wire.NodeExpandVolumeRequest, call: Call): Promise<object> {
    const { options, store, mounts, content } = this.#parts;
    const volume = this.#volume(request.volumeId);
    if (!options.expandsOnNode) {
      throw new GrpcError({ code: 'UNIMPLEMENTED', details: 'NodeExpandVolume: not offered with these flags' });
    }
    if (!isPlaceOf(volume, request.volumePath) && !(await this.#isDeviceOf(volume, request.volumePath))) {
      throw notFound(`volume ${volume.id} is not at ${request.volumePath}`);
    }
    if (request.volumeCapability !== null) {
      const unfit = capabilityProblem(volume, accepted(capabilityOf(request.volumeCapability)));
      if (unfit !== undefined) throw new GrpcError({ code: 'INVALID_ARGUMENT', details: unfit });
    }
    const requiredBytes = request.capacityRange?.requiredBytes ?? 0;
    if (requiredBytes > options.limits.maxVolumeBytes) {
      const details = `required_bytes ${requiredBytes} is above the maximum of ${options.limits.maxVolumeBytes}`;
      throw new GrpcError({ code: 'OUT_OF_RANGE', details });
    }
    const grown = { ...volume, sizeBytes: Math.max(volume.sizeBytes, requiredBytes) };
    await call.middle();
    await mounts.grow(grown, volume.staged[0]?.path ?? content.ownMountPoint(volume));
    await store.putVolume(grown);
    return { capacityBytes: grown.sizeBytes };
  }

  async nodeGetCapabilities(): Promise<object> {
    const { stages, expandsOnNode, setsMountGroup } = this.#parts.options;
    const types = [
      ...(stages ? [Rpc.STAGE_UNSTAGE_VOLUME] : []),
      ...[Rpc.GET_VOLUME_STATS, Rpc.VOLUME_CONDITION, Rpc.SINGLE_NODE_MULTI_WRITER],
      ...(expandsOnNode ? [Rpc.EXPAND_VOLUME] : []),
      ...(setsMountGroup ? [Rpc.VOLUME_MOUNT_GROUP] : []),
    ];
    return { capabilities: types.map((type) => ({ rpc: { type } })) };
  }

  async nodeGetInfo(): Promise<object> {
    const { options, gate } = this.#parts;
    const { maxVolumesPerNode = options.maxVolumesPerNode } = await gate.control();
    return {
      nodeId: options.nodeId,
      maxVolumesPerNode,
      ...(options.hasTopology && { accessibleTopology: topologyOf(options.nodeId) }),
    };
  }

  /** Unpublishes and unstages a volume everywhere, before it is deleted although it is used. */
  async release(volume: VolumeRecord): Promise<void> {
    const { mounts, content, store } = this.#parts;
    for (const { path } of volume.published) await mounts.unpublish(path, NOWHERE.middle);
    for (const { path } of volume.staged) await mounts.unstage(volume, path, NOWHERE.middle);
    if (volume.backing !== 'directory') await mounts.unstage(volume, content.ownMountPoint(volume), NOWHERE.middle);
    await store.putVolume({ ...volume, published: [], staged: [] });
  }

  /**
   * Saves an unpublished volume. After the last unpublish, an inline volume is deleted, and a volume that was not
   * staged is unmounted.
   */
  async #afterUnpublish(volume: VolumeRecord): Promise<void> {
    const { store, mounts, content } = this.#parts;
    const isLast = volume.published.length === 0;
    const isStaged = volume.staged.length > 0;
    if (isLast && !isStaged && volume.backing !== 'directory') {
      await mounts.unstage(volume, content.ownMountPoint(volume), NOWHERE.middle);
    }
    if (!isLast || !volume.isEphemeral) {
      await store.putVolume(volume);
      return;
    }
    await content.remove('volumes', volume.id);
    await store.removeVolume(volume.id);
  }

  async #createInline(request: wire.NodePublishVolumeRequest): Promise<VolumeRecord> {
    const { store, content, options } = this.#parts;
    const planned = accepted(newInlineVolume(request, requiredCapability(request.volumeCapability), options.limits));
    const volume = { ...planned, sequence: store.nextSequence() };
    await store.putVolume(volume);
    await content.create(volume);
    return volume;
  }

  #volume(volumeId: string): VolumeRecord {
    const volume = this.#parts.store.volume(volumeId);
    if (volume !== undefined) return volume;
    throw notFound(`volume ${JSON.stringify(volumeId)} does not exist`);
  }

  /** Returns whether a path is the device of a block volume, which the kubelet may name instead of a published path. */
  async #isDeviceOf(volume: VolumeRecord, path: string): Promise<boolean> {
    if (volume.backing !== 'block') return false;
    const device = await loopDeviceOf(this.#parts.content.volumePath(volume));
    return device !== undefined && (await realpath(path).catch(() => path)) === device;
  }

  #requireStage(): void {
    if (this.#parts.options.stages) return;
    throw new GrpcError({ code: 'UNIMPLEMENTED', details: 'volumes are not staged with these flags' });
  }

  get #rules(): NodeRules {
    const { nodeId, attaches, stages } = this.#parts.options;
    return { nodeId, attaches, stages };
  }
}

function notFound(details: string): GrpcError {
  return new GrpcError({ code: 'NOT_FOUND', details });
}
