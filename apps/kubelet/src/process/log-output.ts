import type { Clock } from '@node-agent/async';
import type { KubeletConfiguration } from '@node-agent/config';
import { SplitOutput } from '@node-agent/telemetry';

/** The two streams of a process. */
interface Streams {
  readonly stdout: Pick<NodeJS.WriteStream, 'write' | 'on'>;
  readonly stderr: Pick<NodeJS.WriteStream, 'write' | 'on'>;
}

/**
 * Returns the output of the log with the options of its format: `splitStream` and `infoBufferSize`. `undefined` if all
 * lines go to the standard error stream immediately. As in upstream, the buffer has an effect with `splitStream` only.
 */
export function logOutput(
  { format, options, flushFrequencyMs }: KubeletConfiguration['logging'],
  { stdout, stderr }: Streams,
  clock: Pick<Clock, 'setTimer'>,
): SplitOutput | undefined {
  const { splitStream, infoBufferSizeBytes } = options[format];
  if (!splitStream) return undefined;
  // If the reader of a stream has exited, lines are lost, but the kubelet continues.
  for (const stream of [stdout, stderr]) stream.on('error', () => {});
  return new SplitOutput({
    info: (text) => void stdout.write(text),
    error: (text) => void stderr.write(text),
    ...{ infoBufferBytes: infoBufferSizeBytes, flushMs: flushFrequencyMs, clock },
  });
}
