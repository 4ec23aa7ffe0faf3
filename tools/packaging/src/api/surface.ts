/** Public surface of one entry of a package, as comparable text. */
export interface ApiReport {
  /** Directory of the package, relative to the root. */
  readonly directory: string;
  /** File of the committed report, relative to the root: `packages/async/api/index.api.md`. */
  readonly file: string;
  readonly text: string;
  /** Names in the entry's signatures that the entry does not export, with their source positions. */
  readonly unexported: readonly UnexportedName[];
  /** Other problems of the entry's declarations. */
  readonly faults: readonly string[];
}

export interface UnexportedName {
  readonly name: string;
  /** Source position, for example `packages/async/src/fake-clock.ts:13`. */
  readonly where: string;
}

/**
 * Returns a fault for each name in a signature that no entry of the same package exports. Users of the package could
 * not import the type of that name. Positions in `dist` are in the declarations of a bundled library, which decides
 * itself what it exports; all other positions are in `src`.
 */
export function unnameable(reports: readonly ApiReport[]): readonly string[] {
  return reports.flatMap(({ file, directory, unexported }) => {
    const siblings = reports.filter((report) => report.directory === directory && report.file !== file);
    const exported = new Set(siblings.flatMap(({ text }) => exportedNames(text)));
    return unexported
      .filter(({ name, where }) => !exported.has(name) && !where.startsWith(`${directory}/dist/`))
      .map(({ name, where }) => `${where}: ${name} is part of the public surface, but no entry exports it`);
  });
}

/** Returns the exported names of a report. */
export function exportedNames(text: string): readonly string[] {
  const declared = text.matchAll(
    /^export (?:declare |abstract )*(?:class|const|enum|function|interface|let|type) (\w+)/gm,
  );
  const listed = text.matchAll(/^export \{ (?:\w+ as )?(\w+) \}/gm);
  return [...declared, ...listed].flatMap(([, name]) => (name === undefined ? [] : [name]));
}

/**
 * Compares the committed reports (by file) with the current ones. Returns one fault per difference, with the lines that
 * differ.
 */
export function reportChanges(
  reports: readonly ApiReport[],
  kept: ReadonlyMap<string, string>,
): readonly { readonly fault: string; readonly lines: readonly string[] }[] {
  const changed = reports.flatMap(({ file, text }) => {
    const before = kept.get(file);
    if (before === text) return [];
    if (before === undefined) return [{ fault: `${file}: missing`, lines: [] }];
    return [{ fault: `${file}: differs from the current public surface`, lines: differingLines(before, text) }];
  });
  const wanted = new Set(reports.map(({ file }) => file));
  const left = [...kept.keys()].filter((file) => !wanted.has(file));
  return [...changed, ...left.map((file) => ({ fault: `${file}: belongs to no entry of a package`, lines: [] }))];
}

function differingLines(before: string, after: string): readonly string[] {
  const [old, now] = [before, after].map((text) => text.split('\n')) as [string[], string[]];
  const [oldLines, nowLines] = [new Set(old), new Set(now)];
  const removed = old.filter((line) => !nowLines.has(line)).map((line) => `- ${line}`);
  return [...removed, ...now.filter((line) => !oldLines.has(line)).map((line) => `+ ${line}`)];
}
