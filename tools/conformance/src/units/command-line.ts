/** A unit as `systemd-run` is told to make it, as much of it as suites say. */
export interface UnitRequest {
  readonly unit: string;
  /** Where what it prints goes. */
  readonly log: string | undefined;
  readonly command: readonly string[];
}

/** What `systemctl` is told to do with units. */
export interface UnitAction {
  readonly verb: string;
  readonly names: readonly string[];
  readonly runningOnly: boolean;
  readonly signal: NodeJS.Signals;
}

/** Reads the arguments of `systemd-run`. @throws Error where no unit or no command is named */
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
      // What systemd takes for its own is written twice.
      const command = argv.slice(at).map((text) => text.replaceAll('%%', '%').replaceAll('$$', '$'));
      return { unit, log, command };
    }
  }
  throw new Error(`systemd-run: no unit and command in ${argv.join(' ')}`);
}

/** Reads the arguments of `systemctl`. @throws Error where none says what to do */
export function parseControl(argv: readonly string[]): UnitAction {
  const words = argv.filter((word) => !word.startsWith('-'));
  const [verb, ...names] = words;
  if (verb === undefined) throw new Error('systemctl: nothing to do');
  const [, signal] = /--signal=(?:SIG)?(\w+)/.exec(argv.join(' ')) ?? [];
  return {
    verb,
    names,
    runningOnly: argv.includes('--state=running'),
    signal: `SIG${signal ?? 'TERM'}` as NodeJS.Signals,
  };
}

/** Whether a unit is meant by a name, with or without its type, or by a pattern. */
export function matches(unit: string, name: string): boolean {
  const pattern = name
    .split('*')
    .map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'))
    .join('.*');
  return new RegExp(`^${pattern}(\\.service)?$`).test(unit);
}
