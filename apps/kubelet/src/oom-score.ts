import type { FileSystem } from '@node-agent/host';
import type { Logger } from '@node-agent/telemetry';

/**
 * Makes the kernel spare the kubelet when memory runs out (`oomScoreAdj`). Where it may not, which takes CAP_SYS_RESOURCE
 * for a value below the present one, the log says so once and the kubelet goes on.
 */
export async function adjustOomScore(fs: Pick<FileSystem, 'writeFile'>, value: number, logger: Logger): Promise<void> {
  try {
    await fs.writeFile('/proc/self/oom_score_adj', String(value));
  } catch (err) {
    logger.warn({ err, oomScoreAdj: value }, 'Could not set the OOM score of the kubelet');
  }
}
