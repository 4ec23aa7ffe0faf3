import { errorText, type Logger } from '@node-agent/telemetry';

/** Volumes whose measurement fails for one reason. */
interface Problem {
  /** Number of volumes whose last measurement failed for this reason. */
  volumes: number;
  failures: number;
}

/**
 * Logs failed measurements of volumes. A CSI driver that is away fails the measurement of each of its volumes, once per
 * period, with the same reason. One line is logged for a new reason, debug lines while volumes fail for a known reason,
 * and one line with the number of failures when no volume fails for that reason any more.
 */
export class MeasurementProblems {
  readonly #logger: Pick<Logger, 'debug' | 'info' | 'warn'>;
  readonly #reasons = new Map<string, Map<string, string>>();
  readonly #problems = new Map<string, Problem>();

  constructor(logger: Pick<Logger, 'debug' | 'info' | 'warn'>) {
    this.#logger = logger;
  }

  /** Records a failed measurement. */
  failed(podUid: string, volume: string, err: unknown): void {
    const reason = errorText(err);
    const ofPod = this.#reasons.get(podUid) ?? new Map<string, string>();
    const before = ofPod.get(volume);
    const isNew = !this.#problems.has(reason);
    const problem = this.#problems.get(reason) ?? { volumes: 0, failures: 0 };
    problem.failures += 1;
    if (before !== reason) {
      problem.volumes += 1;
      if (before !== undefined) this.#release(before);
    }
    this.#problems.set(reason, problem);
    this.#reasons.set(podUid, ofPod.set(volume, reason));
    this.#logger[isNew ? 'warn' : 'debug']({ err, podUid, volume }, 'Failed to measure a volume');
  }

  /** Records a successful measurement. */
  measured(podUid: string, volume: string): void {
    const ofPod = this.#reasons.get(podUid);
    const reason = ofPod?.get(volume);
    if (ofPod === undefined || reason === undefined) return;
    ofPod.delete(volume);
    if (ofPod.size === 0) this.#reasons.delete(podUid);
    const ended = this.#release(reason);
    if (ended === undefined) return;
    this.#logger.info({ reason, failures: ended.failures, podUid, volume }, 'Measured a volume again after failures');
  }

  /** Drops the state of a pod that is being removed. */
  forget(podUid: string): void {
    for (const reason of this.#reasons.get(podUid)?.values() ?? []) this.#release(reason);
    this.#reasons.delete(podUid);
  }

  /** Returns the problem if no volume has it any more. */
  #release(reason: string): Problem | undefined {
    const problem = this.#problems.get(reason);
    if (problem === undefined) return undefined;
    problem.volumes -= 1;
    if (problem.volumes > 0) return undefined;
    this.#problems.delete(reason);
    return problem;
  }
}
