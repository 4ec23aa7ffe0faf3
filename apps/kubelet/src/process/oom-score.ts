import type { FileSystem } from '@node-agent/host';
import type { Logger } from '@node-agent/telemetry';

/**
 * Sets the kubelet's OOM score adjustment (`oomScoreAdj`), so that the kernel kills other processes first. A value
 * below the current one needs CAP_SYS_RESOURCE. If the value cannot be set, the error is logged and the kubelet
 * continues.
 */
export async function adjustOomScore(fs: Pick<FileSystem, 'writeFile'>, value: number, logger: Logger): Promise<void> {
  try {
    await fs.writeFile('/proc/self/oom_score_adj', String(value));
  } catch (err) {
    logger.warn({ err, oomScoreAdj: value }, "Could not set the kubelet's OOM score adjustment");
  }
}
