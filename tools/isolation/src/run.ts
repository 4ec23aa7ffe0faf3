import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** Runs a program that must succeed. @throws Error with the program's output if it fails */
export async function run(file: string, args: readonly string[]): Promise<void> {
  await promisify(execFile)(file, [...args]);
}
