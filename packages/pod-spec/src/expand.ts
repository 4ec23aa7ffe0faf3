/**
 * Replaces `$(NAME)` by what `lookUp` says and `$$` by `$`, from left to right, once. A name without a value, and a
 * `$(` without its end, stay as they are (`third_party/forked/golang/expansion`).
 */
export function expand(text: string, lookUp: (name: string) => string | undefined): string {
  return text.replace(/\$(?:\$|\(([^)]*)\))/g, (all, name: string | undefined) =>
    name === undefined ? '$' : (lookUp(name) ?? all),
  );
}
