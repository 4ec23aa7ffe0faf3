import type { VolumeError } from '../errors.ts';
import type { VolumeOutcome } from './volume-outcomes.ts';

/** Returns the event message for a volume in use that could not be expanded, in upstream's wording. */
export function failedExpandMessage(name: string, error: VolumeError): string {
  return `NodeExpandVolume.NodeExpandVolume failed for volume "${name}" : ${error.message}`;
}

/**
 * Returns the event message for a block volume that could not be mapped, in upstream's wording
 * (`GenerateMapVolumeFunc`).
 */
export function failedMapMessage(name: string, error: VolumeError, step: 'setUp' | 'stage'): string {
  return `MapVolume.${withFailed(mapStepName(error, step))} for volume "${name}" : ${error.message}`;
}

function mapStepName({ code }: VolumeError, step: 'setUp' | 'stage'): string {
  if (code === 'NotAttached') return 'WaitForAttach';
  if (code === 'ExpandFailed') return 'MarkVolumeAsMounted failed while expanding volume';
  // Upstream checks the access mode ReadWriteOncePod before it stages the volume.
  if (step === 'stage' || code === 'InUse') return 'SetUpDevice';
  return code === 'MountFailed' || code === 'Io' ? 'MapBlockVolume' : 'MapPodDevice';
}

/**
 * Returns the event message for a volume that could not be mounted, in upstream's wording (`GenerateMountVolumeFunc`).
 */
export function failedMountMessage(name: string, error: VolumeError, step: 'setUp' | 'stage'): string {
  return `MountVolume.${withFailed(stepName(error, step))} for volume "${name}" : ${error.message}`;
}

/**
 * Returns the event message for a persistent volume whose disk has another file system than declared, in upstream's
 * wording (`checkForFailedMount`).
 */
export function mismatchMessage(name: string, error: VolumeError): string {
  return `MountVolume failed for volume "${name}" ${error.message}`;
}

function stepName({ code }: VolumeError, step: 'setUp' | 'stage'): string {
  if (code === 'NotAttached') return 'WaitForAttach';
  if (code === 'ExpandFailed') return 'Setup failed while expanding volume';
  if (step === 'setUp') return 'SetUp';
  // Upstream checks the type of a host path while it creates the mounter, so its message names that step.
  return code === 'TypeCheckFailed' ? 'NewMounter initialization' : 'MountDevice';
}

/** Appends `failed` to a step's name, unless the name contains it. */
function withFailed(step: string): string {
  return step.includes(' failed ') ? step : `${step} failed`;
}

/**
 * Returns the message for a pod whose volumes are not ready, in upstream's wording (`WaitForAttachAndMount`), and the
 * reason of each failed volume, which upstream leaves out.
 * @param unattached volumes that wait for a controller to attach them
 * @param unprocessed volumes whose identity could not be determined, or that this kubelet does not support
 */
export function unmountedMessage(
  failed: readonly Pick<VolumeOutcome, 'name' | 'failure'>[],
  unattached: readonly { readonly name: string }[],
  unprocessed: readonly { readonly name: string }[],
): string {
  const lists = [
    `unmounted volumes=[${namesIn(failed)}]`,
    `unattached volumes=[${namesIn(unattached)}]`,
    `failed to process volumes=[${namesIn(unprocessed)}]`,
  ];
  return `${lists.join(', ')}: ${failed.map(({ failure }) => failure?.message).join('; ')}`;
}

/** Returns the failed volumes with their reasons: `data: secret "s" not found; cache: ...`. */
export function reasonsOf(failed: readonly Pick<VolumeOutcome, 'name' | 'failure'>[]): string {
  return failed.map(({ name, failure }) => `${name}: ${failure?.message}`).join('; ');
}

/** Returns the message for a pod that is rejected, in upstream's wording (`VolumeAttachLimitExceededError`). */
export function attachLimitMessage(unmounted: string): string {
  return `Node has reached its volume attachment limit, rejecting pod. ${unmounted}`;
}

function namesIn(volumes: readonly { readonly name: string }[]): string {
  return [...new Set(volumes.map(({ name }) => name))].sort().join(' ');
}
