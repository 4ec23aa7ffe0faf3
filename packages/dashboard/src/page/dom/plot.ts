import { axisTop, linePath, type PlotPoint } from '../plot-path.ts';
import { element, setAttribute, setText } from './element.ts';

const SVG = 'http://www.w3.org/2000/svg';
const [WIDTH, HEIGHT] = [240, 56];

/** Line of a plot. */
interface PlotLine {
  readonly name: string;
  readonly points: readonly PlotPoint[];
}

/** Content of a plot. */
export interface PlotData {
  readonly lines: readonly PlotLine[];
  readonly toMs: number;
  readonly spanMs: number;
  /** Value at the top of the axis. Default: the top follows the values. */
  readonly top?: number | undefined;
  /** Smallest value at the top of the axis if the top follows the values. */
  readonly leastTop: number;
  readonly format: (value: number | undefined) => string;
  /** Text after the current value: `of 4`. */
  readonly of?: string;
  /** Text that is shown if there is no current value. */
  readonly none?: string;
}

/** A small plot with its title and current value. The size of a plot never changes. */
export class Plot {
  readonly figure: HTMLElement;
  readonly #title: string;
  readonly #value = element('strong');
  readonly #of = element('span', { class: 'of' });
  readonly #top = element('span', { class: 'top' });
  readonly #svg = document.createElementNS(SVG, 'svg');
  readonly #paths: readonly SVGPathElement[];

  constructor(title: string, lines: number) {
    this.#title = title;
    setAttribute(this.#svg, 'viewBox', `0 0 ${WIDTH} ${HEIGHT}`);
    setAttribute(this.#svg, 'preserveAspectRatio', 'none');
    setAttribute(this.#svg, 'role', 'img');
    const area = document.createElementNS(SVG, 'path');
    setAttribute(area, 'class', 'area');
    if (lines === 1) this.#svg.append(area);
    const paths = Array.from({ length: lines }, (_none, index) => {
      const path = document.createElementNS(SVG, 'path');
      setAttribute(path, 'class', `line line${index}`);
      this.#svg.append(path);
      return path;
    });
    this.#paths = lines === 1 ? [area, ...paths] : paths;
    const caption = element('figcaption', {}, element('span', { class: 'title' }, title), this.#value, this.#of);
    this.figure = element('figure', { class: 'plot' }, caption);
    const frame = element('div', { class: 'frame' }, this.#top);
    frame.append(this.#svg);
    this.figure.append(frame);
  }

  show({ lines, toMs, spanMs, top, leastTop, format, of, none = '–' }: PlotData): void {
    const values = lines.flatMap(({ points }) => points.map(({ value }) => value));
    const highest = Math.max(0, ...values.map((value) => value ?? 0));
    const area = { width: WIDTH, height: HEIGHT, fromMs: toMs - spanMs, toMs, top: top ?? axisTop(values, leastTop) };
    const drawn = lines.map(({ points }) => linePath(points, area));
    const isSingle = lines.length === 1;
    const paths = isSingle ? [closed(drawn[0] ?? ''), ...drawn] : drawn;
    for (const [index, path] of this.#paths.entries()) setAttribute(path, 'd', paths[index] ?? '');
    const current = lines.map(({ name, points }) => ({ name, value: points.at(-1)?.value }));
    const isKnown = current.some(({ value }) => value !== undefined);
    const text = isSingle
      ? format(current[0]?.value)
      : current.map(({ name, value }) => `${name} ${format(value)}`).join(', ');
    if (!isKnown) setText(this.#value, none);
    else if (isSingle) setText(this.#value, text);
    else this.#showKeys(current.map(({ name, value }) => `${name} ${format(value)}`));
    this.#value.classList.toggle('none-known', !isKnown);
    setText(this.#of, isKnown ? (of ?? '') : '');
    setText(this.#top, isKnown ? format(area.top) : '');
    const ofAll = of === undefined ? '' : ` ${of}`;
    const label = isKnown
      ? `${this.#title} of the last ${Math.round(spanMs / 60_000)} minutes: now ${text}${ofAll}, highest ${format(highest)}`
      : `${this.#title}: ${none}`;
    setAttribute(this.#svg, 'aria-label', label);
  }

  /** Shows the value of each line with the colour of the line. */
  #showKeys(texts: readonly string[]): void {
    if (this.#value.childElementCount !== texts.length)
      this.#value.replaceChildren(...texts.map((_text, at) => key(at)));
    for (const [index, text] of texts.entries()) {
      const shown = this.#value.children[index];
      if (shown !== undefined) setText(shown, text);
    }
  }
}

function key(index: number): HTMLElement {
  return element('span', { class: `key key${index}` });
}

/** Closes each part of a line at the bottom, for the area below the line. */
function closed(path: string): string {
  return path
    .split('M')
    .filter(Boolean)
    .map((part) => {
      const points = part.split('L');
      const [first = ''] = (points[0] ?? '').split(' ');
      const [last = ''] = (points.at(-1) ?? '').split(' ');
      return `M${first} ${HEIGHT}L${points.join('L')}L${last} ${HEIGHT}Z`;
    })
    .join('');
}
