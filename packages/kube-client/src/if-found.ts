import { KubeError } from './errors.ts';

/**
 * Returns the result of `reading`, or `undefined` if the server responds with `NotFound`. @throws any other error of
 * `reading`
 */
export async function ifFound<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (KubeError.is(error) && error.code === 'NotFound') return undefined;
    throw error;
  }
}
