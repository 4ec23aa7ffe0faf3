import { ContainerResourcesError } from './errors.ts';

/** Returns the error for a pod whose containers leave nothing for those that share (`NewEmptyPodSharedPoolError`). */
export function emptyPool(problem: string): ContainerResourcesError {
  return new ContainerResourcesError('Refused', `pod rejected, ${problem}`, { reason: 'EmptyPodSharedPoolError' });
}
