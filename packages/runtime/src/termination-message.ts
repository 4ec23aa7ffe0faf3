import type { ContainerStatus } from '@node-agent/cri-client';
import { type FileSystem, isMissing } from '@node-agent/host';
import { errorText } from '@node-agent/telemetry';
import { parseContainerAnnotations } from './config/labels.ts';
import { tailOfCriLog } from './cri-log-tail.ts';

/** How much of a termination message file counts: its last 4 KiB. */
const MAX_MESSAGE_BYTES = 4096;
/** How much of the log stands in for it: its last 80 lines, 2 KiB at most. */
const MAX_LOG_LINES = 80;
const MAX_LOG_BYTES = 2048;

const FIRST_LOG_WINDOW_BYTES = 16 * 1024;
const LAST_LOG_WINDOW_BYTES = 1024 * 1024;

type Files = Pick<FileSystem, 'open'>;

/**
 * What an exited container had to say at its end: its termination message file or, where that is empty, its policy
 * is `FallbackToLogsOnError` and it failed, the end of its log. What cannot be read says so in its place.
 * (`convertToKubeContainerStatus` in `pkg/kubelet/kuberuntime/kuberuntime_container.go`)
 */
export async function readTerminationMessage(fs: Files, status: ContainerStatus): Promise<string> {
  const { terminationMessagePath, terminationMessagePolicy } = parseContainerAnnotations(status.annotations);
  // A container that could not even be started has no log to fall back to.
  const fallback =
    terminationMessagePolicy === 'FallbackToLogsOnError' &&
    status.exitCode !== 0 &&
    status.reason !== 'ContainerCannotRun';
  const mount =
    terminationMessagePath === ''
      ? undefined
      : status.mounts.find(({ containerPath }) => containerPath === terminationMessagePath);
  if (mount !== undefined) {
    try {
      const message = new TextDecoder().decode((await readTail(fs, mount.hostPath, MAX_MESSAGE_BYTES)).bytes);
      if (message !== '') return message;
    } catch (err) {
      if (!isMissing(err)) return `Error on reading termination log ${mount.hostPath}: ${errorText(err)}`;
    }
  }
  return fallback && status.logPath !== '' ? readLogTail(fs, status.logPath) : '';
}

/** The runtime's message and the container's own one as one. */
export function joinMessages(fromRuntime: string, fromContainer: string): string {
  return fromRuntime !== '' && fromContainer !== '' ? `${fromRuntime}: ${fromContainer}` : fromRuntime + fromContainer;
}

async function readLogTail(fs: Files, path: string): Promise<string> {
  try {
    for (let window = FIRST_LOG_WINDOW_BYTES; ; window *= 4) {
      const { bytes, fromStart } = await readTail(fs, path, window);
      const tail = tailOfCriLog(bytes, fromStart, MAX_LOG_LINES, MAX_LOG_BYTES);
      if (tail.complete || window >= LAST_LOG_WINDOW_BYTES) return tail.text;
    }
  } catch (err) {
    return `Error on reading termination message from logs: ${errorText(err)}`;
  }
}

async function readTail(fs: Files, path: string, maxBytes: number): Promise<{ bytes: Uint8Array; fromStart: boolean }> {
  const file = await fs.open(path, 'r');
  try {
    const { sizeBytes } = await file.stat();
    const start = Math.max(sizeBytes - maxBytes, 0);
    return { bytes: await file.read(start, Math.min(sizeBytes, maxBytes)), fromStart: start === 0 };
  } finally {
    await file.close();
  }
}
