// The sources of a package, as the checks read them.
import fs from 'node:fs';
import path from 'node:path';

/** The sources of a package's entries. */
export function entryFiles(directory) {
  const { exports = {} } = JSON.parse(fs.readFileSync(path.join(directory, 'package.json'), 'utf8'));
  return Object.values(exports).map((target) => path.join(directory, target['@node-agent/source'] ?? ''));
}

/** What an entry exports, by the names that its files have for it. */
export function exportedNames(text) {
  return [...text.matchAll(/^export (?:type )?\{([^}]*)\}/gm)].flatMap(([, names]) =>
    names.split(',').map(
      (one) =>
        one
          .trim()
          .replace(/^type /, '')
          .split(' as ')[0],
    ),
  );
}

/** The text of each source in a folder, by its path. */
export function sourcesOf(directory) {
  if (!fs.existsSync(directory)) return new Map();
  const files = fs
    .readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => path.join(entry.parentPath, entry.name));
  return new Map(files.map((file) => [file, fs.readFileSync(file, 'utf8')]));
}
