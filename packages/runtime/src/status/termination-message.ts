import { basename, dirname } from 'node:path';
import type { ContainerStatus } from '@node-agent/cri-client';
import { type FileHandle, type FileSystem, isMissing } from '@node-agent/host';
import { errorText } from '@node-agent/telemetry';
import { absolutePath } from '../config/absolute-path.ts';
import { parseContainerAnnotations } from '../config/labels.ts';
import { tailOfCriLog } from './cri-log-tail.ts';

/** How much of a termination message file counts: its last 4 KiB. */
const MAX_MESSAGE_BYTES = 4096;
/** How much of the log stands in for it: its last 80 lines, 2 KiB at most. */
const MAX_LOG_LINES = 80;
const MAX_LOG_BYTES = 2048;

/** How each message begins that says why there is none. */
const UNREADABLE = 'Error on reading termination';

const FIRST_LOG_WINDOW_BYTES = 16 * 1024;
const LAST_LOG_WINDOW_BYTES = 1024 * 1024;

/** A byte order mark is a part of what was written. */
const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });

type Files = Pick<FileSystem, 'open' | 'openBeneath'>;

/**
 * What an exited container had to say at its end: its termination message file or, where that is empty, its policy
 * is `FallbackToLogsOnError` and it failed, the end of its log. What cannot be read says so in its place.
 * (`convertToKubeContainerStatus` in `pkg/kubelet/kuberuntime/kuberuntime_container.go`)
 * @param answers rejects where the file system of the container's file does not answer: then it is left alone (W6). It may be of a volume
 */
export async function readTerminationMessage(
  fs: Files,
  status: ContainerStatus,
  answers: (path: string) => Promise<unknown> = async () => {},
): Promise<string> {
  const { terminationMessagePath, terminationMessagePolicy } = parseContainerAnnotations(status.annotations);
  // A container that could not even be started has no log to fall back to.
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
 * Whether what {@link readTerminationMessage} gave will be the same next time: a container that has ended writes no more. Its log
 * may still be on its way to the disk, and what could not be read may be read later.
 */
export function isFinalMessage(message: string, { annotations, exitCode }: ContainerStatus): boolean {
  const { terminationMessagePolicy } = parseContainerAnnotations(annotations);
  const mayBeLog = terminationMessagePolicy === 'FallbackToLogsOnError' && exitCode !== 0;
  return !mayBeLog && !message.startsWith(UNREADABLE);
}

/** The runtime's message and the container's own one as one. */
export function joinMessages(fromRuntime: string, fromContainer: string): string {
  return fromRuntime !== '' && fromContainer !== '' ? `${fromRuntime}: ${fromContainer}` : fromRuntime + fromContainer;
}

async function readLogTail(fs: Files, path: string): Promise<string> {
  try {
    for (let window = FIRST_LOG_WINDOW_BYTES; ; window *= 4) {
      // A link is followed: there are runtimes that make one. What is no file is not opened.
      const { bytes, fromStart } = await readTail(await fs.open(path, 'r'), window);
      const tail = tailOfCriLog(bytes, fromStart, MAX_LOG_LINES, MAX_LOG_BYTES);
      if (tail.complete || window >= LAST_LOG_WINDOW_BYTES) return tail.text;
    }
  } catch (err) {
    return `${UNREADABLE} message from logs: ${errorText(err)}`;
  }
}

/** The file may be of a volume, where a container may have put anything in its place (W5). */
async function readMessage(fs: Files, path: string): Promise<Tail> {
  return await readTail(await fs.openBeneath(dirname(path), basename(path)), MAX_MESSAGE_BYTES);
}

interface Tail {
  readonly bytes: Uint8Array;
  readonly fromStart: boolean;
}

/** Closes the file. */
async function readTail(file: FileHandle, maxBytes: number): Promise<Tail> {
  try {
    const { sizeBytes } = await file.stat();
    const start = Math.max(sizeBytes - maxBytes, 0);
    return { bytes: await file.read(start, Math.min(sizeBytes, maxBytes)), fromStart: start === 0 };
  } finally {
    await file.close();
  }
}
