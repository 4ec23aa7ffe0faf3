import { ContainerResourcesError } from '../errors.ts';

/** Returns upstream's error for a request that exceeds the available CPUs. */
export function notEnoughCpus(requested: number, available: number): ContainerResourcesError {
  const amounts = `requested=${requested}, available=${available}`;
  return new ContainerResourcesError('Refused', `not enough cpus available to satisfy request: ${amounts}`);
}
