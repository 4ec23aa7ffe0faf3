import type { OperationEffect } from '../errors.ts';

/**
 * Returns the presence of a volume after a failed attempt to set it up or to stage it.
 *
 * | before    | effect    | found on disk | after                                                       |
 * |-----------|-----------|---------------|-------------------------------------------------------------|
 * | any       | unchanged | -             | as before                                                   |
 * | any       | unknown   | -             | uncertain: the call is repeated, or reverted without a pod  |
 * | any       | none      | no            | absent: nothing is reverted                                 |
 * | uncertain | none      | yes           | uncertain: a former process may have set the volume up      |
 *
 * Source: `pkg/volume/util/operationexecutor/operation_generator.go` (`markVolumeErrorState`, `markDeviceErrorState`).
 * @param isReconstructed whether a former process left the volume on disk, and no operation has succeeded since
 */
export function presenceAfterFailure(
  before: 'absent' | 'uncertain',
  effect: OperationEffect,
  isReconstructed: boolean,
): 'absent' | 'uncertain' {
  if (effect === 'unchanged') return before;
  return effect === 'none' && !isReconstructed ? 'absent' : 'uncertain';
}
