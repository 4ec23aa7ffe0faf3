import { isMissing } from '@node-agent/host';
import { type WithDefaults, withDefaults } from '@node-agent/telemetry';
import { ContainerLogError } from './errors.ts';
import { LogFileWalk } from './log-file-walk.ts';
import { ChunkBatch, type LogChunk, LogFilter } from './log-filter.ts';
import { checkLogOptions, type LogReadOptions } from './log-options.ts';
import type { ContainerLogReaderComponents, ReaderFiles } from './reader-components.ts';
import { type LinePiece, LineSplitter } from './split-lines.ts';

/** From which length on a line is handed on in pieces. */
const MAX_PIECE_BYTES = 64 * 1024;

/**
 * Reads logs of containers as they are on disk, in CRI format (`ReadLogs`, `k8s.io/cri-client/pkg/logs`). Beyond
 * upstream, it reaches back into rotated files, compressed ones too, and follows a log through its rotations without a
 * gap. It holds no more in memory than some pieces of 64 KiB.
 */
export class ContainerLogReader {
  readonly #components: WithDefaults<ContainerLogReaderComponents>;

  constructor(components: ContainerLogReaderComponents) {
    this.#components = withDefaults(components);
  }

  /**
   * The output in a log, in the order in which it was written. Ends where the log does, or when `options` have enough, or
   * where a followed container has ended; whoever stops reading leaves nothing open.
   * @throws ContainerLogError; the signal's reason; what the file system and the runtime throw
   */
  async *read(path: string, options: LogReadOptions, signal: AbortSignal): AsyncGenerator<LogChunk, void, undefined> {
    const { fs, clock, logger } = this.#components;
    const { tailLines, follow, limitBytes, timestamps, stream } = options;
    const sinceMs = checkLogOptions(options, clock.now());
    const filter = new LogFilter({ sinceMs, limitBytes, timestamps, stream });
    const batch = new ChunkBatch();
    let linesLeft = follow || tailLines === undefined ? Number.POSITIVE_INFINITY : tailLines;
    /** Output of these lines; ends when there is enough. */
    const outputOf = function* (pieces: Iterable<LinePiece>): Generator<LogChunk, boolean, undefined> {
      let hasEnough = false;
      for (const piece of pieces) {
        hasEnough = filter.done || (piece.startsLine && linesLeft-- <= 0);
        if (hasEnough) break;
        const output = filter.accept(piece);
        const before = output && batch.add(output);
        if (before) yield before;
      }
      const rest = batch.take();
      if (rest) yield rest;
      return hasEnough || filter.done;
    };
    const walk = new LogFileWalk(this.#components, await realPath(fs, path), { tailLines, sinceMs, follow }, signal);
    try {
      for await (const file of walk.files()) {
        const lines = new LineSplitter(MAX_PIECE_BYTES);
        for await (const chunk of file) {
          if (yield* outputOf(lines.push(chunk))) return;
        }
        if (yield* outputOf(lines.end())) return;
      }
      if (filter.wellFormedLines === 0 && filter.malformedLines > 0) {
        throw new ContainerLogError('UnsupportedFormat', `${path}: not a log in CRI format`);
      }
    } finally {
      await walk.close();
      const { malformedLines } = filter;
      if (malformedLines > 0) logger.warn({ path, malformedLines }, 'Left out lines that are not in CRI log format');
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
