/** Unit that a call of `systemd-run` starts, reduced to the parts that the suites use. */
export interface UnitRequest {
  readonly unit: string;
  /** File for the output of the command. */
  readonly log: string | undefined;
  readonly command: readonly string[];
}

/** Request to `systemctl`. */
export interface UnitAction {
  readonly verb: string;
  readonly names: readonly string[];
  readonly runningOnly: boolean;
  readonly signal: NodeJS.Signals;
}

/** Parses the arguments of `systemd-run`. @throws Error if the unit or the command is missing */
export function parseRun(argv: readonly string[]): UnitRequest {
  let unit: string | undefined;
  let log: string | undefined;
  for (let at = 0; at < argv.length; at++) {
    const word = argv[at] ?? '';
    if (word === '-p') {
      const [, file] = /^StandardError=(?:append|file):(.+)$/.exec(argv[++at] ?? '') ?? [];
      log = file ?? log;
    } else if (word.startsWith('--unit=')) {
      unit = word.slice('--unit='.length);
    } else if (!word.startsWith('-')) {
      if (unit === undefined) break;
      // `$` and `%` are doubled in the arguments, because systemd would expand them.
      const command = argv.slice(at).map((text) => text.replaceAll('%%', '%').replaceAll('$$', '$'));
      return { unit, log, command };
    }
  }
  throw new Error(`systemd-run: missing unit or command in ${argv.join(' ')}`);
}

/** Parses the arguments of `systemctl`. @throws Error if the verb is missing */
export function parseControl(argv: readonly string[]): UnitAction {
  const words = argv.filter((word) => !word.startsWith('-'));
  const [verb, ...names] = words;
  if (verb === undefined) throw new Error('systemctl: missing verb');
  const [, signal] = /--signal=(?:SIG)?(\w+)/.exec(argv.join(' ')) ?? [];
  return {
    verb,
    names,
    runningOnly: argv.includes('--state=running'),
    signal: `SIG${signal ?? 'TERM'}` as NodeJS.Signals,
  };
}

/** Returns whether a name or glob pattern matches a unit; the suffix `.service` is optional. */
export function matches(unit: string, name: string): boolean {
  const pattern = name
    .split('*')
    .map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'))
    .join('.*');
  return new RegExp(`^${pattern}(\\.service)?$`).test(unit);
}
