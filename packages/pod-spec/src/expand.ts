import { PodSpecError } from './errors.ts';

/**
 * Longest result of an expansion, in UTF-16 units. A runtime accepts no larger message, and no kernel passes that much
 * to a program. Without a limit, nested references could fill the memory.
 */
export const MAX_EXPANDED_LENGTH: number = 16 * 1024 * 1024;

const REFERENCE = /\$(?:\$|\(([^)]*)\))/g;

/**
 * Replaces `$(NAME)` by the value from `lookUp`, and `$$` by `$`, in a single pass from left to right. A name without a
 * value and an unterminated `$(` are left unchanged (`third_party/forked/golang/expansion`).
 * @throws PodSpecError `TooLong` if the result would be longer than `maxLength`
 */
export function expand(
  text: string,
  lookUp: (name: string) => string | undefined,
  maxLength: number = MAX_EXPANDED_LENGTH,
): string {
  let length = 0;
  const grow = (by: number): void => {
    length += by;
    if (length > maxLength) {
      throw new PodSpecError('TooLong', `more than ${MAX_EXPANDED_LENGTH} characters once variables are expanded`);
    }
  };
  grow(text.length);
  // No reference can end after the last `)`. Searching for the end of each `$(` there would take quadratic time.
  const end = text.lastIndexOf(')') + 1;
  const expanded = text.slice(0, end).replace(REFERENCE, (all, name: string | undefined) => {
    const value = name === undefined ? '$' : (lookUp(name) ?? all);
    grow(value.length - all.length);
    return value;
  });
  return expanded + text.slice(end).replaceAll('$$', () => '$');
}

/**
 * Applies {@link expand} to each word of a command. The limit applies to all words together. @throws PodSpecError
 * `TooLong`
 */
export function expandAll(texts: readonly string[], lookUp: (name: string) => string | undefined): string[] {
  let room = MAX_EXPANDED_LENGTH;
  return texts.map((text) => {
    const word = expand(text, lookUp, room);
    room -= word.length;
    return word;
  });
}
