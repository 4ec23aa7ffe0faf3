import type { VolumeError } from '../errors.ts';

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
  if (step === 'stage') return 'SetUpDevice';
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
  // Upstream checks the path when it creates the mounter.
  return code === 'TypeCheckFailed' ? 'NewMounter initialization' : 'MountDevice';
}

/** Adds the verb, unless the step's name has it. */
function withFailed(step: string): string {
  return step.includes(' failed ') ? step : `${step} failed`;
}
