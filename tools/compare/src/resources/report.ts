import type { SequenceResult } from './compare-sequence.ts';
import { differingValues } from './differing-values.ts';
import type { Sequence } from './sequence.ts';

/** Collects the results of sequences. */
export class ResourceReport {
  readonly #counts = new Map<string, number>();
  readonly #purposes = new Map<string, { count: number; readonly seed: number }>();
  readonly #faults: string[] = [];

  /** Number of sequences with an unexpected difference. */
  get faults(): number {
    return this.#faults.length;
  }

  /** Adds the result of the sequence with a seed. */
  add(seed: number, sequence: Sequence, { upstream, difference }: SequenceResult): void {
    this.#count('sequences');
    this.#count(`sequences on: ${sequence.topology}`);
    if (upstream[0]?.error === undefined) this.#countPolicies(sequence);
    // Only answers before a difference are counted, because afterwards the two nodes are in different states.
    for (const [index, { error, admit, reason }] of upstream.slice(0, difference?.at).entries()) {
      const op = sequence.steps[index - 1]?.op;
      if (error !== undefined) this.#count(index === 0 ? 'configurations refused' : 'states refused at a restart');
      else if (op === 'restart') this.#count("restarts with the other side's state files");
      else if (admit === true) this.#count('pods admitted');
      else if (admit === false) this.#count(`pods rejected: ${reason}`);
    }
    if (difference === undefined) {
      this.#count('sequences without a difference');
      return;
    }
    const { at, fields, purpose } = difference;
    if (purpose !== undefined) {
      const known = this.#purposes.get(purpose) ?? { count: 0, seed };
      known.count++;
      this.#purposes.set(purpose, known);
      return;
    }
    const step = JSON.stringify(sequence.steps[at - 1] ?? 'start');
    const lines = fields.flatMap(({ field, upstream: theirs, ours }) =>
      differingValues(theirs, ours, field).map((line) => `  ${line}`),
    );
    const { topology, config } = sequence;
    const head = `seed ${seed}, step ${at} of ${topology}, ${JSON.stringify(config)}`;
    this.#faults.push([head, `  ${step}`, ...lines].join('\n'));
  }

  /** Returns the whole report. */
  text(): string {
    const counts = [...this.#counts].map(([what, count]) => `${`${count}`.padStart(7)}  ${what}`);
    const purposes = [...this.#purposes].map(
      ([purpose, { count, seed }]) => `${`${count}`.padStart(7)}  ${purpose} (first: seed ${seed})`,
    );
    return [
      ...counts.sort((a, b) => (a.slice(9) < b.slice(9) ? -1 : 1)),
      ...(purposes.length > 0 ? ['intended differences, at which a sequence ends:', ...purposes] : []),
      `${`${this.faults}`.padStart(7)}  unexpected differences`,
      ...this.#faults,
      '',
    ].join('\n');
  }

  /** Counts the policies and options of a sequence whose configuration is accepted. */
  #countPolicies({ config }: Sequence): void {
    const { cpuManagerPolicyOptions, topologyManagerPolicyOptions, topologyManagerPolicy: policy } = config;
    const scope = policy === 'none' ? '' : `, scope ${config.topologyManagerScope}`;
    this.#count(`sequences with: CPU manager ${config.cpuManagerPolicy}`);
    this.#count(`sequences with: memory manager ${config.memoryManagerPolicy}`);
    this.#count(`sequences with: topology manager ${policy}${scope}`);
    const options = { ...cpuManagerPolicyOptions, ...(policy !== 'none' && topologyManagerPolicyOptions) };
    for (const [name, value] of Object.entries(options)) {
      if (value !== 'false') this.#count(`sequences with: option ${name}`);
    }
    if (config.featureGates.PodLevelResourceManagers) this.#count('sequences with: gate PodLevelResourceManagers');
  }

  #count(what: string): void {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + 1);
  }
}
