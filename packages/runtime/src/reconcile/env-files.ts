import { errorCode, type FileSystem, isMissing, readFileBeneath, textOfBytes } from '@node-agent/host';
import type { Container, Pod } from '@node-agent/pod-spec';
import { errorText } from '@node-agent/telemetry';
import { PodRuntimeError } from '../errors.ts';

/** Components of {@link readEnvironmentFiles}. */
export interface EnvironmentFileComponents {
  readonly fs: Pick<FileSystem, 'openBeneath'>;
  /** Returns the path of a mounted volume of a pod; `undefined` if it is not mounted. */
  readonly volumePath: (pod: Pod, volumeName: string) => string | undefined;
}

/** Returns the text of a file that a container's variables refer to. */
export type EnvironmentFiles = (volumeName: string, path: string) => string;

/** Maximum size of one file; far more than an environment can hold. */
const MAX_BYTES = 1 << 20;
/** Maximum total size of all files of a container, which may refer to thousands. */
const MAX_BYTES_OF_ALL = 1 << 24;

/**
 * Reads the files of a container's `fileKeyRef`s (KEP-3721), each once. A container of the pod wrote the files and may
 * still change them. Therefore links must not lead out of the volume, and only regular files of limited size are opened
 * (W3, W5).
 * @throws PodRuntimeError `InvalidSpec` if a volume does not exist, a file cannot be read, or the files are too large
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

/**
 * Returns why a file cannot be read. The path is the one inside the volume, because the pod's author does not know the
 * path on the host.
 */
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
