import { getSystemErrorMap } from 'node:util';

/** An error as Node's own file functions throw it. */
export interface SystemError extends Error {
  readonly code: string;
  readonly errno: number;
  readonly syscall: string;
  readonly path: string;
}

const byCode: ReadonlyMap<string, { readonly errno: number; readonly text: string }> = new Map(
  [...getSystemErrorMap()].map(([errno, [code, text]]) => [code, { errno, text }]),
);

/** Makes the error that the kernel's `code` (`ENOENT`, ...) would give, worded as Node words it. */
export function systemError(code: string, syscall: string, path: string, detail?: string): SystemError {
  const known = byCode.get(code);
  const text = detail ?? known?.text ?? 'unknown error';
  const error = new Error(`${code}: ${text}, ${syscall} '${path}'`);
  return Object.assign(error, { code, errno: known?.errno ?? -1, syscall, path });
}

/** The `code` of a system error (`ENOENT`, ...); `undefined` for anything else. */
export function errorCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}

/** An error of a call on an open file, which names none, with the file's path in it; any other as it is. */
export function withPath(error: unknown, path: string): unknown {
  const code = errorCode(error);
  if (code === undefined || !(error instanceof Error) || 'path' in error) return error;
  return systemError(code, 'syscall' in error ? String(error.syscall) : 'write', path);
}

/** Whether the error says that the path leads to nothing. */
export function isMissing(error: unknown): boolean {
  const code = errorCode(error);
  return code === 'ENOENT' || code === 'ENOTDIR';
}

/** Whether something is there, by whoever looks at it. @throws what is thrown, but for what says that it is not there */
export async function isThere(look: () => unknown): Promise<boolean> {
  try {
    await look();
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}
