import type { NodeFacts, ThresholdRow, UsageSample } from '../../wire.ts';
import { amount, bytes, cpus, share } from '../format.ts';
import { seriesOf, timeAxis } from '../page-state.ts';
import { byId, element, setAttribute, setChildren, setText } from './element.ts';
import { Plot } from './plot.ts';

interface ThresholdElements {
  readonly tr: HTMLTableRowElement;
  readonly bar: HTMLElement;
  readonly mark: HTMLElement;
  readonly cells: readonly HTMLElement[];
}

/** The header and the section about the node: state, facts, plots and eviction thresholds. */
export class NodePanel {
  readonly #plots = {
    cpu: new Plot('CPU', 1),
    memory: new Plot('Memory', 1),
    disk: new Plot('Disk', 1),
    pressure: new Plot('Pressure', 3),
  };
  readonly #thresholds = new Map<string, ThresholdElements>();
  #facts: NodeFacts | undefined;

  constructor() {
    byId('node-plots').append(...Object.values(this.#plots).map(({ figure }) => figure));
    this.showUsage([]);
  }

  showFacts(facts: NodeFacts): void {
    this.#facts = facts;
    document.title = `${facts.isReady ? '' : '! '}${facts.name}`;
    setText(byId('node-name'), facts.name);
    const ready = byId('node-ready');
    setText(ready, facts.isReady ? 'Ready' : 'Not ready');
    setAttribute(ready, 'data-tone', facts.isReady ? 'good' : 'bad');
    const problems = [...facts.problems, ...(facts.statsProblem ? [`no usage: ${facts.statsProblem}`] : [])];
    const list = byId('node-problems');
    list.hidden = problems.length === 0;
    if (list.textContent !== problems.join(''))
      list.replaceChildren(...problems.map((text) => element('li', {}, text)));
    const description = byId('node-facts');
    const text = facts.facts.flat().join('');
    if (description.textContent !== text) {
      description.replaceChildren(
        ...facts.facts.map(([name, value]) => element('div', {}, element('dt', {}, name), element('dd', {}, value))),
      );
    }
    this.#showThresholds(facts.thresholds);
  }

  showUsage(history: readonly UsageSample[]): void {
    const { cpu, memory, disk, pressure } = this.#plots;
    const newest = history.at(-1);
    const common = timeAxis(history);
    const { memoryCapacityBytes, diskCapacityBytes } = newest?.node ?? {};
    const all = this.#facts?.cpus;
    const of = (text: string | undefined): { of?: string } => (text === undefined ? {} : { of: `of ${text}` });
    cpu.show({
      ...{ ...common, top: all, leastTop: 0.1, format: cpus },
      ...of(all === undefined ? undefined : `${all} CPUs`),
      lines: [{ name: 'CPU', points: seriesOf(history, undefined, 'cpus') }],
    });
    memory.show({
      ...{ ...common, top: memoryCapacityBytes, leastTop: 1024, format: bytes },
      ...of(memoryCapacityBytes === undefined ? undefined : bytes(memoryCapacityBytes)),
      lines: [{ name: 'Memory', points: seriesOf(history, undefined, 'memoryBytes') }],
    });
    disk.show({
      ...{ ...common, top: diskCapacityBytes, leastTop: 1024, format: bytes },
      ...of(diskCapacityBytes === undefined ? undefined : bytes(diskCapacityBytes)),
      lines: [{ name: 'Disk', points: seriesOf(history, undefined, 'diskBytes') }],
    });
    pressure.show({
      ...{ ...common, leastTop: 10, format: share, of: '% of the time', none: 'not measured on this node' },
      lines: [
        { name: 'cpu', points: seriesOf(history, undefined, 'cpuPressure') },
        { name: 'mem', points: seriesOf(history, undefined, 'memoryPressure') },
        { name: 'io', points: seriesOf(history, undefined, 'ioPressure') },
      ],
    });
  }

  #showThresholds(rows: readonly ThresholdRow[]): void {
    byId('eviction').hidden = rows.length === 0;
    const keys = new Set(rows.map(keyOf));
    for (const key of this.#thresholds.keys()) if (!keys.has(key)) this.#thresholds.delete(key);
    const shown = rows.map((row) => {
      const key = keyOf(row);
      const elements = this.#thresholds.get(key) ?? newThreshold(row);
      this.#thresholds.set(key, elements);
      showThreshold(elements, row);
      return elements.tr;
    });
    setChildren(byId('threshold-rows'), shown);
  }
}

function keyOf({ signal, limit }: ThresholdRow): string {
  return `${signal}<${limit}`;
}

function newThreshold({ signal, limit }: ThresholdRow): ThresholdElements {
  const mark = element('span', { class: 'mark' });
  const bar = element('span', { class: 'fill' });
  const cells = [element('td', { class: 'number' }), element('td', { class: 'distance' })];
  const meter = element('td', { class: 'meter', 'aria-hidden': 'true' }, element('span', { class: 'bar' }, bar, mark));
  const tr = element(
    'tr',
    {},
    element('th', { scope: 'row' }, signal),
    element('td', { class: 'number' }, `< ${limit}`),
    ...cells,
    meter,
  );
  return { tr, bar, mark, cells };
}

function showThreshold({ tr, bar, mark, cells }: ThresholdElements, row: ThresholdRow): void {
  const { unit, available, capacity, limitAmount, distance, isMet } = row;
  const [left, near] = cells;
  const part = (value: number | undefined): string =>
    `${(100 * Math.min(1, Math.max(0, (value ?? 0) / (capacity || 1)))).toFixed(2)}%`;
  bar.style.width = part(available);
  mark.style.left = part(limitAmount);
  mark.hidden = capacity === undefined;
  if (left) setText(left, amount(available, unit));
  const isNear = distance !== undefined && distance < 0.1 * (capacity ?? 0);
  const isCrossed = isMet || (distance ?? 0) < 0;
  const tone = distance === undefined ? 'done' : isNear ? 'busy' : 'good';
  setAttribute(tr, 'data-tone', isCrossed ? 'bad' : tone);
  if (near) setText(near, distanceText(row));
}

function distanceText({ distance, unit, isMet }: ThresholdRow): string {
  if (distance === undefined) return isMet ? 'crossed' : 'not known yet';
  if (distance < 0) return `crossed by ${amount(-distance, unit)}`;
  return `${amount(distance, unit)} away${isMet ? ', still counts as crossed' : ''}`;
}
