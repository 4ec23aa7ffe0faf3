import { getSystemErrorMap } from 'node:util';

/** An error in the form in which Node's file functions throw it. */
export interface SystemError extends Error {
  readonly code: string;
  readonly errno: number;
  readonly syscall: string;
  readonly path: string;
}

const byCode: ReadonlyMap<string, { readonly errno: number; readonly text: string }> = new Map(
  [...getSystemErrorMap()].map(([errno, [code, text]]) => [code, { errno, text }]),
);

/** Creates the error that the kernel's `code` (`ENOENT`, ...) would cause, with Node's wording. */
export function systemError(code: string, syscall: string, path: string, detail?: string): SystemError {
  const known = byCode.get(code);
  const text = detail ?? known?.text ?? 'unknown error';
  const error = new Error(`${code}: ${text}, ${syscall} '${path}'`);
  return Object.assign(error, { code, errno: known?.errno ?? -1, syscall, path });
}

/** Returns the `code` of a system error (`ENOENT`, ...); `undefined` for any other value. */
export function errorCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}

/**
 * Adds the file's path to an error of a call on an open file, which has no path. Other errors are returned unchanged.
 */
export function withPath(error: unknown, path: string): unknown {
  const code = errorCode(error);
  if (code === undefined || !(error instanceof Error) || 'path' in error) return error;
  return systemError(code, 'syscall' in error ? String(error.syscall) : 'write', path);
}

/** Returns whether the error means that the path does not exist. */
export function isMissing(error: unknown): boolean {
  const code = errorCode(error);
  return code === 'ENOENT' || code === 'ENOTDIR';
}

/**
 * Returns whether the object that `look` reads exists. @throws the errors of `look` other than those that mean that the
 * object does not exist
 */
export async function isThere(look: () => unknown): Promise<boolean> {
  try {
    await look();
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}
