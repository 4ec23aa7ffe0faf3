import type { FieldType } from '../schema/field.ts';
import { mirrorFlags } from './command-line.ts';
import { kubeletFlags } from './kubelet-flags.ts';

/** Shells for which there is a completion script. */
export const completionShells = ['bash', 'zsh', 'fish'] as const;

export type CompletionShell = (typeof completionShells)[number];

/** Data of a flag for the completion scripts. */
interface CompletedFlag {
  readonly name: string;
  readonly shorthand: string | undefined;
  readonly doc: string;
  readonly deprecated: boolean;
  /** Kind of the flag's value: none, one of the listed values, a path, or any text. */
  readonly value: 'none' | 'path' | 'text' | readonly string[];
}

/** Flags whose value is a path and that do not set a field. */
const PATHS: ReadonlySet<string> = new Set([
  ...[
    'config',
    'config-dir',
    'kubeconfig',
    'bootstrap-kubeconfig',
    'cert-dir',
    'root-dir',
    'admin-socket',
    'lock-file',
  ],
  ...['image-credential-provider-config', 'image-credential-provider-bin-dir'],
]);

/** Returns all flags that have an effect, sorted by name. */
function completedFlags(): readonly CompletedFlag[] {
  const own = kubeletFlags
    .filter(({ property }) => property !== undefined)
    .map(({ name, shorthand, doc, deprecated, type }): CompletedFlag => {
      const value = type === 'boolean' || type === 'version' ? 'none' : PATHS.has(name) ? 'path' : 'text';
      return { name, shorthand, doc, deprecated: deprecated !== undefined, value };
    });
  const mirrors = mirrorFlags.map(({ flag, field }): CompletedFlag => {
    const value = field.isPath ? 'path' : valueKind(field.type);
    const { name, shorthand, deprecated } = flag;
    return { name, shorthand, doc: field.doc, deprecated: deprecated !== false, value };
  });
  return [...own, ...mirrors].sort((a, b) => (a.name < b.name ? -1 : 1));
}

function valueKind(type: FieldType): CompletedFlag['value'] {
  if (type.kind === 'boolean') return 'none';
  return type.kind === 'enum' ? type.values.filter((value) => value !== '') : 'text';
}

/** Returns a script that completes the flags of `kubelet` in a shell. */
export function completionScript(shell: CompletionShell): string {
  const flags = completedFlags();
  switch (shell) {
    case 'bash':
      return bashScript(flags);
    case 'zsh':
      return zshScript(flags);
    case 'fish':
      return fishScript(flags);
  }
}

/** Bash splits `--flag=value` at the equals sign, so that the flag is one or two words before the value. */
function bashScript(flags: readonly CompletedFlag[]): string {
  const names = flags.flatMap(({ name, shorthand }) => [
    `--${name}`,
    ...(shorthand === undefined ? [] : [`-${shorthand}`]),
  ]);
  const paths = flags.filter(({ value }) => value === 'path').map(({ name }) => `--${name}`);
  const texts = flags.filter(({ value }) => value === 'text').map(({ name }) => `--${name}`);
  const lists = flags.flatMap(({ name, value }) =>
    typeof value === 'string'
      ? []
      : [`    --${name}) COMPREPLY=($(compgen -W '${value.join(' ')}' -- "$word")); return ;;`],
  );
  return [
    '# Completion of kubelet for bash: source <(kubelet completion bash)',
    '_kubelet() {',
    '  local word="${COMP_WORDS[COMP_CWORD]}" flag="${COMP_WORDS[COMP_CWORD - 1]}"',
    '  if [ "$word" = "=" ]; then',
    '    word=""',
    '  elif [ "$flag" = "=" ]; then',
    '    flag="${COMP_WORDS[COMP_CWORD - 2]}"',
    '  fi',
    '  case "$flag" in',
    `    ${paths.join('|')}) COMPREPLY=($(compgen -f -- "$word")); return ;;`,
    ...lists,
    `    ${texts.join('|')}) COMPREPLY=(); return ;;`,
    '  esac',
    `  COMPREPLY=($(compgen -W '${names.join(' ')}' -- "$word"))`,
    '}',
    'complete -o filenames -F _kubelet kubelet',
    '',
  ].join('\n');
}

function zshScript(flags: readonly CompletedFlag[]): string {
  const lines = flags.map(({ name, doc, deprecated, value }) => {
    const action =
      value === 'path' ? ':path:_files' : typeof value === 'string' ? ':value:' : `:value:(${value.join(' ')})`;
    const text = deprecated ? `${doc} (DEPRECATED)` : doc;
    const escaped = text.replaceAll(/[\\[\]:]/g, (char) => `\\${char}`).replaceAll("'", "'\\''");
    return `  '--${name}${value === 'none' ? '' : '='}[${escaped}]${value === 'none' ? '' : action}'`;
  });
  return [
    '#compdef kubelet',
    '# Completion of kubelet for zsh: kubelet completion zsh > "${fpath[1]}/_kubelet"',
    '_arguments \\',
    lines.join(' \\\n'),
    '',
  ].join('\n');
}

function fishScript(flags: readonly CompletedFlag[]): string {
  const quoted = (text: string): string => `'${text.replaceAll(/[\\']/g, (char) => `\\${char}`)}'`;
  return [
    '# Completion of kubelet for fish: kubelet completion fish > ~/.config/fish/completions/kubelet.fish',
    'complete -c kubelet -f',
    ...flags.map(({ name, shorthand, doc, deprecated, value }) => {
      const argument =
        value === 'none'
          ? ''
          : value === 'path'
            ? ' -r -F'
            : value === 'text'
              ? ' -x'
              : ` -x -a ${quoted(value.join(' '))}`;
      const short = shorthand === undefined ? '' : ` -s ${shorthand}`;
      return `complete -c kubelet -l ${name}${short}${argument} -d ${quoted(deprecated ? `${doc} (DEPRECATED)` : doc)}`;
    }),
    '',
  ].join('\n');
}
