/**
 * Compares two texts by the bytes of their UTF-8 form, as Go sorts strings. JavaScript's `<` compares UTF-16 units,
 * which puts characters above U+FFFF before those from U+E000. Returns a negative number if `a` comes first, 0 if they
 * are equal. The function is much faster than a comparison of two `Buffer`s, which matters for state files with many
 * entries.
 */
export function compareUtf8(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at++) {
    const [left, right] = [a.charCodeAt(at), b.charCodeAt(at)];
    if (left !== right) return rankOf(left) - rankOf(right);
  }
  return a.length - b.length;
}

/** Moves surrogates, which stand for characters above U+FFFF, behind all other units. */
function rankOf(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}
