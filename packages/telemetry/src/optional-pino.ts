import type { pino } from 'pino';

/** Imports the package pino. */
export type ImportPino = () => Promise<{ readonly pino: typeof pino }>;

/**
 * Returns the function `pino` of the optional peer dependency pino, or `undefined` if the package is not installed.
 * @throws any other error of the import
 */
export async function loadPino(importPino: ImportPino | undefined): Promise<typeof pino | undefined> {
  try {
    // The import is inside the `try`, so that bundlers accept a missing package.
    return (await (importPino === undefined ? import('pino') : importPino())).pino;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND') return undefined;
    throw error;
  }
}
