import type { VolumeError } from '../errors.ts';

/** What is told of a volume that could not be had, in upstream's words (`GenerateMountVolumeFunc`). */
export function failedMountMessage(name: string, error: VolumeError, step: 'setUp' | 'stage'): string {
  return `MountVolume.${stepName(error, step)} failed for volume "${name}" : ${error.message}`;
}

/** What is told of a persistent volume whose disk has another file system than it says (`checkForFailedMount`). */
export function mismatchMessage(name: string, error: VolumeError): string {
  return `MountVolume failed for volume "${name}" ${error.message}`;
}

function stepName({ code }: VolumeError, step: 'setUp' | 'stage'): string {
  if (step === 'setUp') return 'SetUp';
  // Upstream looks at what there is before it begins.
  return code === 'TypeCheckFailed' ? 'NewMounter initialization' : 'MountDevice';
}
