type Labels = Readonly<Record<string, string>>;

/** Formats labels in the Prometheus text format, sorted by name: `{container="web",pod="a"}`. */
export function labelText(labels: Labels): string {
  return joined(sortedNames(labels).map((name) => pairText(name, labels)));
}

/** Labels of several samples, which are formatted only once, when they are first needed. */
export class SharedLabels {
  readonly #labels: Labels;
  #formatted: FormattedLabels | undefined;

  constructor(labels: Labels) {
    this.#labels = labels;
  }

  /** The labels as {@link labelText} formats them. */
  get text(): string {
    return this.#format().text;
  }

  /** Returns the text of these labels and of others, whose names are different. */
  textWith(others: Labels): string {
    const { text, places } = this.#format();
    if (places.length === 0) return labelText(others);
    let all = '';
    let from = 0;
    let last = '';
    for (const name of sortedNames(others)) {
      const place = places.find((one) => one.name > name);
      if (place === undefined) {
        last += `,${pairText(name, others)}`;
        continue;
      }
      all += `${text.slice(from, place.at)}${pairText(name, others)},`;
      from = place.at;
    }
    return last === '' ? all + text.slice(from) : `${all}${text.slice(from, -1)}${last}}`;
  }

  #format(): FormattedLabels {
    if (this.#formatted !== undefined) return this.#formatted;
    const names = sortedNames(this.#labels);
    const pairs = names.map((name) => pairText(name, this.#labels));
    let at = '{'.length;
    const places = pairs.map((pair, index) => {
      const place = { name: names[index] ?? '', at };
      at += pair.length + ','.length;
      return place;
    });
    this.#formatted = { text: joined(pairs), places };
    return this.#formatted;
  }
}

interface FormattedLabels {
  readonly text: string;
  /** Place of each label, sorted by name. */
  readonly places: readonly Place[];
}

/** Offset of a label in a formatted text. */
interface Place {
  readonly name: string;
  readonly at: number;
}

function joined(pairs: readonly string[]): string {
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function sortedNames(labels: Labels): readonly string[] {
  return Object.keys(labels).sort();
}

function pairText(name: string, labels: Labels): string {
  return `${name}="${escaped(labels[name] ?? '')}"`;
}

/** Escapes a label value. Container names may contain any characters, but most values have nothing to escape. */
function escaped(text: string): string {
  if (!/[\\"\n]/.test(text)) return text;
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
