/** A part of a word: literal text, a parameter, a command substitution or an arithmetic expansion. */
export type WordPart =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'parameter'; readonly name: string; readonly quoted: boolean; readonly fallback?: Word }
  | { readonly kind: 'command'; readonly body: Command; readonly quoted: boolean }
  | { readonly kind: 'arithmetic'; readonly text: string };

/** A word before expansion. */
export interface Word {
  readonly parts: readonly WordPart[];
  /** Whether any part was quoted. An empty quoted word is still a word. */
  readonly quoted: boolean;
}

/** Target of a command's output: a file, or the other stream. */
export interface Redirect {
  readonly from: 'stdout' | 'stderr';
  readonly to:
    | { readonly kind: 'stream'; readonly stream: 'stdout' | 'stderr' }
    | { readonly kind: 'file'; readonly path: Word; readonly append: boolean };
}

/** A command of the small shell language that fake containers run. */
export type Command =
  | {
      readonly kind: 'simple';
      readonly assignments: readonly { readonly name: string; readonly value: Word }[];
      readonly words: readonly Word[];
      readonly redirects: readonly Redirect[];
    }
  | { readonly kind: 'list'; readonly items: readonly { readonly command: Command; readonly background: boolean }[] }
  | { readonly kind: 'and' | 'or'; readonly left: Command; readonly right: Command }
  | { readonly kind: 'not'; readonly command: Command }
  | { readonly kind: 'loop'; readonly until: boolean; readonly condition: Command; readonly body: Command }
  | { readonly kind: 'for'; readonly name: string; readonly words: readonly Word[]; readonly body: Command }
  | {
      readonly kind: 'if';
      readonly branches: readonly { readonly condition: Command; readonly body: Command }[];
      readonly otherwise?: Command;
    }
  | {
      readonly kind: 'group';
      readonly subshell: boolean;
      readonly body: Command;
      readonly redirects: readonly Redirect[];
    };

/** Shell text that the small shell does not support, or that is not valid shell syntax. */
export class ShellSyntaxError extends Error {
  override readonly name = 'ShellSyntaxError';
}
