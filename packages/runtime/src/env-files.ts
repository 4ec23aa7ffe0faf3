import { join } from 'node:path';
import { type FileSystem, isMissing } from '@node-agent/host';
import type { Container, Pod } from '@node-agent/pod-spec';
import { errorText } from '@node-agent/telemetry';
import { environmentText } from './config/env-bytes.ts';
import { PodRuntimeError } from './errors.ts';

/** What {@link readEnvironmentFiles} reads with. */
export interface EnvironmentFileComponents {
  readonly fs: Pick<FileSystem, 'lstat' | 'readFile' | 'readlink' | 'realpath'>;
  /** Where a volume of a pod is that is ready; `undefined` where it is not. */
  readonly volumePath: (pod: Pod, volumeName: string) => string | undefined;
}

/** The texts of the files that a container's variables refer to. */
export type EnvironmentFiles = (volumeName: string, path: string) => string;

/** Far more than an environment can hold. */
const MAX_BYTES = 1 << 20;
/** As many links as the kernel follows. */
const MAX_LINKS = 40;

/**
 * Reads the files that a container's `fileKeyRef`s name (KEP-3721). A container of the pod wrote them: no link in them
 * leads out of the volume, and only what is a file, and no huge one, is opened (W3).
 * @throws PodRuntimeError `InvalidSpec` for a volume that is not there, or a file that cannot be read
 */
export async function readEnvironmentFiles(
  pod: Pod,
  container: Container,
  { fs, volumePath }: EnvironmentFileComponents,
): Promise<EnvironmentFiles> {
  const texts = new Map<string, string>();
  for (const { value, valueFrom } of container.env ?? []) {
    if (value || !valueFrom?.fileKeyRef) continue;
    const { volumeName, path } = valueFrom.fileKeyRef;
    const root = volumePath(pod, volumeName);
    if (root === undefined) throw invalid(`cannot find the volume "${volumeName}" referenced by FileKeyRef`);
    try {
      texts.set(JSON.stringify([volumeName, path]), await readWithin(fs, await fs.realpath(root), path));
    } catch (error) {
      throw invalid(
        `couldn't parse env file: ${isMissing(error) ? `${path} does not exist` : errorText(error)}`,
        error,
      );
    }
  }
  return (volumeName, path) => texts.get(JSON.stringify([volumeName, path])) ?? '';
}

async function readWithin(fs: EnvironmentFileComponents['fs'], root: string, path: string): Promise<string> {
  const real = await resolveWithin(fs, root, path);
  const { kind, sizeBytes } = await fs.lstat(real);
  if (kind !== 'file') throw new Error(`${path} is not a regular file`);
  if (sizeBytes > MAX_BYTES) throw new Error(`${path} has ${sizeBytes} bytes, at most ${MAX_BYTES} are read`);
  return environmentText(await fs.readFile(real));
}

/** Where a path leads with `root` as the root of all of its links, as in a chroot. */
async function resolveWithin(fs: EnvironmentFileComponents['fs'], root: string, path: string): Promise<string> {
  let rest = path.split('/');
  let done: string[] = [];
  let links = 0;
  for (let part = rest.shift(); part !== undefined; part = rest.shift()) {
    if (part === '' || part === '.') continue;
    if (part === '..') {
      done = done.slice(0, -1);
      continue;
    }
    const at = join(root, ...done, part);
    if ((await fs.lstat(at)).kind !== 'symlink') {
      done.push(part);
      continue;
    }
    if (++links > MAX_LINKS) throw new Error(`${path} has too many links`);
    const target = await fs.readlink(at);
    if (target.startsWith('/')) done = [];
    rest = [...target.split('/'), ...rest];
  }
  return join(root, ...done);
}

function invalid(message: string, cause?: unknown): PodRuntimeError {
  return new PodRuntimeError('InvalidSpec', message, { cause });
}
