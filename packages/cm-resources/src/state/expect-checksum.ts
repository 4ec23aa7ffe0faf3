import { asCount, type JsonFields } from './read-json.ts';

/**
 * Checks the checksum of a state file. 0 is accepted, because older kubelets wrote none.
 * @param accepted return the checksums of the forms that the content can have; called until one matches, because each
 * takes time in proportion to the file
 * @throws Error with the checksum of the first form
 */
export function expectChecksum(file: JsonFields, accepted: readonly (() => number)[]): void {
  const found = asCount(file.checksum, 'checksum');
  if (found === 0) return;
  let first: number | undefined;
  for (const checksum of accepted) {
    const value = checksum();
    if (value === found) return;
    first ??= value;
  }
  throw new Error(`checkpoint is corrupted: checksum is ${first}, must be ${found}`);
}
