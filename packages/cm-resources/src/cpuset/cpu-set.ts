import { quoteStart } from './quote-start.ts';

/**
 * Largest CPU id that a list may contain: the kernel's 16-bit ids. Without this limit, a short text such as
 * `0-999999999` could fill the memory.
 */
const MAX_CPU = 65_535;
/** Largest number of CPUs and ranges in a list: one for each CPU. */
const MAX_PARTS = MAX_CPU + 1;
/** Largest sum of the sizes of a list's ranges, which may overlap. This limit bounds the time to parse a list. */
const MAX_TOTAL = 4 * (MAX_CPU + 1);

/** An immutable set of CPU ids, sorted ascending (`k8s.io/utils/cpuset`). */
export class CpuSet implements Iterable<number> {
  static readonly empty: CpuSet = new CpuSet([]);

  readonly #sorted: readonly number[];
  readonly #members: ReadonlySet<number>;
  #text: string | undefined;

  private constructor(sorted: readonly number[]) {
    this.#sorted = sorted;
    this.#members = new Set(sorted);
  }

  static of(cpus: Iterable<number>): CpuSet {
    const sorted = [...new Set(cpus)].sort((a, b) => a - b);
    return sorted.length === 0 && CpuSet.empty !== undefined ? CpuSet.empty : new CpuSet(sorted);
  }

  /**
   * Parses a list of CPUs and ranges, such as `0-3,8`; an empty text is the empty set.
   * @throws RangeError describing the problem
   */
  static parse(text: string): CpuSet {
    if (text === '') return CpuSet.empty;
    const parts = text.split(',', MAX_PARTS + 1);
    if (parts.length > MAX_PARTS) throw new RangeError(`a list must have at most ${MAX_PARTS} CPUs and ranges`);
    const cpus = new Set<number>();
    let total = 0;
    for (const [first, last] of parts.map(rangeOf)) {
      total += last - first + 1;
      if (total > MAX_TOTAL) throw new RangeError(`the ranges of a list must have at most ${MAX_TOTAL} CPUs in total`);
      for (let cpu = first; cpu <= last; cpu++) cpus.add(cpu);
    }
    return CpuSet.of(cpus);
  }

  get size(): number {
    return this.#sorted.length;
  }

  get isEmpty(): boolean {
    return this.#sorted.length === 0;
  }

  has(cpu: number): boolean {
    return this.#members.has(cpu);
  }

  /** Returns the CPU ids, sorted ascending. */
  list(): readonly number[] {
    return this.#sorted;
  }

  union(...others: readonly CpuSet[]): CpuSet {
    const added = others.filter((other) => !other.isSubsetOf(this));
    return added.length === 0 ? this : CpuSet.of([this, ...added].flatMap((set) => set.#sorted));
  }

  intersection(other: CpuSet): CpuSet {
    return this.#kept((cpu) => other.has(cpu));
  }

  difference(other: CpuSet): CpuSet {
    return this.#kept((cpu) => !other.has(cpu));
  }

  isSubsetOf(other: CpuSet): boolean {
    return this.size <= other.size && this.#sorted.every((cpu) => other.has(cpu));
  }

  equals(other: CpuSet): boolean {
    return this.size === other.size && this.isSubsetOf(other);
  }

  /**
   * Returns the kernel's notation, such as `0-3,8`; empty for the empty set. The text is made only once, because all
   * containers without exclusive CPUs have the same set.
   */
  toString(): string {
    this.#text ??= this.#format();
    return this.#text;
  }

  #format(): string {
    const ranges: [from: number, to: number][] = [];
    for (const cpu of this.#sorted) {
      const last = ranges.at(-1);
      if (last?.[1] === cpu - 1) last[1] = cpu;
      else ranges.push([cpu, cpu]);
    }
    return ranges.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join();
  }

  [Symbol.iterator](): Iterator<number> {
    return this.#sorted[Symbol.iterator]();
  }

  #kept(keeps: (cpu: number) => boolean): CpuSet {
    const kept = this.#sorted.filter(keeps);
    return kept.length === this.size ? this : CpuSet.of(kept);
  }
}

function rangeOf(text: string): readonly [first: number, last: number] {
  const [, from, to = from] = /^(\d+)(?:-(\d+))?$/.exec(text) ?? [];
  const shown = quoteStart(text);
  if (from === undefined) throw new RangeError(`${shown} must be a CPU or a range of CPUs, such as 0-3`);
  const [first, last] = [Number(from), Number(to)];
  if (first > last) throw new RangeError(`invalid range ${shown} (${first} > ${last})`);
  if (last > MAX_CPU) throw new RangeError(`CPU ${last} must be at most ${MAX_CPU}`);
  return [first, last];
}
