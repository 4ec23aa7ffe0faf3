/** A way of writing that makes a sentence hard to read for a newcomer. CONTRIBUTING.md gives the rule behind each. */
export interface Habit {
  readonly name: string;
  readonly pattern: RegExp;
}

/**
 * The seven habits that `npm run prose` counts. A habit is a sign, not a verdict: a sentence that carries one can be
 * fine, and a sentence without any can be unclear.
 */
const HABITS: readonly Habit[] = [
  {
    name: 'opens with What, Who, Where, Those or Nobody',
    pattern: /^(?:@returns? |@param \S+ )?(?:What|Who|Whoever|Where|Those|Nobody)\b(?!.*\?$)/,
  },
  { name: '"where" for "if" or "when"', pattern: /(?:^|[,;(] ?|\band |\bor |\bbut )where\b/i },
  { name: '"who" or "whoever" for things', pattern: /\b(?:who|whoever|nobody)\b/i },
  { name: '"tell" or "told"', pattern: /\b(?:tell|tells|told)\b/i },
  { name: '"anew", "meanwhile" or "aside"', pattern: /\b(?:anew|meanwhile|aside)\b/i },
  {
    name: '"is to" with a verb',
    pattern:
      /\b(?:is|are|was|were) to (?:be|have|go|run|end|do|get|take|give|hold|keep|stay|wait|stop|start|come|say|see|show)\b/,
  },
  { name: '"of which", "of whom"', pattern: /\b(?:of|to|by|in|from|with|for) (?:which|whom)\b/ },
];

/** Returns the habits that a sentence carries. Quoted and code text does not count. */
export function habitsOf(sentence: string): readonly Habit[] {
  const prose = sentence.replace(/`[^`]*`|"[^"]*"|\{@link [^}]*\}/g, '`x`');
  return HABITS.filter(({ pattern }) => pattern.test(prose));
}
