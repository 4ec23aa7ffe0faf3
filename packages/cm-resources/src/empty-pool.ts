import { ContainerResourcesError } from './errors.ts';

/**
 * Returns the error for a pod whose containers with exclusive resources leave no resources for its other containers
 * (`NewEmptyPodSharedPoolError`).
 */
export function emptyPool(problem: string): ContainerResourcesError {
  return new ContainerResourcesError('Refused', `pod rejected, ${problem}`, { reason: 'EmptyPodSharedPoolError' });
}
