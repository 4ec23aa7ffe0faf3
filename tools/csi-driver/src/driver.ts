import { randomUUID } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { GrpcServer } from '@node-agent/grpc';
import type { Logger } from '@node-agent/telemetry';
import { CallLog } from './call-log.ts';
import { Dispatcher } from './dispatcher.ts';
import { FaultGate } from './faults/fault-gate.ts';
import { controllerRpcs, groupControllerRpcs, identityRpcs, nodeRpcs } from './generated/services.ts';
import type { DriverOptions } from './options/driver-options.ts';
import { ControllerService } from './services/controller.ts';
import { GroupSnapshotService } from './services/group-snapshots.ts';
import { identityHandlers } from './services/identity.ts';
import { NodeService } from './services/node.ts';
import { SnapshotService } from './services/snapshots.ts';
import { StateStore } from './state/state-store.ts';
import { ContentStore } from './storage/content.ts';
import { VolumeMounts } from './storage/volume-mounts.ts';

/** A CSI driver whose volumes are directories and loop devices of this machine. */
export class CsiDriver {
  readonly #options: DriverOptions;
  readonly #logger: Logger;
  #server: GrpcServer | undefined;

  constructor(options: DriverOptions, logger: Logger) {
    this.#options = options;
    this.#logger = logger;
  }

  /** Reads the state and serves. @throws Error that names the file or the socket */
  async start(): Promise<void> {
    const options = this.#options;
    const store = new StateStore(options.stateDir);
    await store.load();
    const content = new ContentStore(options.stateDir);
    for (const shelf of ['volumes', 'snapshots'] as const) {
      const removed = await content.removeUnknown(shelf, new Set(store.state[shelf].map(({ id }) => id)));
      if (removed.length > 0) this.#logger.info({ [shelf]: removed.length }, 'Removed content without a record');
    }
    await mkdir(dirname(options.socketPath), { recursive: true });
    await rm(options.socketPath, { force: true });
    this.#server = new GrpcServer({ socketPath: options.socketPath, services: this.#services(store, content) });
    await this.#server.start();
  }

  /** Stops serving. The mounts of volumes are kept. */
  stop(): void {
    this.#server?.close();
  }

  #services(store: StateStore, content: ContentStore): ConstructorParameters<typeof GrpcServer>[0]['services'] {
    const options = this.#options;
    const gate = new FaultGate(options.controlFile);
    const now = (): number => Date.now();
    const parts = { options, store, content, mounts: new VolumeMounts(content), gate, now, newId: () => randomUUID() };
    const print = options.verbosity >= 3 ? (line: string): void => console.error(line) : undefined;
    const callLog = new CallLog(options.callLog, print);
    const dispatcher = new Dispatcher({ gate, callLog, logger: this.#logger, now });
    const node = new NodeService(parts);
    const snapshots = new SnapshotService(parts);
    const controller = new ControllerService(parts, node);
    const groups = new GroupSnapshotService(parts, snapshots);
    return [
      dispatcher.service(identityRpcs, identityHandlers(options)),
      dispatcher.service(controllerRpcs, {
        createVolume: controller.createVolume.bind(controller),
        deleteVolume: controller.deleteVolume.bind(controller),
        controllerPublishVolume: controller.controllerPublishVolume.bind(controller),
        controllerUnpublishVolume: controller.controllerUnpublishVolume.bind(controller),
        validateVolumeCapabilities: controller.validateVolumeCapabilities.bind(controller),
        listVolumes: controller.listVolumes.bind(controller),
        getCapacity: controller.getCapacity.bind(controller),
        controllerGetCapabilities: controller.controllerGetCapabilities.bind(controller),
        createSnapshot: snapshots.createSnapshot.bind(snapshots),
        deleteSnapshot: snapshots.deleteSnapshot.bind(snapshots),
        listSnapshots: snapshots.listSnapshots.bind(snapshots),
        controllerExpandVolume: controller.controllerExpandVolume.bind(controller),
        controllerGetVolume: controller.controllerGetVolume.bind(controller),
        controllerModifyVolume: controller.controllerModifyVolume.bind(controller),
      }),
      dispatcher.service(groupControllerRpcs, {
        groupControllerGetCapabilities: groups.groupControllerGetCapabilities.bind(groups),
        createVolumeGroupSnapshot: groups.createVolumeGroupSnapshot.bind(groups),
        deleteVolumeGroupSnapshot: groups.deleteVolumeGroupSnapshot.bind(groups),
        getVolumeGroupSnapshot: groups.getVolumeGroupSnapshot.bind(groups),
      }),
      dispatcher.service(nodeRpcs, {
        nodeStageVolume: node.nodeStageVolume.bind(node),
        nodeUnstageVolume: node.nodeUnstageVolume.bind(node),
        nodePublishVolume: node.nodePublishVolume.bind(node),
        nodeUnpublishVolume: node.nodeUnpublishVolume.bind(node),
        nodeGetVolumeStats: node.nodeGetVolumeStats.bind(node),
        nodeExpandVolume: node.nodeExpandVolume.bind(node),
        nodeGetCapabilities: node.nodeGetCapabilities.bind(node),
        nodeGetInfo: node.nodeGetInfo.bind(node),
      }),
    ];
  }
}
