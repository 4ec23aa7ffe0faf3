const MAX_BYTES = 1000;

/**
 * What is wrong with a pattern, in the words of Go's `regexp/syntax`, whose syntax patterns must be of before they are handed
 * to journalctl; `undefined` for nothing. Only its form is looked at: nothing is matched here.
 */
export function patternProblem(pattern: string): string | undefined {
  if (Buffer.byteLength(pattern) > MAX_BYTES) return 'error parsing regexp: expression too large';
  const lookahead = /(?<!\\)(?:\\\\)*(\(\?[=!>|])/.exec(pattern)?.[1];
  if (lookahead !== undefined) return problem('invalid or unsupported Perl syntax', lookahead);
  // Go has no look-behind: what follows the `<` is a name to it.
  const lookbehind = /(?<!\\)(?:\\\\)*(\(\?<[=!][^>]*>?)/.exec(pattern)?.[1];
  if (lookbehind !== undefined) return problem('invalid named capture', lookbehind);
  const reference = /(?<!\\)(?:\\\\)*(\\[1-9CkKRXZG])/.exec(pattern)?.[1];
  if (reference !== undefined) return problem('invalid escape sequence', reference);
  if (/(?<!\\)(?:\\\\)*\\$/.test(pattern)) return problem('trailing backslash at end of expression', '');
  try {
    new RegExp(inJavaScript(pattern));
    return undefined;
  } catch (error) {
    return problem(words((error as Error).message), pattern);
  }
}

/** What JavaScript writes in another way, in a form that it takes. */
function inJavaScript(pattern: string): string {
  return pattern
    .replace(/\\Q([\s\S]*?)(?:\\E|$)/g, (_, text: string) => (text === '' ? '' : 'a'))
    .replace(/\(\?P?<(\w+)>/g, '(?<$1>')
    .replace(/\(\?[imsU]*(?:-[imsU]+)?(?:\)|:)/g, (flags) => (flags.endsWith(')') ? '' : '(?:'))
    .replace(/\[\[:\^?\w+:\]\]/g, '[a]')
    .replace(/\[:\^?\w+:\]/g, 'a')
    .replace(/\\[Az]/g, 'a')
    .replace(/\\[pP](?:\w|\{\^?\w+\})/g, 'a')
    .replace(/\\x\{[0-9a-fA-F]+\}/g, 'a');
}

/** What V8 says, as Go says it. */
function words(message: string): string {
  if (message.includes('Unterminated group')) return 'missing closing )';
  if (message.includes('Unmatched')) return 'unexpected )';
  if (message.includes('Unterminated character class')) return 'missing closing ]';
  if (message.includes('Nothing to repeat')) return 'missing argument to repetition operator';
  if (message.includes('Range out of order')) return 'invalid character class range';
  if (message.includes('capture group name')) return 'invalid named capture';
  return 'invalid or unsupported Perl syntax';
}

function problem(what: string, where: string): string {
  return `error parsing regexp: ${what}: \`${where}\``;
}
