import type { CsiVolumeCapability } from '@node-agent/contracts';
import type { Publication, VolumeRecord } from '../state/records.ts';
import { capabilityProblem, sameCapability } from './capabilities.ts';
import { type Refusal, refusal } from './refusal.ts';

/** Entry of the publish context that `ControllerPublishVolume` returns and that the node service expects. */
const ATTACHMENT_KEY = 'attachment';

/** Returns the publish context of a volume that is attached to a node. */
export function publishContextOf(volumeId: string, nodeId: string): Readonly<Record<string, string>> {
  return { [ATTACHMENT_KEY]: `${volumeId}@${nodeId}` };
}

/** Settings of the node service that the rules need. */
export interface NodeRules {
  readonly nodeId: string;
  /** Whether volumes are attached before they are staged. */
  readonly attaches: boolean;
  /** Whether volumes are staged before they are published. */
  readonly stages: boolean;
}

/** Request of `NodeStageVolume` or `NodePublishVolume`, reduced to what the rules need. */
export interface NodeRequest {
  readonly path: string;
  readonly stagingPath: string;
  readonly readOnly: boolean;
  readonly capability: CsiVolumeCapability;
  readonly publishContext: Readonly<Record<string, string>>;
}

/**
 * Returns why a volume cannot be staged; `undefined` if the volume may be staged, or is already staged in the same way.
 */
export function stageProblem(volume: VolumeRecord, request: NodeRequest, rules: NodeRules): Refusal | undefined {
  const problem = useProblem(volume, request, rules);
  if (problem !== undefined) return problem;
  const staged = volume.staged[0];
  if (staged === undefined) return undefined;
  if (staged.path !== request.path) {
    return refusal('FAILED_PRECONDITION', `the volume is already staged at ${staged.path}`);
  }
  if (sameCapability(staged.capability, request.capability)) return undefined;
  return refusal('ALREADY_EXISTS', 'the volume is staged with another volume_capability');
}

/**
 * Returns why a volume cannot be published; `undefined` if the volume may be published, or is already published in the
 * same way.
 */
export function publishProblem(volume: VolumeRecord, request: NodeRequest, rules: NodeRules): Refusal | undefined {
  const problem = useProblem(volume, request, rules) ?? stagingProblem(volume, request, rules);
  if (problem !== undefined) return problem;
  const here = volume.published.find(({ path }) => path === request.path);
  if (here !== undefined) return isSame(here, request) ? undefined : publishedOtherwise();
  const elsewhere = volume.published[0];
  const isExclusive = [request, ...volume.published].some(
    ({ capability }) => capability.accessMode === 'SINGLE_NODE_SINGLE_WRITER',
  );
  if (elsewhere === undefined || !isExclusive) return undefined;
  return refusal('FAILED_PRECONDITION', `the volume is for one pod, and is published at ${elsewhere.path}`);
}

function publishedOtherwise(): Refusal {
  return refusal('ALREADY_EXISTS', 'the volume is published there with another volume_capability or readonly');
}

function isSame(here: Publication, { readOnly, capability }: NodeRequest): boolean {
  return here.readOnly === readOnly && sameCapability(here.capability, capability);
}

function useProblem(volume: VolumeRecord, request: NodeRequest, rules: NodeRules): Refusal | undefined {
  const unfit = capabilityProblem(volume, request.capability);
  if (unfit !== undefined) return refusal('FAILED_PRECONDITION', unfit);
  if (!rules.attaches || volume.isEphemeral) return undefined;
  if (volume.attachment === undefined) return refusal('FAILED_PRECONDITION', 'the volume is not attached to this node');
  const expected = publishContextOf(volume.id, rules.nodeId)[ATTACHMENT_KEY];
  const given = request.publishContext[ATTACHMENT_KEY];
  if (given === expected) return undefined;
  return refusal('INVALID_ARGUMENT', `publish_context[${ATTACHMENT_KEY}] is ${given}, not ${expected}`);
}

function stagingProblem(volume: VolumeRecord, request: NodeRequest, rules: NodeRules): Refusal | undefined {
  if (!rules.stages || volume.isEphemeral) return undefined;
  if (request.stagingPath === '') return refusal('FAILED_PRECONDITION', 'staging_target_path is required');
  if (volume.staged.some(({ path }) => path === request.stagingPath)) return undefined;
  return refusal('FAILED_PRECONDITION', `the volume is not staged at ${request.stagingPath}`);
}

/** Returns why a volume cannot be unstaged: it is still published somewhere. Returns `undefined` otherwise. */
export function unstageProblem(volume: VolumeRecord): Refusal | undefined {
  const published = volume.published[0];
  if (published === undefined) return undefined;
  return refusal('FAILED_PRECONDITION', `the volume is still published at ${published.path}`);
}

/**
 * Returns why a volume that does not exist cannot be unpublished or unstaged. If nothing exists at the path, the call
 * repeats a call whose response was lost, and succeeds.
 */
export function unknownVolumeProblem(volumeId: string, path: string, pathExists: boolean): Refusal | undefined {
  if (!pathExists) return undefined;
  return refusal('NOT_FOUND', `volume ${JSON.stringify(volumeId)} does not exist, and ${path} is not of this driver`);
}

/** Returns whether the volume is staged or published at a path. */
export function isPlaceOf(volume: VolumeRecord, path: string): boolean {
  return [...volume.staged, ...volume.published].some((place) => place.path === path);
}
