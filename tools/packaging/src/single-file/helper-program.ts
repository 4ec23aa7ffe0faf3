import type { HelperProgram } from '../../../../packages/host/src/helper/helper-program.ts';
import { HELPER_ARGUMENT } from './part-of.ts';

/**
 * Replaces the module of package host: the helper process runs this executable file, with {@link HELPER_ARGUMENT}.
 * After an upgrade, the file's path is another version's file, but `/proc/self/exe` is still the file that runs.
 */
export function helperProgram(): HelperProgram {
  return { file: '/proc/self/exe', args: [HELPER_ARGUMENT], environment: { NODE_OPTIONS: '--max-old-space-size=64' } };
}
