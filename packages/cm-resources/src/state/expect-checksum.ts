import { asCount, type JsonFields } from './read-json.ts';

/**
 * Checks the checksum of a state file. A checksum of 0 is accepted, because older kubelets wrote no checksum.
 * @param accepted each function returns the checksum of one form that the content can have. The functions are called
 * until one result matches, because each call takes time in proportion to the file
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
