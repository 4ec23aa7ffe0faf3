import { describe, expect, it } from 'vitest';
import { field, inert, refuse, warn } from '../src/schema/field.ts';
import { DURATION, STRING } from '../src/schema/types.ts';

describe('declaration of a field', () => {
  it('a field declared without options is supported and has no default, flag or check', () => {
    expect(field({ name: 'a', type: STRING, doc: 'A.' })).toStrictEqual({
      name: 'a',
      property: 'a',
      type: STRING,
      doc: 'A.',
      default: undefined,
      zeroIsUnset: false,
      optional: false,
      flag: undefined,
      isPath: false,
      isSecret: false,
      check: undefined,
      support: { state: 'supported' },
      reload: 'restart',
    });
  });

  it('a declared field keeps all its options', () => {
    const check = () => undefined;
    const line = { name: 'a', property: 'b', type: DURATION, doc: 'A.', default: '1s', support: inert('c'), check };
    const flags = { zeroIsUnset: true, optional: true, isPath: true, isSecret: true, reload: 'live' as const };
    const flag = { name: 'd', shorthand: 'e' };
    expect(field({ ...line, ...flags, flag })).toStrictEqual({ ...line, ...flags, flag });
  });

  it('a field that is not supported yet has a reason, and says whether it is refused or ignored', () => {
    expect(inert('a')).toEqual({ state: 'inert', because: 'a' });
    expect(refuse('a')).toEqual({ state: 'unsupported', severity: 'refuse', because: 'a' });
    expect(warn('a', { accepted: [1] })).toEqual({
      state: 'unsupported',
      severity: 'warn',
      because: 'a',
      accepted: [1],
    });
  });
});
