/** What one entry of a package offers to its users, in words that a review can compare. */
export interface ApiReport {
  /** The package's folder, relative to the root. */
  readonly directory: string;
  /** Where the repository keeps it, relative to the root: `packages/async/api/index.api.md`. */
  readonly file: string;
  readonly text: string;
  /** Names in its signatures that it does not export, each with where that is. */
  readonly unexported: readonly UnexportedName[];
  /** What else is wrong with its declarations. */
  readonly faults: readonly string[];
}

export interface UnexportedName {
  readonly name: string;
  /** As in `packages/async/src/fake-clock.ts:13`. */
  readonly where: string;
}

/** The names in signatures that no entry of the same package exports: whoever uses it could not write them down. */
export function unnameable(reports: readonly ApiReport[]): readonly string[] {
  return reports.flatMap(({ file, directory, unexported }) => {
    const siblings = reports.filter((report) => report.directory === directory && report.file !== file);
    const exported = new Set(siblings.flatMap(({ text }) => exportedNames(text)));
    return unexported
      .filter(({ name }) => !exported.has(name))
      .map(({ name, where }) => `${where}: ${name} is part of the public surface, and no entry exports it`);
  });
}

/** The names that a report says are exported. */
export function exportedNames(text: string): readonly string[] {
  const declared = text.matchAll(
    /^export (?:declare |abstract )*(?:class|const|enum|function|interface|let|type) (\w+)/gm,
  );
  const listed = text.matchAll(/^export \{ (?:\w+ as )?(\w+) \}/gm);
  return [...declared, ...listed].flatMap(([, name]) => (name === undefined ? [] : [name]));
}

/** What the repository keeps (by file) against what is: a line of words for each difference, and the lines that differ. */
export function reportChanges(
  reports: readonly ApiReport[],
  kept: ReadonlyMap<string, string>,
): readonly { readonly fault: string; readonly lines: readonly string[] }[] {
  const changed = reports.flatMap(({ file, text }) => {
    const before = kept.get(file);
    if (before === text) return [];
    if (before === undefined) return [{ fault: `${file}: is not there`, lines: [] }];
    return [{ fault: `${file}: is not what the package offers now`, lines: differingLines(before, text) }];
  });
  const wanted = new Set(reports.map(({ file }) => file));
  const left = [...kept.keys()].filter((file) => !wanted.has(file));
  return [...changed, ...left.map((file) => ({ fault: `${file}: no entry of a package has this report`, lines: [] }))];
}

function differingLines(before: string, after: string): readonly string[] {
  const [old, now] = [before, after].map((text) => text.split('\n')) as [string[], string[]];
  const [oldLines, nowLines] = [new Set(old), new Set(now)];
  const removed = old.filter((line) => !nowLines.has(line)).map((line) => `- ${line}`);
  return [...removed, ...now.filter((line) => !oldLines.has(line)).map((line) => `+ ${line}`)];
}
