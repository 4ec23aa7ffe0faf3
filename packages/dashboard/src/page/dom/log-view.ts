import { ansiSpans } from '../ansi.ts';
import { LogLines } from '../log-lines.ts';
import { readStream } from '../read-stream.ts';
import { byId, element, setText } from './element.ts';

/** Maximum number of lines in the page. */
const MAX_LINES = 2000;
/** Lines that wait to be drawn; if more arrive before the next frame, the oldest are dropped. */
const MAX_PENDING = MAX_LINES;

interface Source {
  readonly namespace: string;
  readonly name: string;
  readonly container: string;
  readonly previous: boolean;
}

/** The tab with the log of a container, which is followed while the tab is open. */
export class LogView {
  readonly #box: HTMLElement = byId('log');
  readonly #state: HTMLElement = byId('log-state');
  readonly #follow: HTMLInputElement = byId<HTMLInputElement>('log-follow');
  #reading: AbortController | undefined;
  #source = '';
  /** Instance of the container whose log is read or was read; `undefined` if the container did not run. */
  #instance: string | undefined;
  #hasEnded = false;
  #pending: string[] = [];
  #isDrawing = false;
  #dropped = 0;

  constructor() {
    this.#follow.addEventListener('change', () => this.#scroll());
    this.#box.addEventListener('scroll', () => {
      const atEnd = this.#box.scrollHeight - this.#box.scrollTop - this.#box.clientHeight < 24;
      if (!atEnd && this.#follow.checked && !this.#isDrawing) this.#follow.checked = false;
    });
  }

  /**
   * Reads a log, unless it is being read already. If the log has ended and the container runs again, the log of the new
   * instance follows.
   * @param instance identifies the running instance; `undefined` if the container does not run
   */
  open(source: Source, instance: string | undefined): void {
    const key = JSON.stringify(source);
    const isSame = key === this.#source;
    const isRestarted = this.#hasEnded && instance !== undefined && instance !== this.#instance && !source.previous;
    if (isSame && !isRestarted) return;
    if (isSame) this.#add(['', '― the container was started again ―']);
    else {
      this.close();
      this.#follow.checked = true;
    }
    this.#source = key;
    this.#instance = instance;
    this.#hasEnded = false;
    this.#reading = new AbortController();
    this.#box.setAttribute('aria-label', `Log of ${source.container}`);
    void this.#read(source, this.#reading.signal);
  }

  /** Stops reading, and removes the lines. */
  close(): void {
    this.#reading?.abort();
    this.#reading = undefined;
    this.#source = '';
    this.#hasEnded = false;
    this.#pending = [];
    this.#dropped = 0;
    this.#box.replaceChildren();
    setText(this.#state, '');
  }

  async #read({ namespace, name, container, previous }: Source, signal: AbortSignal): Promise<void> {
    const query = new URLSearchParams({ pod: `${namespace}/${name}`, container, ...(previous && { previous: '1' }) });
    const lines = new LogLines();
    setText(this.#state, 'Loading…');
    let problem: string | undefined;
    try {
      problem = await readStream(`log?${query}`, signal, {
        begun: () => setText(this.#state, previous ? '' : 'Following'),
        read: (bytes) => this.#add(lines.push(bytes)),
      });
    } catch {
      problem = 'connection lost';
    }
    if (signal.aborted) return;
    this.#hasEnded = true;
    this.#add(lines.end());
    setText(this.#state, problem ?? 'The log has ended.');
  }

  #add(lines: readonly string[]): void {
    for (const line of lines) this.#pending.push(line);
    const excess = this.#pending.length - MAX_PENDING;
    if (excess > 0) {
      this.#pending.splice(0, excess);
      this.#dropped += excess;
    }
    if (this.#isDrawing || this.#pending.length === 0) return;
    this.#isDrawing = true;
    const { signal } = this.#reading ?? new AbortController();
    requestAnimationFrame(() => {
      if (!signal.aborted) this.#draw();
      this.#isDrawing = false;
    });
  }

  #draw(): void {
    const lines = this.#pending;
    this.#pending = [];
    if (this.#dropped > 0) {
      lines.unshift(`… ${this.#dropped} lines were left out because they came too fast`);
      this.#dropped = 0;
    }
    this.#box.append(...lines.map(lineOf));
    while (this.#box.childElementCount > MAX_LINES) this.#box.firstElementChild?.remove();
    this.#scroll();
  }

  #scroll(): void {
    if (this.#follow.checked) this.#box.scrollTop = this.#box.scrollHeight;
  }
}

function lineOf(line: string): HTMLElement {
  const spans = ansiSpans(line);
  if (spans.length === 1 && spans[0]?.style === '') return element('div', {}, spans[0].text);
  return element(
    'div',
    {},
    ...spans.map(({ text, style }) => element('span', style === '' ? {} : { class: style }, text)),
  );
}
