import { checkComponents } from '@node-agent/async';
import { isMissing } from '@node-agent/host';
import { type WithDefaults, withDefaults } from '@node-agent/telemetry';
import { ContainerLogError } from './errors.ts';
import { LogFileWalk } from './log-file-walk.ts';
import { type LogChunk, LogFilter } from './log-filter.ts';
import { checkLogOptions, type LogReadOptions } from './log-options.ts';
import type { ContainerLogReaderComponents, ReaderFiles } from './reader-components.ts';

/**
 * Reads logs of containers from disk, in the CRI format or Docker's format (`ReadLogs`, `k8s.io/cri-client/pkg/logs`).
 * Unlike upstream, it also reads rotated files, including compressed ones, and follows a log through rotations without
 * losing output. Uses only a few buffers of 64 KiB.
 */
export class ContainerLogReader {
  readonly #components: WithDefaults<ContainerLogReaderComponents>;

  constructor(components: ContainerLogReaderComponents) {
    checkComponents('ContainerLogReader', components, {
      fs: ['open', 'readdir', 'watch', 'stat', 'realpath'],
      cri: ['containerStatus'],
    });
    this.#components = withDefaults(components);
  }

  /**
   * Yields the output of a log in the order of writing. Ends at the end of the log, when the limits of `options` are
   * reached, or when the followed container has exited. If the consumer stops early, all files are closed.
   * @throws ContainerLogError
   * @throws the signal's reason
   * @throws errors of the file system and the runtime
   */
  async *read(path: string, options: LogReadOptions, signal: AbortSignal): AsyncGenerator<LogChunk, void, undefined> {
    for await (const chunks of this.#blocks(path, options, false, signal)) yield* chunks;
  }

  /**
   * Does the same as {@link read} but without separating the streams, which yields larger pieces if a container writes
   * alternately to both streams.
   */
  async *readMixed(
    path: string,
    options: LogReadOptions,
    signal: AbortSignal,
  ): AsyncGenerator<Pick<LogChunk, 'data'>, void, undefined> {
    for await (const chunks of this.#blocks(path, options, true, signal)) yield* chunks;
  }

  /** Yields the output of each block of the files. */
  async *#blocks(
    path: string,
    options: LogReadOptions,
    mixed: boolean,
    signal: AbortSignal,
  ): AsyncGenerator<readonly LogChunk[], void, undefined> {
    const { fs, clock, logger } = this.#components;
    const { tailLines, follow, limitBytes, timestamps, stream } = options;
    const sinceMs = checkLogOptions(options, clock.now());
    const maxLines = follow ? undefined : tailLines;
    const filter = new LogFilter({ sinceMs, limitBytes, maxLines, timestamps, stream, mixed });
    const walk = new LogFileWalk(this.#components, await realPath(fs, path), { tailLines, sinceMs, follow }, signal);
    try {
      for await (const file of walk.files()) {
        for await (const block of file) {
          const chunks = filter.push(block);
          if (chunks.length > 0) yield chunks;
          if (filter.done) return;
        }
        const rest = filter.endFile();
        if (rest.length > 0) yield rest;
        if (filter.done) return;
      }
      if (filter.wellFormedLines === 0 && filter.malformedLines > 0) {
        const words = `failed to get parse function: unsupported log format: ${JSON.stringify(filter.firstMalformed)}`;
        throw new ContainerLogError('UnsupportedFormat', words);
      }
    } finally {
      await walk.close();
      const { malformedLines } = filter;
      if (malformedLines > 0) logger.warn({ path, malformedLines }, 'Skipped lines that have no known log format');
    }
  }
}

async function realPath(fs: ReaderFiles, path: string): Promise<string> {
  try {
    return await fs.realpath(path);
  } catch (error) {
    // During a rotation the file does not exist for a moment; it will reappear at the same path.
    if (isMissing(error)) return path;
    throw error;
  }
}
