import { describe, expect, test } from 'vitest';
import { errorFields } from '../src/error-fields.ts';
import { aggregateText, errorChainText, errorText } from '../src/error-text.ts';

test('errorText returns a text for any thrown value', () => {
  const said = [new Error('no room'), new TypeError('bad'), 'aborted', undefined, { code: 7 }].map(errorText);
  expect(said).toEqual(['no room', 'bad', 'aborted', 'undefined', '[object Object]']);
});

test("the text of a CRI error is the runtime's whole gRPC status", () => {
  const error = Object.assign(new Error('PullImage: NOT_FOUND: none'), {
    statusMessage: 'rpc error: code = NotFound desc = none',
  });
  expect(errorText(error)).toBe('rpc error: code = NotFound desc = none');
  expect(errorText(Object.assign(new Error('none'), { statusMessage: 5 }))).toBe('none');
});

describe('a chain of causes', () => {
  const chain = (...messages: readonly string[]): unknown =>
    messages.toReversed().reduce<unknown>((cause, message) => new Error(message, { cause }), undefined);

  test.each<[unknown, string]>([
    [new Error('alone'), 'alone'],
    ['no error', 'no error'],
    [undefined, 'undefined'],
    [chain('cannot read', 'EACCES'), 'cannot read: EACCES'],
    [chain('cannot read: EACCES', 'EACCES', 'denied'), 'cannot read: EACCES: denied'],
    [new Error('ended', { cause: 'by whoever began it' }), 'ended: by whoever began it'],
    [chain('a', 'b', 'c', 'd', 'e', 'f'), 'a: b: c: d: e'],
  ])('the chain of causes of %s has the text %s', (thrown, text) => {
    expect(errorChainText(thrown)).toBe(text);
  });

  test("the chain of causes shows a runtime's status once, although wrapped errors contain it in other words", () => {
    const given = Object.assign(new Error('14 UNAVAILABLE: away. Resolution note: '), {
      details: 'away. Resolution note: ',
    });
    const statusMessage = 'rpc error: code = Unavailable desc = away';
    const told = Object.assign(new Error('Status: UNAVAILABLE: away', { cause: given }), {
      details: 'away',
      statusMessage,
    });
    expect(errorChainText(told)).toBe(statusMessage);
    expect(errorChainText(new Error('no pods', { cause: told }))).toBe(`no pods: ${statusMessage}`);
    expect(errorChainText(new Error('no pods', { cause: given }))).toBe(`no pods: ${given.message}`);
  });

  test('the fields of a logged error include at most four causes, each with its own properties', () => {
    expect(errorFields('no error')).toBe('no error');
    expect(errorFields(Object.assign(new Error('plain'), { name: 'Named', code: 7 }))).toEqual({
      ...{ type: 'Named', message: 'plain', code: 7, stack: expect.any(String) },
    });
    expect(errorFields(new Error('ended by it', { cause: 'it' }))).toMatchObject({ cause: 'it' });
    const depth = (fields: unknown): number =>
      typeof fields === 'object' && fields !== null && 'cause' in fields ? 1 + depth(fields.cause) : 0;
    expect(depth(errorFields(chain('a', 'b', 'c', 'd', 'e', 'f')))).toBe(4);
    const parts = new AggregateError([chain('part', 'why')], 'all failed');
    expect(errorFields(parts)).toMatchObject({ errors: [{ message: 'part' }] });
    expect(depth((errorFields(parts) as { errors: unknown[] }).errors[0])).toBe(0);
  });
});

test('aggregateText shows each message once, in brackets if there are several', () => {
  expect(aggregateText(['full'])).toBe('full');
  expect(aggregateText(['full', 'full'])).toBe('full');
  expect(aggregateText(['full', 'gone', 'full'])).toBe('[full, gone]');
  expect(aggregateText([])).toBe('[]');
});
