import type { Clock } from '@node-agent/async';
import type { RuntimeService } from '@node-agent/cri-client';
import type { FileSystem } from '@node-agent/host';
import type { Logger } from '@node-agent/telemetry';

/** File system operations that a reader needs; none of them changes files. */
export type ReaderFiles = Pick<FileSystem, 'open' | 'readdir' | 'stat' | 'realpath' | 'watch'>;

/** Components of a `ContainerLogReader`. */
export interface ContainerLogReaderComponents {
  readonly fs: ReaderFiles;
  /** Runtime, which is called only when a followed log is silent, to check whether its container is still running. */
  readonly cri: Pick<RuntimeService, 'containerStatus'>;
  /** Default: the system clock. */
  readonly clock?: Clock;
  /** Default: no logging. */
  readonly logger?: Logger;
}
