import { GrpcError } from '@node-agent/grpc';
import type * as wire from '../generated/types.ts';
import { ControllerServiceCapabilityRPCType as Rpc } from '../generated/types.ts';
import { capabilityProblem } from '../rules/capabilities.ts';
import { availableCapacity, usedByKind } from '../rules/capacity.ts';
import { publishContextOf } from '../rules/node.ts';
import { pageOf } from '../rules/paging.ts';
import { attachProblem, mutableParametersProblem, planExpansion, planVolume, usesOf } from '../rules/volumes.ts';
import type { VolumeRecord } from '../state/records.ts';
import { accepted, type Call, check, requiredCapability } from './call.ts';
import { healthOf } from './health.ts';
import type { NodeService } from './node.ts';
import type { Parts } from './parts.ts';
import { capabilityOf, isTopologyOf, rangeOf, sourceOf, topologyOf, wireVolume } from './wire.ts';

/** Handlers of the Controller service that manage volumes. */
export class ControllerService {
  readonly #parts: Parts;
  readonly #node: Pick<NodeService, 'release'>;

  constructor(parts: Parts, node: Pick<NodeService, 'release'>) {
    this.#parts = parts;
    this.#node = node;
  }

  async createVolume(request: wire.CreateVolumeRequest, call: Call): Promise<object> {
    const { options, store, content, newId } = this.#parts;
    const { name, parameters, mutableParameters } = request;
    check(mutableParametersProblem(mutableParameters, options.acceptedMutableParameters));
    this.#checkTopology(request.accessibilityRequirements);
    const wanted = {
      ...{ name, parameters, mutableParameters },
      range: rangeOf(request.capacityRange),
      capabilities: request.volumeCapabilities.map((one) => accepted(capabilityOf(one))),
      source: accepted(sourceOf(request.volumeContentSource)),
    };
    const { isNew, volume: planned } = accepted(planVolume(store.state, wanted, options.limits));
    if (!isNew) return { volume: this.#wireVolume(planned as VolumeRecord) };
    const volume: VolumeRecord = { ...planned, id: newId(), sequence: store.nextSequence() };
    if (volume.source === undefined) await content.create(volume);
    else await content.createCopy(volume, volume.source);
    await call.middle();
    await store.putVolume(volume);
    return { volume: this.#wireVolume(volume) };
  }

  async deleteVolume({ volumeId }: wire.DeleteVolumeRequest, call: Call): Promise<object> {
    const { options, store, content } = this.#parts;
    const volume = store.volume(volumeId);
    if (volume === undefined) return {};
    const uses = usesOf(volume);
    if (uses !== '') {
      if (options.checksLifecycle) throw failed(`volume ${volumeId} is still ${uses}`);
      await this.#node.release(volume);
    }
    await content.remove('volumes', volumeId);
    await call.middle();
    await store.removeVolume(volumeId);
    return {};
  }

  async controllerPublishVolume(request: wire.ControllerPublishVolumeRequest): Promise<object> {
    const { options, store } = this.#parts;
    this.#requireAttach();
    const volume = this.#volume(request.volumeId);
    const capability = requiredCapability(request.volumeCapability);
    const { nodeId, attachLimit } = options;
    const attachedCount = store.state.volumes.filter(({ attachment }) => attachment !== undefined).length;
    const attach = { nodeId: request.nodeId, readOnly: request.readonly, capability };
    check(attachProblem(volume, attach, { nodeId, attachLimit, attachedCount }));
    await store.putVolume({ ...volume, attachment: { readOnly: request.readonly, capability } });
    return { publishContext: publishContextOf(volume.id, nodeId) };
  }

  async controllerUnpublishVolume(request: wire.ControllerUnpublishVolumeRequest): Promise<object> {
    const { options, store } = this.#parts;
    this.#requireAttach();
    const volume = store.volume(request.volumeId);
    if (volume === undefined) return {};
    if (request.nodeId !== '' && request.nodeId !== options.nodeId) return {};
    if (volume.staged.length > 0 || volume.published.length > 0) {
      throw failed(`volume ${volume.id} is still ${usesOf(volume)}`);
    }
    const { attachment: _, ...detached } = volume;
    await store.putVolume(detached);
    return {};
  }

  async validateVolumeCapabilities(request: wire.ValidateVolumeCapabilitiesRequest): Promise<object> {
    const volume = this.#volume(request.volumeId);
    const capabilities = request.volumeCapabilities.map((one) => accepted(capabilityOf(one)));
    const problem = capabilities.map((one) => capabilityProblem(volume, one)).find((text) => text !== undefined);
    if (problem !== undefined) return { message: problem };
    const { volumeContext, volumeCapabilities, parameters, mutableParameters } = request;
    return { confirmed: { volumeContext, volumeCapabilities, parameters, mutableParameters } };
  }

  async listVolumes({ maxEntries, startingToken }: wire.ListVolumesRequest): Promise<object> {
    const volumes = this.#parts.store.state.volumes.filter(({ isEphemeral }) => !isEphemeral);
    const { entries, nextToken } = accepted(pageOf(volumes, maxEntries, startingToken));
    return { nextToken, entries: await Promise.all(entries.map((volume) => this.#entry(volume))) };
  }

  async controllerGetVolume({ volumeId }: wire.ControllerGetVolumeRequest): Promise<object> {
    return this.#entry(this.#volume(volumeId));
  }

  async getCapacity({ parameters, accessibleTopology }: wire.GetCapacityRequest): Promise<object> {
    const { options, store } = this.#parts;
    const isHere = accessibleTopology === null || isTopologyOf(accessibleTopology, options.nodeId);
    const available = isHere ? availableCapacity(options.limits, usedByKind(store.state.volumes), parameters) : 0;
    const maximum = Math.min(available, options.limits.maxVolumeBytes);
    return {
      availableCapacity: available,
      maximumVolumeSize: { value: maximum },
      minimumVolumeSize: { value: 0 },
    };
  }

  async controllerExpandVolume(request: wire.ControllerExpandVolumeRequest): Promise<object> {
    const { options, store, content } = this.#parts;
    if (!options.expandsOnController) throw unimplemented('ControllerExpandVolume');
    const volume = this.#volume(request.volumeId);
    const sizeBytes = accepted(planExpansion(store.state, volume, rangeOf(request.capacityRange), options.limits));
    const grown = { ...volume, sizeBytes };
    await content.grow(grown);
    await store.putVolume(grown);
    return { capacityBytes: sizeBytes, nodeExpansionRequired: options.expandsOnNode && options.nodeExpandRequired };
  }

  async controllerModifyVolume(request: wire.ControllerModifyVolumeRequest): Promise<object> {
    const { options, store } = this.#parts;
    if (!options.modifies) throw unimplemented('ControllerModifyVolume');
    const volume = this.#volume(request.volumeId);
    check(mutableParametersProblem(request.mutableParameters, options.acceptedMutableParameters));
    const mutableParameters = { ...volume.mutableParameters, ...request.mutableParameters };
    await store.putVolume({ ...volume, mutableParameters });
    return {};
  }

  async controllerGetCapabilities(): Promise<object> {
    const { attaches, expandsOnController, modifies } = this.#parts.options;
    const types = [
      ...[Rpc.CREATE_DELETE_VOLUME, Rpc.LIST_VOLUMES, Rpc.GET_CAPACITY, Rpc.CREATE_DELETE_SNAPSHOT, Rpc.LIST_SNAPSHOTS],
      ...[Rpc.CLONE_VOLUME, Rpc.GET_VOLUME, Rpc.VOLUME_CONDITION, Rpc.SINGLE_NODE_MULTI_WRITER],
      ...(attaches ? [Rpc.PUBLISH_UNPUBLISH_VOLUME, Rpc.PUBLISH_READONLY, Rpc.LIST_VOLUMES_PUBLISHED_NODES] : []),
      ...(expandsOnController ? [Rpc.EXPAND_VOLUME] : []),
      ...(modifies ? [Rpc.MODIFY_VOLUME] : []),
    ];
    return { capabilities: types.map((type) => ({ rpc: { type } })) };
  }

  async #entry(volume: VolumeRecord): Promise<object> {
    const { nodeId } = this.#parts.options;
    const status = {
      publishedNodeIds: volume.attachment === undefined ? [] : [nodeId],
      volumeCondition: await healthOf(this.#parts, volume),
    };
    return { volume: this.#wireVolume(volume), status };
  }

  #wireVolume(volume: VolumeRecord): object {
    const { hasTopology, nodeId } = this.#parts.options;
    return wireVolume(volume, hasTopology ? topologyOf(nodeId) : undefined);
  }

  #volume(volumeId: string): VolumeRecord {
    const volume = this.#parts.store.volume(volumeId);
    if (volume !== undefined) return volume;
    throw new GrpcError({ code: 'NOT_FOUND', details: `volume ${JSON.stringify(volumeId)} does not exist` });
  }

  #requireAttach(): void {
    if (!this.#parts.options.attaches) throw unimplemented('ControllerPublishVolume and ControllerUnpublishVolume');
  }

  #checkTopology(requirement: wire.TopologyRequirement | null): void {
    const { hasTopology, nodeId } = this.#parts.options;
    const requisite = requirement?.requisite ?? [];
    if (!hasTopology || requisite.length === 0 || requisite.some((one) => isTopologyOf(one, nodeId))) return;
    throw new GrpcError({ code: 'RESOURCE_EXHAUSTED', details: 'volumes are accessible from this node only' });
  }
}

function failed(details: string): GrpcError {
  return new GrpcError({ code: 'FAILED_PRECONDITION', details });
}

function unimplemented(what: string): GrpcError {
  return new GrpcError({ code: 'UNIMPLEMENTED', details: `${what}: not offered with these flags` });
}
