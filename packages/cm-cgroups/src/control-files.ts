import { errorCode, type FileSystem } from '@node-agent/host';
import { errorText } from '@node-agent/telemetry';
import type { ControlStep, ControlWrite } from './control-steps.ts';
import { CgroupError, type CgroupErrorCode } from './errors.ts';

/**
 * Writes values into the files of one group: all that can be set is set before the first error is thrown.
 * @param directoryOf where the group is in the hierarchy of a controller; `undefined` where this machine has not got it
 * @throws CgroupError `Refused`, `MissingController`, `Io` where the group is not there, or `Busy` where it is nothing else; the message names all of them
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
    throw new CgroupError('MissingController', `cannot set ${file} to ${value}: there is no controller ${controller}`);
  }
  const path = `${directory}/${file}`;
  if (ifPresent && !(await fs.exists(path))) return;
  try {
    await fs.writeFile(path, value);
  } catch (err) {
    if (!(await fs.exists(directory)))
      throw new CgroupError('Io', `cannot set ${file} to ${value}: there is no cgroup ${directory}`, err);
    // Where there is no such file the kernel forbids that it is made.
    const missing = ['ENOENT', 'EACCES', 'EPERM'].includes(errorCode(err) ?? '') && !(await fs.exists(path));
    throw new CgroupError(
      missing ? 'MissingController' : refusalOf(err),
      `failed to write ${value} to ${path}: ${errorText(err)}`,
      err,
    );
  }
}

/** A limit of memory below what is used, which cannot be reclaimed at once. */
function refusalOf(err: unknown): CgroupErrorCode {
  return errorCode(err) === 'EBUSY' ? 'Busy' : 'Refused';
}
