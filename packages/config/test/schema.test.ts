import { describe, expect, it } from 'vitest';
import { field, inert, refuse, warn } from '../src/schema/field.ts';
import { DURATION, STRING } from '../src/schema/types.ts';

describe('a line of the table', () => {
  it('that says the least is of a supported field without a default, a flag or a check', () => {
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

  it('keeps all that it says', () => {
    const check = () => undefined;
    const line = { name: 'a', property: 'b', type: DURATION, doc: 'A.', default: '1s', support: inert('c'), check };
    const flags = { zeroIsUnset: true, optional: true, isPath: true, isSecret: true, reload: 'live' as const };
    const flag = { name: 'd', shorthand: 'e' };
    expect(field({ ...line, ...flags, flag })).toStrictEqual({ ...line, ...flags, flag });
  });

  it('says of what is not there yet why, and whether the kubelet goes on without it', () => {
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
