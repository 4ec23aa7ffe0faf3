import { PodSpecError } from './errors.ts';

/**
 * The longest that a text is made of others, in UTF-16 units: a runtime takes no more in one message, and no kernel gives a program as much.
 * References to what has references itself would fill any memory.
 */
export const MAX_EXPANDED_LENGTH: number = 16 * 1024 * 1024;

const REFERENCE = /\$(?:\$|\(([^)]*)\))/g;

/**
 * Replaces `$(NAME)` by what `lookUp` says and `$$` by `$`, from left to right, once. A name without a value, and a
 * `$(` without its end, stay as they are (`third_party/forked/golang/expansion`).
 * @throws PodSpecError `TooLong` where that would be longer than `maxLength`
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
  // No reference ends behind the last `)`: to look for the end of each `$(` there would take time by the square of their number.
  const end = text.lastIndexOf(')') + 1;
  const expanded = text.slice(0, end).replace(REFERENCE, (all, name: string | undefined) => {
    const value = name === undefined ? '$' : (lookUp(name) ?? all);
    grow(value.length - all.length);
    return value;
  });
  return expanded + text.slice(end).replaceAll('$$', () => '$');
}

/** {@link expand} of each of a command's words, which are together no longer than one may be. @throws PodSpecError `TooLong` */
export function expandAll(texts: readonly string[], lookUp: (name: string) => string | undefined): string[] {
  let room = MAX_EXPANDED_LENGTH;
  return texts.map((text) => {
    const word = expand(text, lookUp, room);
    room -= word.length;
    return word;
  });
}
