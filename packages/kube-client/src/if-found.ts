import { KubeError } from './errors.ts';

/** What a reading gives; `undefined` where the server says `NotFound`. @throws whatever else the reading fails with */
export async function ifFound<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (KubeError.is(error) && error.code === 'NotFound') return undefined;
    throw error;
  }
}
