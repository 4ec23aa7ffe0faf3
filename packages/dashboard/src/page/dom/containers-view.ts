import type { ContainerRow, PodRow, UsageSample } from '../../wire.ts';
import { age, bytes, cpus, share } from '../format.ts';
import { seriesOf, timeAxis } from '../page-state.ts';
import { containerTone } from '../tone.ts';
import { byId, element } from './element.ts';
import { Plot } from './plot.ts';

/** The tab with the usage and the containers of a pod. */
export class ContainersView {
  readonly #list: HTMLElement = byId('containers');
  readonly #facts: HTMLElement = byId('pod-facts');
  readonly #plots = {
    cpu: new Plot('CPU', 1),
    memory: new Plot('Memory', 1),
    disk: new Plot('Disk', 1),
    pressure: new Plot('Pressure', 3),
  };
  readonly #onLog: (container: string) => void;
  #shown: PodRow | undefined;
  #shownMinute = 0;

  constructor(onLog: (container: string) => void) {
    this.#onLog = onLog;
    byId('pod-plots').append(...Object.values(this.#plots).map(({ figure }) => figure));
  }

  show(pod: PodRow, nowMs: number): void {
    const minute = Math.floor(nowMs / 10_000);
    if (pod === this.#shown && minute === this.#shownMinute) return;
    this.#shown = pod;
    this.#shownMinute = minute;
    // A button of the list may have the focus. The focus moves to the new button when the list is replaced.
    const focused = this.#list.contains(document.activeElement)
      ? document.activeElement?.getAttribute('data-of')
      : null;
    this.#list.replaceChildren(...pod.containers.map((one) => this.#item(one, nowMs)));
    const buttons = [...this.#list.querySelectorAll<HTMLElement>('button')];
    if (focused !== null) buttons.find((button) => button.getAttribute('data-of') === focused)?.focus();
    const facts: readonly (readonly [string, string])[] = [
      ['UID', pod.uid],
      ['Source', pod.source],
      ...(pod.ip === undefined ? [] : [['IP', pod.ip] as const]),
      ...pod.labels.map(([name, value]) => [name, value] as const),
    ];
    this.#facts.replaceChildren(
      ...facts.map(([name, value]) => element('div', {}, element('dt', {}, name), element('dd', {}, value))),
    );
  }

  showUsage(history: readonly UsageSample[], uid: string): void {
    const common = timeAxis(history);
    const { cpu, memory, disk, pressure } = this.#plots;
    const line = (value: 'cpus' | 'memoryBytes' | 'diskBytes') => [
      { name: value, points: seriesOf(history, uid, value) },
    ];
    cpu.show({ ...common, leastTop: 0.01, format: cpus, lines: line('cpus') });
    memory.show({ ...common, leastTop: 1024 * 1024, format: bytes, lines: line('memoryBytes') });
    disk.show({ ...common, leastTop: 1024 * 1024, format: bytes, lines: line('diskBytes') });
    pressure.show({
      ...{ ...common, leastTop: 10, format: share, of: '% of the time', none: 'not measured on this node' },
      lines: [
        { name: 'cpu', points: seriesOf(history, uid, 'cpuPressure') },
        { name: 'mem', points: seriesOf(history, uid, 'memoryPressure') },
        { name: 'io', points: seriesOf(history, uid, 'ioPressure') },
      ],
    });
  }

  #item(container: ContainerRow, nowMs: number): HTMLElement {
    const { name, kind, image, state, reason, message, restarts, sinceMs, exitCode, ready } = container;
    const facts = [
      reason === undefined ? state : `${state}: ${reason}`,
      ...(exitCode === undefined ? [] : [`exit code ${exitCode}`]),
      ...(sinceMs === undefined ? [] : [`for ${age(nowMs - sinceMs)}`]),
      ...(state === 'running' ? [ready ? 'ready' : 'not ready'] : []),
      ...(restarts > 0 ? [`${restarts} restart${restarts === 1 ? '' : 's'}`] : []),
    ];
    const log = element('button', { type: 'button', 'data-of': name, 'aria-label': `Log of ${name}` }, 'Log');
    log.addEventListener('click', () => this.#onLog(name));
    const title = element('h4', {}, name, ...(kind === 'main' ? [] : [element('span', { class: 'kind' }, kind)]));
    return element(
      'li',
      { 'data-tone': containerTone(container) },
      element('div', { class: 'container-head' }, title, log),
      element('p', { class: 'container-state' }, facts.join(' · ')),
      element('p', { class: 'image' }, image),
      ...(message ? [element('p', { class: 'notes' }, message)] : []),
    );
  }
}
