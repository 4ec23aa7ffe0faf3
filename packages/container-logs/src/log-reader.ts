import { checkComponents } from '@node-agent/async';
import { isMissing } from '@node-agent/host';
import { type WithDefaults, withDefaults } from '@node-agent/telemetry';
import { ContainerLogError } from './errors.ts';
import { LogFileWalk } from './log-file-walk.ts';
import { type LogChunk, LogFilter } from './log-filter.ts';
import { checkLogOptions, type LogReadOptions } from './log-options.ts';
import type { ContainerLogReaderComponents, ReaderFiles } from './reader-components.ts';

/**
 * Reads logs of containers as they are on disk, in the CRI's format or in Docker's (`ReadLogs`, `k8s.io/cri-client/pkg/logs`). Beyond
 * upstream, it reaches back into rotated files, compressed ones too, and follows a log through its rotations without a
 * gap. It holds no more in memory than some pieces of 64 KiB.
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
   * The output in a log, in the order in which it was written. Ends where the log does, or when `options` have enough, or
   * where a followed container has ended; whoever stops reading leaves nothing open.
   * @throws ContainerLogError; the signal's reason; what the file system and the runtime throw
   */
  async *read(path: string, options: LogReadOptions, signal: AbortSignal): AsyncGenerator<LogChunk, void, undefined> {
    for await (const chunks of this.#blocks(path, options, false, signal)) yield* chunks;
  }

  /** As {@link read}, without which stream it is of: in larger pieces where a container writes to both in turn. */
  async *readMixed(
    path: string,
    options: LogReadOptions,
    signal: AbortSignal,
  ): AsyncGenerator<Pick<LogChunk, 'data'>, void, undefined> {
    for await (const chunks of this.#blocks(path, options, true, signal)) yield* chunks;
  }

  /** What each block of the files has of output. */
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
      if (malformedLines > 0) logger.warn({ path, malformedLines }, 'Left out lines that are in no log format');
    }
  }
}

async function realPath(fs: ReaderFiles, path: string): Promise<string> {
  try {
    return await fs.realpath(path);
  } catch (error) {
    // In the midst of a rotation there is no file; it is where it will be again.
    if (isMissing(error)) return path;
    throw error;
  }
}
