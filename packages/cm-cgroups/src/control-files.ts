import { errorCode, type FileSystem } from '@node-agent/host';
import { errorText } from '@node-agent/telemetry';
import type { ControlStep, ControlWrite } from './control-steps.ts';
import { CgroupError, type CgroupErrorCode } from './errors.ts';

/**
 * Writes values into the files of one cgroup. All steps are tried before an error is thrown.
 * @param directoryOf returns the cgroup's directory in the hierarchy of a controller; `undefined` if this machine lacks
 * the controller
 * @throws CgroupError `Refused`, `MissingController`, `Io` if the cgroup does not exist, or `Busy` if every failed
 * write was busy; the message contains all errors
 */
export async function writeControls(
  fs: Pick<FileSystem, 'writeFile' | 'exists'>,
  steps: readonly ControlStep[],
  directoryOf: (controller: string) => string | undefined,
): Promise<void> {
  const errors: CgroupError[] = [];
  for (const step of steps) {
    try {
      await writeStep(step, (write) => writeOne(fs, write, directoryOf(write.controller)));
    } catch (err) {
      errors.push(CgroupError.from(err));
    }
  }
  const first = errors.find(({ code }) => code !== 'Busy') ?? errors[0];
  if (first !== undefined) throw new CgroupError(first.code, errors.map(({ message }) => message).join('; '), first);
}

async function writeStep([first, second]: ControlStep, write: (write: ControlWrite) => Promise<void>): Promise<void> {
  if (second === undefined) return write(first);
  try {
    await write(first);
  } catch (err) {
    if (errorCode(CgroupError.from(err).cause) !== 'EINVAL') throw err;
    await write(second);
    return write(first);
  }
  await write(second);
}

async function writeOne(
  fs: Pick<FileSystem, 'writeFile' | 'exists'>,
  { controller, file, value, ifPresent }: ControlWrite,
  directory: string | undefined,
): Promise<void> {
  if (directory === undefined) {
    if (ifPresent) return;
    throw new CgroupError(
      'MissingController',
      `cannot set ${file} to ${value}: controller ${controller} does not exist`,
    );
  }
  const path = `${directory}/${file}`;
  if (ifPresent && !(await fs.exists(path))) return;
  try {
    await fs.writeFile(path, value);
  } catch (err) {
    if (!(await fs.exists(directory)))
      throw new CgroupError('Io', `cannot set ${file} to ${value}: cgroup ${directory} does not exist`, err);
    // For a missing file, the kernel reports EACCES or EPERM, because no file can be created in a cgroup.
    const missing = ['ENOENT', 'EACCES', 'EPERM'].includes(errorCode(err) ?? '') && !(await fs.exists(path));
    throw new CgroupError(
      missing ? 'MissingController' : refusalOf(err),
      `failed to write ${value} to ${path}: ${errorText(err)}`,
      err,
    );
  }
}

/**
 * Returns the code for a rejected write. EBUSY means a memory limit below the current usage, which the kernel cannot
 * reclaim immediately.
 */
function refusalOf(err: unknown): CgroupErrorCode {
  return errorCode(err) === 'EBUSY' ? 'Busy' : 'Refused';
}
