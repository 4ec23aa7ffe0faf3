// Reads the sources of a package for the checks.
import fs from 'node:fs';
import path from 'node:path';

/** Returns the source files of a package's entries. */
export function entryFiles(directory) {
  const { exports = {} } = JSON.parse(fs.readFileSync(path.join(directory, 'package.json'), 'utf8'));
  return Object.values(exports).map((target) => path.join(directory, target['@node-agent/source'] ?? ''));
}

/** Returns the names that an entry exports, as its files declare them. */
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

/** Returns the text of each source in a folder, by path. */
export function sourcesOf(directory) {
  if (!fs.existsSync(directory)) return new Map();
  const files = fs
    .readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => path.join(entry.parentPath, entry.name));
  return new Map(files.map((file) => [file, fs.readFileSync(file, 'utf8')]));
}
