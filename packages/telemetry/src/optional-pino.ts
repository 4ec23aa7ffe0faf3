import type { pino } from 'pino';
import type { ImportPino } from './import-pino.ts';

/**
 * Returns the function `pino` of the optional peer dependency pino, or `undefined` if the package is not installed.
 * @throws any other error of the import
 */
export async function loadPino(importPino: ImportPino | undefined): Promise<typeof pino | undefined> {
  try {
    // esbuild accepts that the package is missing only if the import is inside `try` and directly behind `await`.
    const loaded = importPino === undefined ? await import('pino') : await importPino();
    return loaded.pino as typeof pino;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND') return undefined;
    throw error;
  }
}
