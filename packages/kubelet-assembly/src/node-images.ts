import { join } from 'node:path';
import { CheckpointStore } from '@node-agent/checkpoint';
import { collectsAnything, defaultPolicy, ImageGc, type ImageGcPolicy } from '@node-agent/image-gc';
import { ImageManager, ImagePullRecords, type PullCredentials } from '@node-agent/images';
import type { BackgroundService, ImageGcPort, StartupLatency } from '@node-agent/kubelet-core';
import { allContainers, type Pod } from '@node-agent/pod-spec';
import type { PartComponents } from './cluster-ports.ts';
import { nodeReference } from './node-reference.ts';
import type { AssemblySettings, NodePorts } from './ports.ts';

/** Components of the node that {@link NodeImages} needs besides ports and settings. */
interface NodeImageParts {
  readonly credentials: PullCredentials | undefined;
  readonly startup: Pick<StartupLatency, 'pulled'>;
  readonly activePods: () => readonly Pod[];
}

/** Manages the images of pods: pulls, records of pull credentials, and garbage collection. */
export class NodeImages {
  readonly manager: ImageManager;
  /** Garbage collection of images. `undefined` if the free space of the images' disk is not known. */
  readonly gc: ImageGcPort | undefined;
  readonly #unused: ImageGc | undefined;
  #policy: Partial<ImageGcPolicy>;
  /** Services that start once the runtime has reported ready. */
  readonly services: readonly BackgroundService[];

  constructor(
    child: (component: string) => PartComponents,
    ports: Pick<NodePorts, 'cri' | 'fs' | 'disks'>,
    settings: Pick<AssemblySettings, 'rootDirectory' | 'pulls' | 'imageGc' | 'nodeName'>,
    parts: NodeImageParts,
  ) {
    const { cri: images, fs } = ports;
    const { rootDirectory, pulls } = settings;
    const { maxParallel, verification, ...limits } = pulls;
    const records =
      verification && new ImagePullRecords({ ...child('images'), fs, images }, { rootDirectory, ...verification });
    this.manager = new ImageManager(
      {
        ...child('images'),
        images,
        ...(parts.credentials && { credentials: parts.credentials }),
        ...(records && { records }),
        onPull: (...pull) => parts.startup.pulled(...pull),
      },
      { ...limits, ...(maxParallel !== undefined && { maxParallel }) },
    );
    const gc = this.#imageGc(child, ports, settings, { records, activePods: parts.activePods });
    this.#unused = gc;
    this.#policy = settings.imageGc ?? {};
    this.gc = gc && {
      // The policy is read at each call, because the policy may change while the kubelet runs.
      garbageCollect: async (signal) => {
        if (collectsAnything({ ...defaultPolicy, ...this.#policy })) await gc.garbageCollect(signal);
      },
    };
    this.services = [
      ...(records ? [{ name: 'records of pulls', start: (signal: AbortSignal) => records.start(signal) }] : []),
      ...(gc ? [{ name: 'ages of images', start: (signal: AbortSignal) => gc.start(signal) }] : []),
    ];
  }

  /** Changes the policy of image garbage collection. @throws ImageGcError, OptionsError if the policy is invalid */
  setGcPolicy(policy: Partial<ImageGcPolicy>): void {
    this.#unused?.update(policy);
    this.#policy = policy;
  }

  /** Removes all unused images that are old enough. Called when the node is short of disk space. */
  async deleteUnused(signal: AbortSignal): Promise<void> {
    await this.#unused?.deleteUnusedImages(signal);
  }

  #imageGc(
    child: (component: string) => PartComponents,
    { cri, fs, disks }: Pick<NodePorts, 'cri' | 'fs' | 'disks'>,
    { rootDirectory, nodeName, imageGc }: Pick<AssemblySettings, 'rootDirectory' | 'imageGc' | 'nodeName'>,
    { records, activePods }: Pick<NodeImageParts, 'activePods'> & { readonly records: ImagePullRecords | undefined },
  ): ImageGc | undefined {
    if (disks === undefined) return undefined;
    const { recorder, ...components } = child('image-gc');
    return new ImageGc(
      {
        ...components,
        cri,
        disks,
        ages: new CheckpointStore({ fs }, { directory: join(rootDirectory, 'image_gc') }),
        // Images of all active pods are kept. A pod may wait long for its first container, for example because of a
        // volume. After a reboot of the machine, a pod's earlier containers no longer exist.
        demand: () => [...this.manager.demanded(), ...activePods().flatMap(imagesOf)],
        ...(records && { onRemoved: (signal) => records.prune(signal) }),
        tell: (...event) => recorder.event(nodeReference(nodeName), ...event),
      },
      imageGc && { policy: imageGc },
    );
  }
}

function imagesOf(pod: Pod): readonly string[] {
  const volumes = pod.spec.volumes ?? [];
  return [
    ...[...allContainers(pod)].flatMap(({ container }) => container.image ?? []),
    ...volumes.flatMap(({ image }) => image?.reference ?? []),
  ];
}
