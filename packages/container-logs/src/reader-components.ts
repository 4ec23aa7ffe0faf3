import type { Clock } from '@node-agent/async';
import type { RuntimeService } from '@node-agent/cri-client';
import type { FileSystem } from '@node-agent/host';
import type { Logger } from '@node-agent/telemetry';

/** What of the host's files a reader touches; nothing is changed. */
export type ReaderFiles = Pick<FileSystem, 'open' | 'readdir' | 'stat' | 'realpath' | 'watch'>;

/** What a `ContainerLogReader` works with. */
export interface ContainerLogReaderComponents {
  readonly fs: ReaderFiles;
  /** Asked only when a followed log is silent: whether its container still runs. */
  readonly cri: Pick<RuntimeService, 'containerStatus'>;
  /** The machine's own where absent. */
  readonly clock?: Clock;
  /** Silent where absent. */
  readonly logger?: Logger;
}
