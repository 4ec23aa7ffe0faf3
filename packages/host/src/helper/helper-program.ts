import { fileURLToPath } from 'node:url';

/** Program of the helper process. */
export interface HelperProgram {
  readonly file: string;
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

/** Options of Node.js for the helper process, which needs little memory. */
const NODE_FLAGS = ['--max-semi-space-size=1', '--max-old-space-size=64', '--disable-warning=ExperimentalWarning'];

/**
 * Returns the helper's program: this package's `helper.ts`, or `helper.js` beside the build. A single executable file
 * has no such file; its build replaces this module.
 */
export function helperProgram(): HelperProgram {
  const isSource = import.meta.url.endsWith('.ts');
  // The program is in the parent directory of this file in the sources, and in the directory of the build.
  const program = fileURLToPath(new URL(isSource ? '../helper.ts' : './helper.js', import.meta.url));
  return { file: process.execPath, args: [...NODE_FLAGS, program], environment: {} };
}
