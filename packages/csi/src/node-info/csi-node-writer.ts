import { Semaphore } from '@node-agent/async';
import type { CSINode } from '@node-agent/pod-spec/api';
import type { CsiDriverNodeInfo } from '../client/responses.ts';
import { isOwnedBy, newCsiNode, withDriver, withMigratedPlugins, withoutDriver } from './csi-node.ts';
import type { CsiNodeApi } from './csi-node-api.ts';
import {
  type NodeMetadata,
  type NodeMetadataPatch,
  patchForDriver,
  patchWithoutDriver,
  topologyCollision,
} from './node-metadata.ts';

/** A topology that does not fit the labels of the node. Retries of the report fail until the labels change. */
export class TopologyCollision extends Error {
  override readonly name = 'TopologyCollision';
}

/**
 * Single attempts to change CSINode and Node (`pkg/volume/csi/nodeinfomanager`). One write runs at a time, because all
 * writes change the same two objects. Each write reads the two objects first.
 */
export class CsiNodeWriter {
  readonly #api: CsiNodeApi;
  readonly #nodeName: string;
  readonly #turn = new Semaphore(1);
  /** UID of the Node as last read. */
  #nodeUid: string | undefined;

  constructor(api: CsiNodeApi, nodeName: string) {
    this.#api = api;
    this.#nodeName = nodeName;
  }

  /** Creates the CSINode, or completes the annotation of the existing one. */
  async initialise(signal: AbortSignal): Promise<void> {
    await this.#turn.run(async () => {
      await this.#readNode(signal);
      await this.#change(withMigratedPlugins, signal);
    }, signal);
  }

  /** Adds a driver's node ID and topology to the Node. @throws TopologyCollision */
  async addToNode(name: string, info: CsiDriverNodeInfo, signal: AbortSignal): Promise<void> {
    await this.#turn.run(async () => {
      const metadata = await this.#readNode(signal);
      const collision = topologyCollision(metadata, info);
      if (collision !== undefined) throw new TopologyCollision(collision);
      await this.#patch(metadata, patchForDriver(metadata, name, info), signal);
    }, signal);
  }

  async addToCsiNode(name: string, info: CsiDriverNodeInfo, signal: AbortSignal): Promise<void> {
    await this.#turn.run(() => this.#change((csiNode) => withDriver(csiNode, name, info), signal), signal);
  }

  async removeFromNode(name: string, signal: AbortSignal): Promise<void> {
    await this.#turn.run(async () => {
      const metadata = await this.#readNode(signal);
      await this.#patch(metadata, patchWithoutDriver(metadata, name), signal);
    }, signal);
  }

  async removeFromCsiNode(name: string, signal: AbortSignal): Promise<void> {
    await this.#turn.run(async () => {
      const csiNode = await this.#api.getCsiNode(signal);
      const changed = csiNode && withoutDriver(csiNode, name);
      if (changed !== undefined) await this.#api.updateCsiNode(changed, signal);
    }, signal);
  }

  async #readNode(signal: AbortSignal): Promise<NodeMetadata> {
    const { metadata } = await this.#api.getNode(signal);
    this.#nodeUid = metadata.uid;
    return metadata;
  }

  async #patch({ uid }: NodeMetadata, patch: NodeMetadataPatch | undefined, signal: AbortSignal): Promise<void> {
    if (patch === undefined) return;
    // The patch contains the Node's UID, so it is rejected if the Node was deleted and created again.
    await this.#api.patchNode({ metadata: { ...(uid !== undefined && { uid }), ...patch } }, signal);
  }

  /** Changes the CSINode; creates it if there is none. */
  async #change(change: (csiNode: CSINode) => CSINode | undefined, signal: AbortSignal): Promise<void> {
    const present = await this.#api.getCsiNode(signal);
    if (present === undefined) {
      const { uid = '' } = await this.#readNode(signal);
      const created = newCsiNode(this.#nodeName, uid);
      await this.#api.createCsiNode(change(created) ?? created, signal);
      return;
    }
    if (!(await this.#owns(present, signal))) {
      await this.#api.deleteCsiNode(signal);
      throw new Error(`CSINode ${this.#nodeName} belonged to another node of this name and was deleted`);
    }
    const changed = change(present);
    if (changed !== undefined) await this.#api.updateCsiNode(changed, signal);
  }

  async #owns(csiNode: CSINode, signal: AbortSignal): Promise<boolean> {
    if (isOwnedBy(csiNode, this.#nodeName, this.#nodeUid ?? '')) return true;
    // The Node may have been created again since it was read.
    const { uid = '' } = await this.#readNode(signal);
    return isOwnedBy(csiNode, this.#nodeName, uid);
  }
}
