import { basename, dirname } from 'node:path';
import type { ContainerStatus } from '@node-agent/cri-client';
import { type FileHandle, type FileSystem, isMissing } from '@node-agent/host';
import { errorText } from '@node-agent/telemetry';
import { absolutePath } from '../config/absolute-path.ts';
import { parseContainerAnnotations } from '../config/labels.ts';
import { tailOfCriLog } from './cri-log-tail.ts';

/** Maximum size of a termination message: the last 4 KiB of the file. */
const MAX_MESSAGE_BYTES = 4096;
/** Maximum size of the end of the log that replaces a termination message: 80 lines, at most 2 KiB. */
const MAX_LOG_LINES = 80;
const MAX_LOG_BYTES = 2048;

/** Prefix of the text that replaces a termination message that could not be read. */
const UNREADABLE = 'Error on reading termination';

const FIRST_LOG_WINDOW_BYTES = 16 * 1024;
const LAST_LOG_WINDOW_BYTES = 1024 * 1024;

/** A byte order mark is part of the message. */
const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });

type Files = Pick<FileSystem, 'open' | 'openBeneath'>;

/**
 * Returns the termination message of an exited container, read from its termination message file. If the file is empty,
 * the policy is `FallbackToLogsOnError` and the container failed, returns the end of the log. If the message cannot be
 * read, the result contains the error (`convertToKubeContainerStatus` in
 * `pkg/kubelet/kuberuntime/kuberuntime_container.go`).
 * @param answers rejects if the file system of the message file, which may be a volume, does not respond; the file is
 * then not read (W6)
 */
export async function readTerminationMessage(
  fs: Files,
  status: ContainerStatus,
  answers: (path: string) => Promise<unknown> = async () => {},
): Promise<string> {
  const { terminationMessagePath, terminationMessagePolicy } = parseContainerAnnotations(status.annotations);
  // A container that could not even be started has no log.
  const fallback =
    terminationMessagePolicy === 'FallbackToLogsOnError' &&
    status.exitCode !== 0 &&
    status.reason !== 'ContainerCannotRun';
  const mount =
    terminationMessagePath === ''
      ? undefined
      : status.mounts.find(({ containerPath }) => containerPath === absolutePath(terminationMessagePath));
  if (mount !== undefined) {
    try {
      await answers(mount.hostPath);
      const message = utf8.decode((await readMessage(fs, mount.hostPath)).bytes);
      if (message !== '') return message;
    } catch (err) {
      if (!isMissing(err)) return `${UNREADABLE} log ${mount.hostPath}: ${errorText(err)}`;
    }
  }
  return fallback && status.logPath !== '' ? readLogTail(fs, status.logPath) : '';
}

/**
 * Returns whether the result of {@link readTerminationMessage} is final. An exited container writes no more. However,
 * the end of the container's log may not be on disk yet, and an unreadable message may become readable.
 */
export function isFinalMessage(message: string, { annotations, exitCode }: ContainerStatus): boolean {
  const { terminationMessagePolicy } = parseContainerAnnotations(annotations);
  const mayBeLog = terminationMessagePolicy === 'FallbackToLogsOnError' && exitCode !== 0;
  return !mayBeLog && !message.startsWith(UNREADABLE);
}

/** Joins the runtime's message and the container's own message. */
export function joinMessages(fromRuntime: string, fromContainer: string): string {
  return fromRuntime !== '' && fromContainer !== '' ? `${fromRuntime}: ${fromContainer}` : fromRuntime + fromContainer;
}

async function readLogTail(fs: Files, path: string): Promise<string> {
  try {
    for (let window = FIRST_LOG_WINDOW_BYTES; ; window *= 4) {
      // Symbolic links to a log are followed, because some runtimes create them. A log that is not a regular file is
      // not opened.
      const { bytes, fromStart } = await readTail(await fs.open(path, 'r'), window);
      const tail = tailOfCriLog(bytes, fromStart, MAX_LOG_LINES, MAX_LOG_BYTES);
      if (tail.complete || window >= LAST_LOG_WINDOW_BYTES) return tail.text;
    }
  } catch (err) {
    return `${UNREADABLE} message from logs: ${errorText(err)}`;
  }
}

/**
 * Reads the end of a termination message file. The file may be on a volume, where a container may have replaced it by
 * anything (W5).
 */
async function readMessage(fs: Files, path: string): Promise<Tail> {
  return await readTail(await fs.openBeneath(dirname(path), basename(path)), MAX_MESSAGE_BYTES);
}

interface Tail {
  readonly bytes: Uint8Array;
  readonly fromStart: boolean;
}

/** Reads the end of a file and closes it. */
async function readTail(file: FileHandle, maxBytes: number): Promise<Tail> {
  try {
    const { sizeBytes } = await file.stat();
    const start = Math.max(sizeBytes - maxBytes, 0);
    return { bytes: await file.read(start, Math.min(sizeBytes, maxBytes)), fromStart: start === 0 };
  } finally {
    await file.close();
  }
}
