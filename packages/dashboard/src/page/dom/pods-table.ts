import type { PodRow, UsageFigures } from '../../wire.ts';
import { age, bytes, cpus } from '../format.ts';
import { podTone } from '../tone.ts';
import { byId, element, setAttribute, setChildren, setText } from './element.ts';

interface Row {
  readonly tr: HTMLTableRowElement;
  readonly open: HTMLButtonElement;
  readonly name: HTMLElement;
  readonly namespace: HTMLElement;
  readonly status: HTMLElement;
  readonly why: HTMLElement;
  readonly cells: Readonly<Record<'ready' | 'restarts' | 'cpu' | 'memory' | 'age', HTMLElement>>;
  shown: PodRow | undefined;
}

/**
 * The table of pods. Each pod keeps its row, and only changed cells are written. Only one row is in the tab order, and
 * the arrow keys move the focus to other rows.
 */
export class PodsTable {
  readonly #body: HTMLElement = byId('pod-rows');
  readonly #empty: HTMLElement = byId('no-pods');
  readonly #rows = new Map<string, Row>();
  readonly #onOpen: (pod: PodRow) => void;
  #current: string | undefined;
  #order: readonly PodRow[] = [];

  constructor(onOpen: (pod: PodRow) => void) {
    this.#onOpen = onOpen;
    this.#body.addEventListener('keydown', (event) => this.#onKey(event));
  }

  /** Shows these pods in this order. @param selected UID of the pod whose details are open */
  show(pods: readonly PodRow[], selected: string | undefined, nowMs: number, emptyText: string): void {
    const present = new Set(pods.map(({ uid }) => uid));
    for (const uid of this.#rows.keys()) if (!present.has(uid)) this.#rows.delete(uid);
    this.#order = pods;
    const focusedIndex = this.#focusedIndex();
    const rows = pods.map((pod) => this.#rowOf(pod, selected, nowMs));
    setChildren(this.#body, rows);
    // If the focused pod was removed, the focus moves to the pod that took its place.
    if (focusedIndex !== undefined && !this.#body.contains(document.activeElement)) this.#focus(focusedIndex);
    this.#setTabStop();
    this.#empty.hidden = pods.length > 0;
    setText(this.#empty, emptyText);
  }

  /** Shows the usage of pods by UID. */
  showUsage(usage: Readonly<Record<string, UsageFigures>>): void {
    for (const [uid, { cells }] of this.#rows) {
      const of = Object.hasOwn(usage, uid) ? usage[uid] : undefined;
      setText(cells.cpu, cpus(of?.cpus));
      setText(cells.memory, bytes(of?.memoryBytes));
    }
  }

  /** Sets the focus to the row of a pod. */
  focusPod(uid: string): void {
    this.#rows.get(uid)?.open.focus();
  }

  #rowOf(pod: PodRow, selected: string | undefined, nowMs: number): HTMLTableRowElement {
    let row = this.#rows.get(pod.uid);
    if (row === undefined) {
      row = this.#newRow(pod.uid);
      this.#rows.set(pod.uid, row);
    }
    if (row.shown !== pod) {
      row.shown = pod;
      setText(row.name, pod.name);
      setText(row.namespace, pod.namespace);
      setText(row.status, pod.status);
      setAttribute(row.tr, 'data-tone', podTone(pod));
      setText(row.why, pod.why ?? '');
      setAttribute(row.why, 'title', pod.why);
      setText(row.cells.ready, pod.ready);
      setText(row.cells.restarts, String(pod.restarts));
    }
    setText(row.cells.age, pod.startedAtMs === undefined ? '–' : age(nowMs - pod.startedAtMs));
    setAttribute(row.tr, 'class', pod.uid === selected ? 'selected' : undefined);
    setAttribute(row.open, 'aria-expanded', String(pod.uid === selected));
    return row.tr;
  }

  #newRow(uid: string): Row {
    const name = element('span', { class: 'name' });
    const namespace = element('span', { class: 'namespace' });
    const open = element('button', { type: 'button', class: 'open', 'aria-controls': 'details' }, name, namespace);
    const status = element('span', { class: 'status' });
    const why = element('span', { class: 'why' });
    const cell = (label: string): HTMLElement => element('td', { class: `number ${label}` });
    const cells = {
      ready: cell('ready'),
      restarts: cell('restarts'),
      cpu: cell('cpu'),
      memory: cell('memory'),
      age: cell('age'),
    };
    setText(cells.cpu, '–');
    setText(cells.memory, '–');
    const tr = element('tr', {}, element('th', { scope: 'row' }, open), element('td', { class: 'state' }, status, why));
    tr.append(...Object.values(cells));
    tr.addEventListener('click', () => {
      const shown = this.#rows.get(uid)?.shown;
      if (shown !== undefined) this.#onOpen(shown);
    });
    return { tr, open, name, namespace, status, why, cells, shown: undefined };
  }

  #onKey(event: KeyboardEvent): void {
    const index = this.#focusedIndex();
    if (index === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    const last = this.#order.length - 1;
    const moves: Readonly<Record<string, number>> = {
      ArrowDown: index + 1,
      ArrowUp: index - 1,
      PageDown: index + 10,
      PageUp: index - 10,
      Home: 0,
      End: last,
    };
    const target = Object.hasOwn(moves, event.key) ? moves[event.key] : undefined;
    if (target === undefined) return;
    event.preventDefault();
    this.#focus(target);
  }

  #focus(index: number): void {
    const pod = this.#order[Math.min(this.#order.length - 1, Math.max(0, index))];
    if (pod === undefined) return;
    this.#current = pod.uid;
    this.#setTabStop();
    this.#rows.get(pod.uid)?.open.focus();
  }

  #focusedIndex(): number | undefined {
    const focused = document.activeElement;
    if (focused === null || !this.#body.contains(focused)) return undefined;
    const index = [...this.#body.children].findIndex((row) => row.contains(focused));
    return index < 0 ? undefined : index;
  }

  /** Leaves exactly one row in the tab order: the row that had the focus last, otherwise the first. */
  #setTabStop(): void {
    const focused = this.#order[this.#focusedIndex() ?? -1]?.uid;
    this.#current = focused ?? this.#current;
    const stop = this.#rows.has(this.#current ?? '') ? this.#current : this.#order[0]?.uid;
    for (const [uid, { open }] of this.#rows) setAttribute(open, 'tabindex', uid === stop ? '0' : '-1');
  }
}
