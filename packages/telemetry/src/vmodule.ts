import type { CallSite } from './call-site.ts';
import { type LogLevel, levelOfVerbosity, levels } from './log-level.ts';

/** Verbosity of some source files: an entry of `logging.vmodule`. */
export interface ModuleVerbosity {
  /** File name without its suffix, or a glob pattern (`*`, `?`, `[a-z]`). */
  readonly filePattern: string;
  /** Verbosity of the matching files, with the meaning of `-v`. */
  readonly verbosity: number;
}

/**
 * Returns a function that returns the most verbose level at which a source file logs, or `undefined` for files that no
 * pattern matches. As in klog, the first pattern that matches counts. A bundled package is one file: patterns match its
 * directory (`pleg`) as well.
 */
export function moduleLevels(
  modules: readonly ModuleVerbosity[],
): (place: CallSite | undefined) => LogLevel | undefined {
  const rules = modules.map(({ filePattern, verbosity }) => ({
    pattern: globPattern(filePattern),
    level: levelOfVerbosity(verbosity),
  }));
  return (place) => {
    if (place === undefined) return undefined;
    const names = place.file.replace(/\.[cm]?[jt]s$/, '').split('/');
    return rules.find(({ pattern }) => names.some((name) => pattern.test(name)))?.level;
  };
}

/** Returns whether lines of `level` are logged if lines of `least` and above are. */
export function isLogged(level: LogLevel, least: LogLevel): boolean {
  return levels.indexOf(level) >= levels.indexOf(least);
}

function globPattern(glob: string): RegExp {
  const source = glob.replace(/\[(\^?)([^\]\\]+)\]|\*|\?|[.+^$()|{}[\]\\]/g, (part, not?: string, set?: string) => {
    if (set !== undefined) return `[${not}${set}]`;
    if (part === '*') return '.*';
    return part === '?' ? '.' : `\\${part}`;
  });
  return new RegExp(`^${source}$`);
}
