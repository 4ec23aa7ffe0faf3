import { errorCode, type FileSystem, isMissing, readFileBeneath, textOfBytes } from '@node-agent/host';
import type { Container, Pod } from '@node-agent/pod-spec';
import { errorText } from '@node-agent/telemetry';
import { PodRuntimeError } from '../errors.ts';

/** What {@link readEnvironmentFiles} reads with. */
export interface EnvironmentFileComponents {
  readonly fs: Pick<FileSystem, 'openBeneath'>;
  /** Where a volume of a pod is that is ready; `undefined` where it is not. */
  readonly volumePath: (pod: Pod, volumeName: string) => string | undefined;
}

/** The texts of the files that a container's variables refer to. */
export type EnvironmentFiles = (volumeName: string, path: string) => string;

/** Far more than an environment can hold. */
const MAX_BYTES = 1 << 20;
/** So much of all files of a container is held: it may name thousands of them. */
const MAX_BYTES_OF_ALL = 1 << 24;

/**
 * Reads the files that a container's `fileKeyRef`s name (KEP-3721). A container of the pod wrote them, and may be at it still:
 * no link in them leads out of the volume, and only what is a file, and no huge one, is opened (W3, W5). Each is read once.
 * @throws PodRuntimeError `InvalidSpec` for a volume that is not there, a file that cannot be read, or more than can be held of all
 */
export async function readEnvironmentFiles(
  pod: Pod,
  container: Container,
  { fs, volumePath }: EnvironmentFileComponents,
): Promise<EnvironmentFiles> {
  const texts = new Map<string, string>();
  let left = MAX_BYTES_OF_ALL;
  for (const { value, valueFrom } of container.env ?? []) {
    if (value || !valueFrom?.fileKeyRef) continue;
    const { volumeName, path } = valueFrom.fileKeyRef;
    const key = keyOf(volumeName, path);
    if (texts.has(key)) continue;
    const root = volumePath(pod, volumeName);
    if (root === undefined) throw invalid(`cannot find the volume "${volumeName}" referenced by FileKeyRef`);
    try {
      const bytes = await readFileBeneath(fs, root, path, MAX_BYTES, { links: 'within' });
      left -= bytes.length;
      texts.set(key, textOfBytes(bytes));
    } catch (error) {
      throw invalid(`couldn't parse env file: ${reasonOf(error, path)}`, error);
    }
    if (left < 0) throw invalid(`couldn't parse env files: they have more than ${MAX_BYTES_OF_ALL} bytes together`);
  }
  return (volumeName, path) => texts.get(keyOf(volumeName, path)) ?? '';
}

function keyOf(volumeName: string, path: string): string {
  return JSON.stringify([volumeName, path]);
}

/** In words of the pod's author, who knows the path in the volume. */
function reasonOf(error: unknown, path: string): string {
  if (isMissing(error)) return `${path} does not exist`;
  const code = errorCode(error);
  if (code === 'EISDIR' || code === 'ENXIO') return `${path} is not a regular file`;
  if (code === 'EFBIG') return `${path} has more than ${MAX_BYTES} bytes`;
  if (code === 'ELOOP') return `${path} has too many links`;
  return errorText(error);
}

function invalid(message: string, cause?: unknown): PodRuntimeError {
  return new PodRuntimeError('InvalidSpec', message, { cause });
}
